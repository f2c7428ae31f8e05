"""What the kernel shows of its tasks' output: all of it, or how much not; in whole lines, with the right task."""

from __future__ import annotations

import gc
import os
import select
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from cellmill.cell_output.transcript import kept
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down, prepend_to_path

# -- what comes


def test_whole_lines(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task(i):
    for part in (f"task {i}", " says", " hello\\n"):
        print(part, end="", flush=True)
    print(f"task {i} ends", end="")
"""
    out, _ = said(task, "list(ex.map(task, range(50), chunksize=1))", "2")
    lines = sorted(out.splitlines())
    assert lines == sorted([f"task {i} {what}" for i in range(50) for what in ("says hello", "ends")])


def test_before_the_result(said: Callable[..., tuple[str, str]]) -> None:
    lines = 'for i in range(100):\n    ex.submit(print, "task", i).result()\n    print("kernel", i)'
    assert said("", lines)[0] == "".join(f"task {i}\nkernel {i}\n" for i in range(100))


def test_stdout_and_stderr_apart(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task():
    print("good")
    print("bad", file=sys.stderr)
    sys.stderr.write("no newline")
"""
    assert said(task) == ("good\n", "bad\nno newline")


def test_every_way_to_write_in_order(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task():
    import ctypes
    libc = ctypes.CDLL(None)
    print("print")
    os.write(1, b"os.write\\n")
    subprocess.run(["echo", "child"])
    print("between")
    libc.puts(b"puts")
    libc.printf(b"unflushed ")
    os.system("echo system")
    sys.stdout.buffer.write(b"buffer\\n")
    libc.puts(b"last")
    os.write(2, b"error\\n")
"""
    out, err = said(task)
    assert out.replace("unflushed ", "").splitlines() == [
        "print",
        "os.write",
        "child",
        "between",
        "puts",
        "system",
        "buffer",
        "last",
    ]
    assert "unflushed" in out
    assert err == "error\n"


def test_native_output_of_a_long_task_keeps_its_place(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task():
    os.write(1, b"early\\n")
    time.sleep(0.1)  # from now on the kernel reads along
    for i in range(400):
        os.write(1, b"native %d\\n" % i)
        print("python", i)
"""
    out, _ = said(f"import time\n{task}", "for _ in range(5):\n    ex.submit(task).result()")
    once = ["early", *(f"{what} {i}" for i in range(400) for what in ("native", "python"))]
    assert out.splitlines() == 5 * once


def test_late_news_of_a_dead_workers_pipe(fresh: Executor, capfd: pytest.CaptureFixture[str]) -> None:
    """Its end may be heard when a new worker's pipe has its number: that one is heard all the same."""

    def talk() -> None:
        for i in range(1200):
            print(i, "x" * 100)

    fresh.run_on_workers(os.getpid)
    listener = fresh._backend.listener  # type: ignore[attr-defined]
    for pipes in listener._workers.values():
        for fd in (pipes.frames, *pipes.natives):
            listener._hear(fd, select.EPOLLHUP, pipes)
    for future in [fresh.submit(talk) for _ in range(4)]:
        future.result(SECONDS)
    assert capfd.readouterr().out.count("x" * 100) >= 1000


def test_native_output_before_the_result(said: Callable[..., tuple[str, str]]) -> None:
    lines = 'for i in range(30):\n    ex.submit(subprocess.run, ["echo", str(i)]).result()\n    print("kernel", i)'
    assert said("", lines)[0] == "".join(f"{i}\nkernel {i}\n" for i in range(30))


def test_native_output_of_a_task_that_goes_on(
    fresh: Executor, gate: Gate, capfd: pytest.CaptureFixture[str]
) -> None:
    """Shown while it runs; and more of it than the pipe holds."""

    def talk(folder: str) -> None:
        os.write(1, b"early\n")
        for i in range(3000):
            os.write(1, b"%d %s\n" % (i, b"x" * 100))
        tasks.hold(folder)

    future = fresh.submit(talk, gate.folder)
    gate.wait_started()
    deadline, seen = time.monotonic() + SECONDS, ""
    while "early\n" not in seen and time.monotonic() < deadline:
        seen += capfd.readouterr().out
    assert "early\n" in seen
    assert not future.done()
    gate.release()
    future.result(SECONDS)
    assert cellmill.output(future).endswith(f"2999 {'x' * 100}\n")


def test_binary_garbage_and_split_characters(said: Callable[..., tuple[str, str]]) -> None:
    task = r"""
def task():
    os.write(1, b"ok \xff\xfe\x00 end\n")
    for byte in "snow \u2603 man\n".encode():
        os.write(1, bytes([byte]))
    print("lone surrogate: \udc80 end")
"""
    assert said(task)[0] == "ok \\xff\\xfe\x00 end\nsnow ☃ man\nlone surrogate: \\udc80 end\n"


def test_a_line_without_end(said: Callable[..., tuple[str, str]]) -> None:
    out, _ = said("", 'ex.submit(print, "é☃" * 150_000, end="").result()\nprint("!")')
    assert out == "é☃" * 150_000 + "!\n"


def test_a_progress_line(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task():
    for i in range(101):
        print(f"\\r{i} %", end="", flush=True)
    print()
"""
    out, _ = said(task)
    assert out.splitlines()[-1] == "100 %"


def test_a_progress_line_that_ends_where_it_began(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task():
    for i in range(101):
        print(f"{i} %", end="\\r", flush=True)
"""
    out, _ = said(task)
    assert out.splitlines()[-1] == "100 %"


# -- odd tasks


def test_streams_that_a_task_closes_or_replaces(said: Callable[..., tuple[str, str]]) -> None:
    task = """
import io
def close():
    sys.stdout.close()
    print("closed")
def replace():
    sys.stdout = io.StringIO()
    print("into the replacement")
def delete():
    sys.stdout = None
def redirect():
    import contextlib
    with contextlib.redirect_stdout(io.StringIO()) as heard:
        print("heard")
    print("then", heard.getvalue().strip())
def task():
    print("the next one")
"""
    each = "ex.submit(f).result()\n        ex.run_on_workers(int)"
    lines = f"for each in (close, replace, delete, redirect):\n    for f in (each, task):\n        {each}"
    expected = "closed\nthe next one\nthe next one\nthe next one\nthen heard\nthe next one\n"
    assert said(task, lines)[0] == expected


@pytest.mark.filterwarnings("ignore:tasks of begin change builtins")
def test_a_thread_that_outlives_its_task(said: Callable[..., tuple[str, str]]) -> None:
    task = """
import builtins
def begin():
    def later():
        builtins.go.wait()
        print("from the thread")
    builtins.go, builtins.thread = threading.Event(), threading.Thread(target=later)
    builtins.thread.start()
def end():
    builtins.go.set()
    builtins.thread.join()
"""
    lines = """first, second = ex.submit(begin), ex.submit(end)
second.result()
ex.shutdown()
print("of the first:", cellmill.output(first).strip())
print("of the second:", cellmill.output(second).strip())"""
    assert said(task, lines)[0] == "from the thread\nof the first: from the thread\nof the second: \n"


def test_a_forked_child_prints(said: Callable[..., tuple[str, str]]) -> None:
    task = """
def task():
    pid = os.fork()
    if pid == 0:
        print("child", flush=True)
        os._exit(0)
    os.waitpid(pid, 0)
    print("parent")
"""
    assert sorted(said(task)[0].split()) == ["child", "parent"]


def test_initializer_and_import(
    said: Callable[..., tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "talks_when_imported.py").write_text("print('imported')\ndef f():\n    print('called')\n")
    prepend_to_path(monkeypatch, tmp_path)
    try:
        out, _ = said(
            "import talks_when_imported\nsys.stdout.flush()",
            "ex.submit(talks_when_imported.f).result()",
            "1, initializer=print, initargs=('initialized',)",
        )
    finally:
        sys.modules.pop("talks_when_imported", None)
    assert out.splitlines() == ["imported", "initialized", "imported", "called"]


def test_an_initializer_may_replace_stdout_for_good(
    said: Callable[..., tuple[str, str]], tmp_path: Path
) -> None:
    task = f"""
def into_a_file():
    sys.stdout = open({str(tmp_path / "log")!r}, "a")
"""
    assert (
        said(task, "for i in range(3):\n    ex.submit(print, i).result()", "1, initializer=into_a_file")[0]
        == ""
    )
    assert (tmp_path / "log").read_text() == "0\n1\n2\n"


def test_what_run_on_workers_prints(said: Callable[..., tuple[str, str]]) -> None:
    assert said("", "ex.run_on_workers(lambda: print('here'))", "2")[0] == "here\nhere\n"


# -- the dead


@pytest.mark.parametrize("way", ["print('a word', flush=True)", "os.write(1, b'a word')", "print('a word')"])
def test_last_words(fresh: Executor, way: str, capfd: pytest.CaptureFixture[str]) -> None:
    def die() -> None:
        print("first")
        exec(way, {"os": os})
        os.kill(os.getpid(), 9)

    error = fresh.submit(die).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.output.split() == ["first", "a", "word"]
    assert "The last it printed:\n    first\n    a word" in str(error)
    assert capfd.readouterr().out.split() == ["first", "a", "word"]


def test_output_of_a_backend_that_is_gone_is_no_later_ones() -> None:
    """Though Python makes a later one at its place, with tasks of the same numbers."""

    class Backend:
        pass

    gone = Backend()
    place = id(gone)
    kept.tail_of(gone, 1, 0).add(b"said")
    assert kept.text(gone, 1, 0) == "said"
    del gone
    others = [Backend()]
    while id(others[-1]) != place:
        others.append(Backend())
        assert len(others) < 10_000
    assert kept.text(others[-1], 1, 0) == ""


def test_last_words_of_a_flood(fresh: Executor) -> None:
    def die() -> None:
        for i in range(2000):
            print("x" * 200, i)
        os.kill(os.getpid(), 9)

    error = fresh.submit(die).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.output.endswith("xx 1999\n")
    assert len(error.output) < 3000


def test_no_words_no_mention(fresh: Executor) -> None:
    assert "printed" not in str(fresh.submit(tasks.die, "SIGKILL").exception(SECONDS))


# -- whose it was


def test_labels(said: Callable[..., tuple[str, str]]) -> None:
    task = "def task(i):\n    print('one', i)\n    print('two', i)\n"
    lines = "list(ex.map(task, range(3)))\nex.label_output = False\nex.submit(task, 9).result()"
    out = said(task, lines, "1, label_output=True")[0].splitlines()
    assert out == [f"[task {i}] {word} {i}" for i in range(3) for word in ("one", "two")] + ["one 9", "two 9"]


def test_label_of_a_single_call(said: Callable[..., tuple[str, str]]) -> None:
    out = said("def task():\n    print('a\\nb')\n    os.write(1, b'c\\n')", how="1, label_output=True")[0]
    name = out.partition("]")[0] + "] "
    assert name.startswith("[task #")
    assert out == f"{name}a\n{name}b\n{name}c\n"


def test_output_by_task_and_by_run(fresh: Executor) -> None:
    runs: list[cellmill.run_registry.Run] = []
    undo = cellmill.run_registry.on_run_started(runs.append)
    try:
        list(fresh.map(print, range(5), chunksize=1))
    finally:
        undo()
    assert sorted(runs[0].output.split()) == ["0", "1", "2", "3", "4"]
    assert cellmill.output(runs[0].id) == cellmill.output(runs[0]) == runs[0].output
    futures = [fresh.submit(print, "future", i) for i in range(3)]
    for i, future in enumerate(futures):
        future.result(SECONDS)
        assert cellmill.output(future) == f"future {i}\n"
    assert cellmill.output(fresh.submit(tasks.double, 1)) == ""
    with pytest.raises(cellmill.UsageError, match="no output is kept of a run 999999"):
        cellmill.output(999_999)
    with pytest.raises(cellmill.UsageError, match="takes a future, a run or its number"):
        cellmill.output("f")  # type: ignore[arg-type]


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(cellmill.UsageError, match="output_lines must be a whole number of at least 1, not 0"):
        Executor(1, output_lines=0)


def test_no_descriptor_is_left() -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd"))

    with Executor(1) as first:
        first.submit(print, "warm").result()
    del first
    gc.collect()
    before = count()
    for _ in range(3):
        with Executor(2) as executor:
            list(executor.map(tasks.double, range(10)))
    del executor
    assert comes_down(count, before)


def test_silent_tasks_are_not_heard(fresh: Executor) -> None:
    """No word of them comes: what prints nothing costs nothing here."""
    fresh.submit(tasks.double, 1).result()
    list(fresh.map(tasks.double, range(100)))
    assert not fresh._backend.listener._transcripts  # type: ignore[attr-defined]
