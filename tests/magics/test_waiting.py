"""Notebooks that a program runs: each cell waits for its tasks. And kernels that end with tasks under way say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.support.helpers import Gate
from tests.support.notebook import Notebook, Output

WRITE = """
import cellmill, pathlib, time
folder = pathlib.Path({folder!r})
@cellmill.parallel
def write(i, gate=None):
    if gate is not None:
        open(gate + "/started", "wb", buffering=0).write(b"s")
        open(gate + "/open", "rb", buffering=0).read(1)
    time.sleep(0.2)
    (folder / str(i)).write_text("done")
"""


@pytest.fixture
def own_kernel() -> Iterator[Notebook]:
    made = Notebook()
    yield made
    made.client.stop_channels()
    made.manager.shutdown_kernel(now=True)


def run_by_program(notebook: Notebook, code: str) -> Output:
    """A cell as nbclient sends it."""
    output = Output(notebook.client.execute(code, allow_stdin=False))
    notebook.outputs[output.msg_id] = output
    return notebook.finish(output)


@pytest.mark.parametrize("load", ["%load_ext cellmill", "import cellmill"])
def test_nbclient_leaves_nothing_undone(tmp_path: Path, load: str, capfd: pytest.CaptureFixture[str]) -> None:
    cells = [load, WRITE.format(folder=str(tmp_path)), "for i in range(8): write(i)"]
    cells += ["ex = cellmill.Executor(2)\nfor i in range(8, 12): ex.submit(write.__wrapped__, i)"]
    cells += ["results = write.map(range(12, 16))"]
    cells += ["import asyncio\nfor i in range(16, 20):\n    await asyncio.sleep(0)\n    write(i)"]
    cells += ["write(20)\nget_ipython().run_cell('write(21)')\nwrite(22)"]
    cells += ["write(23)\n1 / 0"]
    cells += ["kept = ex.submit(int, 'no number')"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=120, allow_errors=True).execute()
    assert len(list(tmp_path.iterdir())) == 24
    assert not [each for cell in notebook.cells for each in cell.outputs if each.get("name") == "stderr"]
    # No cell is read any more when a failure counts as not asked for: the log of the kernel has it.
    assert "failed, and its result was not asked for: ValueError: invalid literal" in capfd.readouterr().err


@pytest.mark.parametrize("backend", ["local", "threads", "dask"])
def test_a_cell_waits_on_every_backend(notebook: Notebook, tmp_path: Path, backend: str) -> None:
    """In a kernel that was reset (`%reset`), which takes what Dask's processes are started by."""
    notebook.run(f"%cellmill backend {backend}").ok()
    try:
        run_by_program(notebook, WRITE.format(folder=str(tmp_path))).ok()
        assert run_by_program(notebook, "for i in range(4): write(i)").ok().stderr == ""
        assert len(list(tmp_path.iterdir())) == 4
    finally:
        notebook.run("%cellmill backend local").ok()
        notebook.run("%cellmill workers 2").ok()


def test_variables_of_a_task_are_there_in_the_next_cell(notebook: Notebook) -> None:
    run_by_program(notebook, "%%task a\nimport time\ntime.sleep(0.2)\nx = 1").ok()
    assert run_by_program(notebook, "print(x)").ok().stdout == "1\n"


def test_an_error_of_the_last_task_is_told_in_its_cell(notebook: Notebook) -> None:
    assert "task a failed" in run_by_program(notebook, "%%task a\n1 / 0").ok().stderr


def test_cells_of_a_person_do_not_wait(notebook: Notebook, tmp_path: Path, gate: Gate) -> None:
    notebook.run(WRITE.format(folder=str(tmp_path))).ok()
    notebook.run(f"last = write(1, gate={gate.folder!r})").ok()
    gate.wait_started()
    gate.release()
    notebook.run("last.result()").ok()


