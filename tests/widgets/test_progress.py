"""Progress bars in a real kernel."""

from __future__ import annotations

import time
import weakref
from ast import literal_eval
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
from nbclient import NotebookClient

from cellmill import Executor
from cellmill.cell_output.printed import Printed
from cellmill.run_registry import active_runs
from cellmill_widgets.progress import SHOWN_AFTER, _Cell
from cellmill_widgets.terminal import Terminal
from tests.support.notebook import Notebook, Output

WAIT = """
import pathlib, time
folder = pathlib.Path({folder!r})
def wait_for(name="gate"):
    while not (folder / name).exists():
        time.sleep(0.005)
"""
WIDGET = "application/vnd.jupyter.widget-view+json"


def kinds(output: Output) -> list[str]:
    """The types of a cell's messages."""
    return [message["header"]["msg_type"] for message in output.messages]


def is_display(message: dict[str, Any]) -> bool:
    return message["header"]["msg_type"] == "display_data"


def is_update(message: dict[str, Any]) -> bool:
    return message["header"]["msg_type"] == "update_display_data"


def test_a_short_run_shows_nothing(notebook: Notebook) -> None:
    for _ in range(20):  # on a busy machine a run may not be short
        began = time.monotonic()
        output = notebook.run("%%pfor x in range(10)\nx").ok()
        if time.monotonic() - began < SHOWN_AFTER:
            break
    assert not output.displays
    assert "comm_open" not in kinds(output)


def test_a_long_run_has_a_bar_and_leaves_a_line(notebook: Notebook) -> None:
    output = notebook.run("%%pfor --name nap x in range(16)\nimport time\ntime.sleep(0.15)").ok()
    assert len(output.displays) == 1
    [final] = output.displays.values()
    assert WIDGET not in final
    assert final["text/plain"].startswith("nap: 16 done in ")
    assert "nap: 16 done in " in final["text/html"]
    [first] = [message for message in output.messages if is_display(message)]
    assert WIDGET in first["content"]["data"]
    bars = [
        message["content"]["data"]["state"]["value"]
        for message in output.messages
        if message["header"]["msg_type"] == "comm_msg"
        and "value" in message["content"]["data"].get("state", {})
    ]
    assert bars
    assert len(bars) <= 20
    assert any("/16" in bar and "/s" in bar and "left" in bar for bar in bars)
    assert "comm_close" in kinds(output)


def test_failures_are_counted_in_the_bar(notebook: Notebook) -> None:
    output = notebook.run("%%pfor x in range(8)\nimport time\ntime.sleep(0.2)\n1 / (x % 4)")
    [final] = output.texts()
    first, failures, note = final.splitlines()
    assert failures.strip() == "2 x ZeroDivisionError: division by zero"
    assert first.endswith("2 failed")
    assert "in your code" in note


def test_several_runs_tell_the_time_that_is_left_for_all(notebook: Notebook) -> None:
    define = "%%parallel\ndef {}(x):\n    import time\n    time.sleep({})"
    notebook.run(define.format("load", 0.1)).ok()
    notebook.run(define.format("fit", 0.2)).ok()
    output = notebook.start("[f.result() for f in [fit(load(x)) for x in range(12)]]\nNone")

    def tells_all(message: dict[str, Any]) -> bool:
        return "In all about" in str(message["content"])

    shown = str(notebook.wait(tells_all)["content"])
    assert shown.count(" left") == 1
    [final] = notebook.finish(output).ok().texts()
    assert "left" not in final


def test_no_time_left_is_told_in_a_pause() -> None:
    with Executor(1) as executor:
        executor.pause()
        results = executor.map(abs, range(-50, 0))
        cell = _Cell(Terminal(), Printed())
        cell.add(active_runs()[-1], weakref.ref(executor._backend))
        (view,) = cell.poll(time.monotonic() + 10)
        assert replace(view, done=10, rate=1.0).remaining is None
        executor.resume()
        assert len(list(results)) == 50


def test_runs_stand_in_the_order_in_which_they_began(notebook: Notebook) -> None:
    notebook.run("%load_ext cellmill\n%cellmill workers 2").ok()
    notebook.run(
        "%%parallel\ndef slow(x):\n    import time\n    time.sleep(0.2)\n    return x\n"
        "def quick(x):\n    import time\n    time.sleep(0.6)\n"
    ).ok()
    output = notebook.run(
        "first = [slow(x) for x in range(16)]\nsecond = quick(1)\n[f.result() for f in [second, *first]]"
    )
    [final] = output.ok().texts()[:1]
    assert [line.partition(":")[0] for line in final.splitlines()[:2]] == ["slow", "quick"]


