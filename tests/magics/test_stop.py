"""Stop in a real kernel: pressed once, in every place a cell can be; the next call runs at once, nothing is left."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.helpers import SECONDS, ends
from tests.support.notebook import Notebook, Output

PREPARE = """
import ctypes, concurrent.futures, os, pickle, random, re, signal, subprocess, sys, threading, time
import cellmill
ex = cellmill.default_executor()
def say(what="x", path={path!r}):
    with open(path, "w") as file:
        file.write(f"{{what}}\\n")
def pids():
    return sorted(w.pid for w in ex.workers())
def sleep(*_):
    say()
    time.sleep(600)
factory = cellmill.per_worker(sleep)
"""


MOMENT = 0.1  # in the first milliseconds of a cell a kernel loses Stop, with and without Cellmill; no user is so quick


class Stage:
    """A kernel, and a pipe by which its tasks tell that they have begun."""

    error = "KeyboardInterrupt"  # what a cell ends with

    def __init__(self, notebook: Notebook, folder: Path) -> None:
        self.notebook = notebook
        path = folder / "said"
        os.mkfifo(path)
        self._end = os.open(path, os.O_RDWR)
        self._lines: list[str] = []
        notebook.run(PREPARE.format(path=str(path))).ok()
        assert notebook.value("list(ex.map(abs, range(8)))") == str(list(range(8)))
        notebook.run(
            "before = sorted(ex.run_on_workers(os.getpid))"
        ).ok()  # of all, also of one that just starts

    def said(self) -> str:
        """The next thing that a task said."""
        while not self._lines:
            ready, _, _ = select.select([self._end], [], [], SECONDS)
            assert ready, "nothing was said"
            self._lines += os.read(self._end, 4096).decode().split()
        return self._lines.pop(0)

    def press(self, cell: str, tasks: int = 1) -> Output:
        """Run a cell, press Stop when so many tasks have begun; its output."""
        output = self.notebook.start(cell)
        for _ in range(tasks):
            self.said()
        return self.end(output)

    def end(self, output: Output) -> Output:
        """Press Stop; the cell ends by it."""
        time.sleep(MOMENT)
        self.notebook.manager.interrupt_kernel()
        self.notebook.finish(output)
        assert output.error is not None, output.stdout
        assert output.error["ename"] == self.error, output.traceback
        return output

    def goes_on(self, same_workers: bool) -> None:
        """The next calls run, the figures add up, and the workers are those of before (or not)."""
        notebook = self.notebook
        assert notebook.value("list(ex.map(abs, range(8)))") == str(list(range(8)))
        assert notebook.value("ex.submit(abs, -1).result(30)") == "1"
        notebook.run(
            "for _ in range(3000):\n"
            "    stats = ex.stats()\n"
            "    if not stats.running and stats.submitted == stats.done: break\n"
            "    time.sleep(0.01)"
        ).ok()
        assert notebook.value("(stats.submitted - stats.done, stats.stopping, stats.waiting)") == "(0, 0, 0)"
        if same_workers:
            assert notebook.value("before == pids() or (before, pids())") == "True"

    def close(self) -> None:
        os.close(self._end)


@pytest.fixture
def stage(notebook: Notebook, tmp_path: Path) -> Iterator[Stage]:
    made = Stage(notebook, tmp_path)
    yield made
    made.close()


WAITING = {
    "result": "f = ex.submit(sleep)\nf.result()",
    "result of a parallel function": "f = cellmill.parallel(sleep)()\nf.result()",
    "queued behind it": "fs = [ex.submit(sleep) for _ in range(50)]\n[f.result() for f in fs]",
    "concurrent.futures.wait": "concurrent.futures.wait([ex.submit(sleep) for _ in range(9)])",
    "as_completed": "for f in concurrent.futures.as_completed([ex.submit(sleep) for _ in range(9)]): pass",
    "map": "list(ex.map(sleep, range(100)))",
    "unordered map": "list(cellmill.parallel(sleep).map(range(100), ordered=False))",
    "map with retries": "list(ex.options(retries=5).map(sleep, range(9)))",
    "retries": "ex.options(retries=5).submit(sleep).result()",
    "batch": "cellmill.parallel(batch=True)(lambda xs: [sleep() for x in xs])(1).result()",
    "pfor": "%%pfor x in range(100)\nsleep()",
    "submit loop": "while True: ex.submit(sleep)",
    "time.sleep": "fs = [ex.submit(sleep) for _ in range(9)]\ntime.sleep(600)",
    "in user code of the cell": "f = ex.submit(sleep)\nwhile True: pass",
}


@pytest.mark.parametrize("cell", WAITING.values(), ids=WAITING.keys())
def test_while_the_cell_waits(stage: Stage, cell: str) -> None:
    stage.press(cell)
    stage.goes_on(same_workers=True)


AWAITING = {
    "a future": "await fs[0]",
    "a gathering": "await asyncio.gather(*fs)",
    "a thread": "await asyncio.to_thread(fs[0].result)",
    "a map": "async for _ in ex.map(sleep, [0]): pass",
}


@pytest.mark.parametrize("cell", AWAITING.values(), ids=AWAITING.keys())
def test_while_the_cell_awaits(stage: Stage, cell: str) -> None:
    """Its other tasks end too. The event loop hears Stop when it turns, with and without Cellmill."""
    stage.error = "CancelledError"
    turns = "import asyncio\nasync def turn():\n    while True: await asyncio.sleep(0.01)\n"
    stage.press(
        f"{turns}turning = asyncio.create_task(turn())\nfs = [ex.submit(sleep) for _ in range(9)]\n{cell}",
        tasks=2,
    )
    stage.notebook.run("turning.cancel()\nconcurrent.futures.wait(fs, 30)").ok()
    assert stage.notebook.value("all(f.cancelled() for f in fs)") == "True"
    stage.goes_on(same_workers=True)


def test_a_task_of_asyncio_that_was_cancelled_is_no_stop(stage: Stage) -> None:
    output = stage.notebook.run(
        "import asyncio\nf = ex.submit(lambda: (time.sleep(0.2), 'good')[-1])\n"
        "own = asyncio.create_task(asyncio.sleep(60))\nown.cancel()\nawait own"
    )
    assert output.error is not None
    assert (output.error["ename"], stage.notebook.value("f.result(30)")) == ("CancelledError", "'good'")


def test_what_waited_and_what_ran_is_cancelled(stage: Stage) -> None:
    stage.press("fs = [ex.submit(sleep) for _ in range(20)]\nfs[0].result()", tasks=2)
    stage.goes_on(same_workers=True)
    stage.notebook.run("concurrent.futures.wait(fs, 30)").ok()
    assert stage.notebook.value("all(f.cancelled() for f in fs)") == "True"


def test_while_arguments_are_pickled(stage: Stage) -> None:
    stage.press(
        "class Slow:\n"
        "    def __reduce__(self):\n"
        "        say()\n"
        "        time.sleep(600)\n"
        "ex.submit(id, Slow()).result()"
    )
    stage.goes_on(same_workers=True)


def test_while_callbacks_run(stage: Stage) -> None:
    stage.press(
        "fs = [ex.submit(abs, i) for i in range(100)]\n"
        "gate = threading.Event()\n"
        "for f in fs: f.add_done_callback(lambda f: (say(), gate.wait(600)))\n"
        "ex.submit(time.sleep, 600).result()"
    )
    stage.notebook.run("gate.set()").ok()
    stage.goes_on(same_workers=True)


DEAF = {
    "holds the GIL": "say()\n    sum(range(10**13))",
    "swallows it": (
        "say()\n    while True:\n        try:\n            time.sleep(600)\n        except BaseException: pass"
    ),
    "a finally that takes too long": "\n    try:\n        say(); time.sleep(600)\n    finally: time.sleep(600)",
}


@pytest.mark.parametrize("body", DEAF.values(), ids=DEAF.keys())
def test_a_task_that_does_not_hear(stage: Stage, body: str) -> None:
    """It is killed; the other worker is left alone."""
    stage.press(f"def deaf():\n    {body}\nf = ex.submit(deaf)\nf.result()")
    stage.goes_on(same_workers=False)
    stage.notebook.run("concurrent.futures.wait([f], 30)").ok()  # the figures are ahead of the futures
    assert stage.notebook.value("f.cancelled(), len(set(before) & set(pids()))") == "(True, 1)"


POLITE = {
    "a finally that takes its time": "try:\n        sleep()\n    finally: time.sleep(0.2)",
    "a factory": "factory()",
    "a long regular expression": "say()\n    re.match('(a+)+b', 'a' * 60)",
    "a call of native code": "say()\n    ctypes.PyDLL(None).usleep(600_000_000)",
    "many small calls": "say()\n    while True: len(sorted(range(1000)))",
}


@pytest.mark.parametrize("body", POLITE.values(), ids=POLITE.keys())
def test_a_task_that_hears(stage: Stage, body: str) -> None:
    stage.press(f"def polite():\n    {body}\nex.submit(polite).result()")
    stage.goes_on(same_workers=True)


def test_while_arguments_are_unpickled(stage: Stage) -> None:
    stage.press(
        "class Slow:\n    def __reduce__(self):\n        return sleep, ()\nex.submit(id, Slow()).result()"
    )
    stage.goes_on(same_workers=True)


TREES = {
    "run": "subprocess.run(['sh', '-c', script])",
    "a group of its own": "subprocess.run(['sh', '-c', script], start_new_session=True)",
    "that ignores Stop": "subprocess.run(['sh', '-c', 'trap \"\" INT; ' + script])",
    "left behind": "subprocess.Popen(['sh', '-c', f'({script}) &']).wait(); time.sleep(600)",
}


@pytest.mark.parametrize("body", TREES.values(), ids=TREES.keys())
def test_what_a_task_started_ends_with_it(stage: Stage, body: str, tmp_path: Path) -> None:
    stage.notebook.run(f"script = 'sleep 600 & echo $! > {tmp_path}/said; wait'").ok()
    output = stage.notebook.start(f"def outside():\n    {body}\nex.submit(outside).result()")
    pid = int(stage.said())
    stage.end(output)
    assert ends(pid)
    stage.goes_on(same_workers=True)


def test_what_earlier_tasks_started_lives_on(stage: Stage) -> None:
    stage.notebook.run(
        "def serve():\n"
        "    global server\n"
        "    server = subprocess.Popen(['sleep', '600'])\n"
        "    return server.pid\n"
        "servers = ex.run_on_workers(serve)"
    ).ok()
    stage.press("ex.submit(sleep).result()")
    stage.goes_on(same_workers=True)
    for pid in map(int, stage.notebook.value("' '.join(map(str, servers))").strip("'").split()):
        os.kill(pid, 0)
        os.kill(pid, 9)


def test_other_cells_go_on(stage: Stage) -> None:
    notebook = stage.notebook
    notebook.run("%%task background\nsay()\ntime.sleep(1.5)\n'good'").ok()
    stage.said()
    notebook.run("other = ex.submit(lambda: (say(), time.sleep(1), 'too')[-1])").ok()
    stage.said()
    stage.press("say()\nwhile True: time.sleep(0.01)")
    assert notebook.value("background.result(30)") == "'good'"
    assert notebook.value("other.result(30)") == "'too'"
    stage.goes_on(same_workers=True)


def test_when_nothing_runs(stage: Stage) -> None:
    for _ in range(3):
        stage.notebook.manager.interrupt_kernel()
    stage.goes_on(same_workers=True)


@pytest.mark.parametrize("times", [15, pytest.param(100, marks=pytest.mark.long)])
def test_many_in_a_row(stage: Stage, times: int) -> None:
    cells = ["ex.submit(sleep).result()", "list(ex.map(sleep, [0]))", "cellmill.parallel(sleep)().result()"]
    for i in range(times):
        stage.press(cells[i % 3])
    stage.goes_on(same_workers=True)


def test_the_status_shows_what_is_stopping(stage: Stage) -> None:
    notebook = stage.notebook
    notebook.run(
        "def stubborn():\n"
        "    try:\n"
        "        sleep()\n"
        "    finally:\n"
        "        end = time.monotonic() + 0.4\n"
        "        while time.monotonic() < end: pass\n"
        "f = ex.submit(stubborn)"
    ).ok()
    stage.said()
    out = notebook.run(
        "print(repr(f), f.cancel(), f.cancel(force=True), f, f.running(), ex.stats().stopping)\n"
        "print([w.state for w in ex.workers() if w.state != 'idle'])"
    ).ok()
    first, second = out.stdout.splitlines()
    assert first == (
        "<cellmill.Future stubborn() running> False True <cellmill.Future stubborn() stopping> True 1"
    )
    assert second == "['stopping']"
    with_end = notebook.run("try: f.result(30)\nexcept BaseException as e: print(type(e).__name__)")
    assert with_end.ok().stdout == "CancelledError\n"
    assert notebook.value("f") == "<cellmill.Future cancelled>"
    stage.goes_on(same_workers=True)


def test_cells_that_a_cell_runs_end_with_it(stage: Stage) -> None:
    """As `%rerun`, macros and notebooks that are run in a cell do; what was begun before them ends, too."""
    stage.notebook.run("shell = get_ipython()\nfs = []").ok()
    cell = "fs += [ex.submit(sleep) for _ in range(9)] + list(map(cellmill.parallel(sleep), range(9)))\n"
    stage.press(f"{cell}shell.run_cell('1 + 1')\nfs[0].result()", tasks=2)
    stage.notebook.run("concurrent.futures.wait(fs, 30)").ok()
    assert stage.notebook.value("len(fs), all(f.cancelled() for f in fs)") == "(18, True)"
    stage.goes_on(same_workers=True)


def test_a_cell_that_goes_on_after_stop_is_stopped_again(stage: Stage) -> None:
    """What Stop ends is the cell that it runs."""
    inner = "ex.submit(sleep).result()"
    output = stage.notebook.start(
        f"get_ipython().run_cell({inner!r})\nfs = [ex.submit(sleep) for _ in range(9)]\nfs[0].result()"
    )
    stage.said()
    time.sleep(MOMENT)
    stage.notebook.manager.interrupt_kernel()
    stage.said()
    stage.end(output)
    stage.notebook.run("concurrent.futures.wait(fs, 30)").ok()
    assert stage.notebook.value("all(f.cancelled() for f in fs)") == "True"
    stage.goes_on(same_workers=True)


def test_a_cell_of_a_subshell_does_not_keep_stop_from_the_tasks(stage: Stage) -> None:
    with stage.notebook.subshell() as beside:
        output = stage.notebook.start("fs = [ex.submit(sleep) for _ in range(9)]\nfs[0].result()")
        stage.said()
        stage.notebook.finish(beside("1 + 1"))
        stage.end(output)
    stage.notebook.run("concurrent.futures.wait(fs, 30)").ok()
    assert stage.notebook.value("all(f.cancelled() for f in fs)") == "True"
    stage.said()
    stage.goes_on(same_workers=True)