def test_the_bound_is_set_and_what_happens_there_is_said(
    notebook: Notebook, tmp_path: Path, gate: Gate
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    notebook.run(WRITE.format(folder=str(folder))).ok()
    said = notebook.run("%cellmill wait 0.5").ok().stdout
    assert said == "cells of a notebook that a program runs wait up to 0.5 s for their tasks\n"
    try:
        err = run_by_program(notebook, f"held = write(0, gate={gate.folder!r})").ok().stderr
        assert "the cell has waited 0.5 s for its tasks; 1 task is not over (of write) and go on" in err
        assert "%cellmill wait 60" in err
        # those of earlier cells are not waited for again, those of the cell are
        notebook.run("%cellmill wait 60").ok()
        assert run_by_program(notebook, "later = write(1)").ok().stderr == ""
        assert notebook.value("held.done(), later.done()") == "(False, True)"
        assert run_by_program(notebook, "plain = cellmill.default_executor().submit(abs, -1)").ok()
        assert notebook.value("held.done(), plain.done()") == "(False, True)"
    finally:
        gate.release()
        notebook.run("%cellmill wait 3600").ok()
    assert notebook.value("held.result(60)") == "None"


def test_a_paused_executor_is_not_waited_for(notebook: Notebook) -> None:
    assert run_by_program(notebook, "%cellmill pause").ok()
    run_by_program(notebook, "import cellmill\nlast = cellmill.default_executor().submit(abs, -1)").ok()
    assert notebook.value("last.done()") == "False"
    run_by_program(notebook, "%cellmill resume").ok()
    assert notebook.value("last.result(60)") == "1"


def test_stop_ends_the_waiting_and_the_tasks(notebook: Notebook, tmp_path: Path, gate: Gate) -> None:
    notebook.run(WRITE.format(folder=str(tmp_path))).ok()
    code = f"fs = [write(i, gate={gate.folder!r}) for i in range(4)]\nprint('submitted', flush=True)"
    output = Output(notebook.client.execute(code, allow_stdin=False))
    notebook.outputs[output.msg_id] = output
    notebook.wait(lambda message: "submitted" in message["content"].get("text", ""))
    gate.wait_started(2)
    notebook.manager.interrupt_kernel()
    notebook.finish(output)
    assert "interrupted while the cell waited for its tasks" in output.stderr or output.error is not None
    notebook.run("import concurrent.futures\nassert not concurrent.futures.wait(fs, 60).not_done").ok()
    assert notebook.value("[f.cancelled() for f in fs]") == "[True, True, True, True]"


SWALLOWED = """
def press(*_):
    ip.events.unregister({event!r}, press)
    raise KeyboardInterrupt
ip = get_ipython()
ip.events.register({event!r}, press)
held = ip.events.callbacks[{event!r}]
held.insert(0, held.pop())
fs = [write(i, gate={gate!r}) for i in range(4)]
"""


@pytest.mark.parametrize("event", ["post_execute", "post_run_cell"])
@pytest.mark.parametrize("run", [run_by_program, Notebook.run])
def test_stop_behind_the_last_line_of_a_cell_ends_its_tasks(
    notebook: Notebook, tmp_path: Path, gate: Gate, event: str, run: Callable[[Notebook, str], Output]
) -> None:
    """IPython swallows Stop in what it calls then: the figures of matplotlib are drawn there."""
    notebook.run(WRITE.format(folder=str(tmp_path))).ok()
    assert "KeyboardInterrupt" in "".join(
        run(notebook, SWALLOWED.format(event=event, gate=gate.folder)).traceback
    )
    notebook.run("import concurrent.futures\nassert not concurrent.futures.wait(fs, 60).not_done").ok()
    assert notebook.value("[f.cancelled() for f in fs]") == "[True, True, True, True]"


@pytest.mark.parametrize("end", ["exit", "restart"])
def test_a_kernel_that_ends_says_what_is_dropped(
    own_kernel: Notebook, tmp_path: Path, gate: Gate, end: str
) -> None:
    own_kernel.run("%load_ext cellmill").ok()
    own_kernel.run("%cellmill workers 2").ok()
    own_kernel.run(WRITE.format(folder=str(tmp_path))).ok()
    last = own_kernel.run(f"fs = [write(i, gate={gate.folder!r}) for i in range(5)]").ok()
    gate.wait_started(2)
    if end == "exit":
        last = own_kernel.start("exit")
    else:
        own_kernel.client.shutdown(restart=False)
    said = own_kernel.wait(lambda message: "dropped" in message["content"].get("text", ""))
    assert said["content"]["name"] == "stderr"
    assert "with it 5 tasks that are not over (of write): dropped" in said["content"]["text"]
    assert said["parent_header"]["msg_id"] == last.msg_id


def test_a_kernel_that_ends_with_nothing_under_way_says_nothing(own_kernel: Notebook) -> None:
    own_kernel.run("%load_ext cellmill").ok()
    own_kernel.run("import cellmill\ncellmill.default_executor().submit(abs, -1).result()").ok()
    own_kernel.client.shutdown(restart=False)
    own_kernel.wait(lambda message: message["header"]["msg_type"] == "shutdown_reply")
    assert not [output.stderr for output in own_kernel.outputs.values() if output.stderr]