def test_a_generator_has_no_total_until_it_ends(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run(WAIT.format(folder=str(tmp_path))).ok()
    notebook.run("def numbers():\n    yield 1\n    wait_for()\n    yield 2").ok()
    output = notebook.start("%%pfor --name gen x in numbers() -> out\nx")
    display = notebook.wait(is_display)
    assert display["content"]["data"]["text/plain"].startswith("gen: ")
    (tmp_path / "gate").touch()
    [final] = notebook.finish(output).ok().texts()
    assert final.startswith("gen: 2 done in ")


def test_the_bar_belongs_to_the_cell_that_started_the_run(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run(WAIT.format(folder=str(tmp_path))).ok()
    before = len(notebook.published)
    first = notebook.run("%%task background\nwait_for()").ok()
    second = notebook.start("wait_for('second')")
    display = notebook.find(is_display, before)
    assert display["parent_header"]["msg_id"] == first.msg_id
    (tmp_path / "second").touch()
    notebook.finish(second)
    assert not second.displays
    (tmp_path / "gate").touch()
    while not first.texts()[0].startswith("task background: 1 done in "):
        notebook.wait(is_update)
    assert WIDGET not in next(iter(first.displays.values()))


def test_captured_cells_show_no_bar(notebook: Notebook) -> None:
    output = notebook.run(
        "%%capture\nget_ipython().run_cell_magic('pfor', 'x in range(8)', 'import time; time.sleep(.2)')"
    )
    assert output.ok().messages
    assert not output.displays


def test_many_runs_at_once_are_folded(notebook: Notebook, tmp_path: Path) -> None:
    notebook.run(WAIT.format(folder=str(tmp_path))).ok()
    notebook.run("%%parallel\ndef nap(x):\n    wait_for()\n    return x").ok()
    output = notebook.start(
        "import threading\nsleep = lambda: list(nap.map([1, 2]))\n"
        "threads = [threading.Thread(target=sleep) for _ in range(12)]\n"
        "[t.start() for t in threads]\n(folder / 'go').touch()\nwait_for()\n[t.join() for t in threads];"
    )
    display = notebook.wait(is_display)
    assert display["parent_header"]["msg_id"] == output.msg_id
    while "4 more runs: 0/8" not in output.texts()[0]:  # threads begin one after another
        notebook.wait(is_update)
    (tmp_path / "gate").touch()
    assert notebook.finish(output).ok()
    [final] = output.texts()
    *lines, note = final.splitlines()
    assert len(lines) == 9
    assert "in your code" in note


def test_runs_one_after_another_share_one_output(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef nap(x):\n    import time\n    time.sleep(0.6)").ok()
    output = notebook.run("for _ in range(3):\n    list(nap.map([1, 2]))").ok()
    [final] = output.texts()
    *lines, note = final.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["nap"] * 3
    assert "in your code" in note
    assert kinds(output).count("display_data") == 1


def test_single_calls_are_counted_together(notebook: Notebook) -> None:
    notebook.run("%%parallel\ndef nap(x):\n    import time\n    time.sleep(0.2)").ok()
    output = notebook.run(
        "futures = [nap(x) for x in range(8)]\nfor each in futures:\n    each.result()"
    ).ok()
    [final] = output.texts()
    assert final.startswith("nap: 8 done in ")


def test_where_the_time_went_is_below_the_line(notebook: Notebook) -> None:
    """For text, HTML and pictures; it is what `cellmill.account()` says of the cell."""
    output = notebook.run("%%pfor --name nap x in range(8)\nimport time\ntime.sleep(0.2)").ok()
    [final] = output.displays.values()
    said = literal_eval(notebook.value("__import__('cellmill').account().sentence"))
    assert final["text/plain"].splitlines()[1] == said
    assert said in final["text/html"]
    lines = ElementTree.fromstring(final["image/svg+xml"]).itertext()
    assert said in " ".join(" ".join(lines).split())


def test_nothing_is_said_of_a_cell_that_shares_the_workers_with_an_earlier_one(
    notebook: Notebook, tmp_path: Path
) -> None:
    notebook.run("%%parallel\ndef nap(x):\n    import time\n    time.sleep(x)").ok()
    notebook.run("early = nap(1.5)").ok()
    [final] = notebook.run("list(nap.map([0.3] * 3))").ok().texts()
    assert final.splitlines()[0].startswith("nap: 3 done in ")
    assert "in your code" not in final
    notebook.run("early.result()").ok()


def test_executors_that_are_gone_before_the_cell_ends(notebook: Notebook) -> None:
    source = """
import gc, cellmill
def work():
    with cellmill.Executor(backend="inline") as ex:
        return list(ex.map(abs, range(-3, 0)))
for _ in range(5):
    print(work())
    gc.collect()
"""
    for _ in range(3):
        output = notebook.run(source).ok()
        assert output.stdout == "[3, 2, 1]\n" * 5
        assert output.stderr == ""
    notebook.run("%%pfor --name nap x in range(16)\nimport time\ntime.sleep(0.15)").ok()


def test_disable_and_enable(notebook: Notebook) -> None:
    notebook.run("import cellmill_widgets.progress as progress\nprogress.disable()\nprogress.disable()").ok()
    assert not notebook.run("%%pfor x in range(8)\nimport time\ntime.sleep(0.2)").ok().displays
    notebook.run("progress.enable(get_ipython())").ok()
    assert notebook.run("%%pfor x in range(8)\nimport time\ntime.sleep(0.2)").ok().displays


def test_an_executed_notebook_keeps_the_line_what_was_printed_and_no_dead_widget() -> None:
    cells = [
        "%load_ext cellmill\n%cellmill workers 2",
        "%%pfor --name nap x in range(8)\nimport time\ntime.sleep(0.2)",
        "%%parallel\ndef talk(i):\n    print('line', i, '<&>')",
        "r = list(talk.map(range(40)))",
    ]
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(document, kernel_name="python3", timeout=60).execute()
    [output] = document.cells[1].outputs
    assert output.output_type == "display_data"
    assert output.data["text/plain"].startswith("nap: 8 done in ")
    assert WIDGET not in output.data
    outputs = document.cells[-1].outputs
    [page] = [each.data["text/html"] for each in outputs if each.output_type == "display_data"]
    assert all(f"line {i} &lt;&amp;&gt;\n" in page for i in range(40))
    assert "40 lines printed by 40 calls of talk" in page
