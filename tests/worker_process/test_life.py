"""Beginnings and ends: of the interpreter, of the kernel process, of the zygote, of forked children."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, WorkerLostError
from cellmill.backends.local import pool as local_pool
from cellmill.backends.local import zygote_client
from cellmill.process_context.process_tree import descendants
from tests.support import tasks
from tests.support.helpers import Gate, comes_down, ends, run_script, shared_maps, start_script

SECONDS = 30.0
# The bar is one second; a machine that has more to do than it has CPUs gets longer.
SECOND_OF_GRACE = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1) / 2)


@pytest.fixture
def word(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """That of the zygote, which tells of a worker's process: it is withheld until this is set."""
    told, fork = threading.Event(), zygote_client.Zygote.fork

    def late(client: zygote_client.Zygote, *arguments: Any) -> int:
        pid = fork(client, *arguments)
        told.wait(SECONDS)
        return pid

    monkeypatch.setattr(zygote_client.Zygote, "fork", late)
    monkeypatch.setattr(local_pool, "KNOWN_SECONDS", SECONDS)  # however busy this machine is
    yield told
    told.set()


def test_a_worker_that_is_at_work_before_the_zygote_tells_of_it(word: threading.Event) -> None:
    """A read of its process id waits until the zygote has told it."""
    with Executor(1) as pool:
        pid = pool.submit(os.getpid).result(SECONDS)
        threading.Timer(0.1, word.set).start()
        assert [worker.pid for worker in pool.workers()] == [pid]


def test_a_task_is_stopped_before_the_zygote_tells_of_its_worker(word: threading.Event, gate: Gate) -> None:
    """The interrupt is not dropped: nothing else would end the task."""
    with Executor(1) as pool:
        future = pool.submit(tasks.hold, gate.folder)
        gate.wait_started()
        future.cancel(force=True)
        threading.Timer(0.1, word.set).start()
        assert not wait([future], SECONDS).not_done
        assert future.cancelled()


def test_a_worker_is_killed_before_the_zygote_tells_of_it(word: threading.Event, gate: Gate) -> None:
    with Executor(1) as pool:
        future = pool.submit(tasks.hold, gate.folder)
        gate.wait_started()
        threading.Timer(0.1, word.set).start()
        pool._backend.pool.kill(0)  # type: ignore[attr-defined]
        with pytest.raises(WorkerLostError):
            future.result(SECONDS)


def test_exit_finishes_the_work(script: Callable[..., str]) -> None:
    out = script(
        """
        from cellmill import Executor
        ex = Executor(2)
        def work(i):
            sum(range(200_000))
            print("done", i)
        for i in range(20):
            ex.submit(work, i)
        print("end of script")
        """
    )
    lines = out.splitlines()
    assert "end of script" in lines
    assert sorted(lines) == sorted(["end of script", *(f"done {i}" for i in range(20))])


def test_exit_with_an_error_after_shutdown_without_waiting(tmp_path: Path) -> None:
    with start_script(
        tmp_path,
        """
        from cellmill import Executor
        ex, closed = Executor(2), Executor(1)
        ex.submit(print, "apple")
        closed.submit(print, "pear")
        closed.shutdown(wait=False)
        raise SystemExit(3)
        """,
    ) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, sorted(out.splitlines()), err) == (3, ["apple", "pear"], "")


def test_exit_after_the_executor_was_dropped(script: Callable[..., str]) -> None:
    out = script(
        """
        from cellmill import Executor
        Executor(1).submit(print, "apple")
        """
    )
    assert out == "apple\n"


def test_callbacks_run_before_exit_and_submit_is_refused_then(tmp_path: Path) -> None:
    out, err = run_script(
        tmp_path,
        """
        import atexit
        @atexit.register
        def last():
            try:
                ex.submit(id, None)
            except RuntimeError as error:
                print(error)
        from cellmill import Executor
        ex = Executor(1)
        ex.submit(abs, -1).add_done_callback(lambda f: print("called", f.result()))
        """,
    )
    assert out == "called 1\ncannot schedule new futures after shutdown\n"
    assert not err


def test_import_alone_starts_nothing(script: Callable[..., str]) -> None:
    out = script(
        """
        import cellmill, os, threading, sys
        print(threading.active_count(), "numpy" in sys.modules, "IPython" in sys.modules)
        from cellmill.worker_process.zygote import descendants
        print(descendants(os.getpid()))
        """
    )
    assert out == "1 False False\n[]\n"


KERNEL = """
import os, sys, subprocess, signal, ctypes, glob
from cellmill import Executor
from cellmill.worker_process.zygote import descendants
ready, gate, last, workers = sys.argv[1:]
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it is ignored
ex = Executor(int(workers), memory=4 << 20)
def daemonise(gate):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            open(gate).read()
        os._exit(0)
    os.wait()
def work(gate, how):
    if how == "child":
        subprocess.run(["cat", gate])
    elif how == "grandchild":
        subprocess.run(["sh", "-c", "cat " + gate + " & cat " + gate])
    elif how == "own session":
        subprocess.run(["sh", "-c", "cat " + gate + " & cat " + gate], start_new_session=True)
    elif how == "daemon":
        daemonise(gate)
        open(f"{gate}.{os.getpid()}", "w").close()
        open(gate).read()
    elif how == "thread":
        import threading
        threading.Thread(target=lambda: open(gate).read()).start()
        open(gate).read()
    elif how == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif how == "idle":
        return
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        while True:
            pass
kept = [ex.submit(bytes, 3 << 20).result() for _ in range(4)]  # in memory and in files
ex.run_on_workers(int)
"""
STARTED = """
import time
fs = [ex.submit(work, gate, how) for how in hows]
def until(condition):
    while not condition():
        time.sleep(0.002)
until(lambda: all(f.running() or f.done() for f in fs))
until(lambda: len(glob.glob(gate + ".*")) == hows.count("daemon"))  # the processes in between are gone
until(lambda: len(descendants(os.getpid())) >= below)
"""
READY = """
open(ready, "w").write(" ".join(map(str, descendants(os.getpid()))))
end()
"""
BELOW = {"child": 1, "grandchild": 2, "own session": 2, "daemon": 1}  # processes that a worker then has
HOWS = ["busy", "child", "grandchild", "own session", "daemon", "thread", "stopped", "idle"]


def started(hows: list[str]) -> str:
    """A worker for each of these."""
    return f"hows, below = {hows!r}, {1 + len(hows) + sum(BELOW.get(how, 0) for how in hows)}\n{STARTED}"


def start_kernel(
    folder: Path, code: str, end: str, workers: int = 2
) -> tuple[subprocess.Popen[str], list[int], set[int]]:
    """A program as a kernel, the processes below it, and the inodes of its memory; then it goes on to its end."""
    pipes = [folder / name for name in ("ready", "blocked", "end")]
    for pipe in pipes:
        os.mkfifo(pipe)
    code = f"{KERNEL}\ndef end():\n    open(last).read()\n    {end}\n{code}\n{READY}"
    process = start_script(
        folder, code, *map(str, pipes), str(workers), stdout=None, stderr=subprocess.DEVNULL
    )
    below = [int(pid) for pid in pipes[0].read_text().split()]
    memory = {inode for pid in (process.pid, *below) for _, inode, _ in shared_maps(pid)}
    assert len(below) >= 3
    assert memory
    return process, below, memory


def holders(memory: set[int]) -> list[int]:
    """Processes of this machine that hold or map any of that memory."""
    found = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
        with contextlib.suppress(OSError):
            held = {inode for _, inode, _ in shared_maps(pid)}
            for fd in os.listdir(f"/proc/{pid}/fd"):
                place = f"/proc/{pid}/fd/{fd}"
                with contextlib.suppress(OSError):
                    if "memfd:cellmill" in os.readlink(place):  # files of a disk have the same numbers
                        held.add(os.stat(place).st_ino)
            if held & memory:
                found.append(pid)
    return found


@pytest.mark.parametrize(
    "hows", [HOWS, *(pytest.param([how] * 2, marks=pytest.mark.long) for how in HOWS)], ids=" ".join
)
def test_nothing_outlives_a_killed_kernel(tmp_path: Path, hows: list[str]) -> None:
    process, below, memory = start_kernel(tmp_path, started(hows), "", len(hows))
    with process:
        process.kill()
    for pid in below:
        assert ends(pid, SECOND_OF_GRACE), f"{pid} outlives its kernel"
    assert not holders(memory)


# No handler of Cellmill's tells one signal from another, or from `os._exit`.
@pytest.mark.parametrize(
    "end",
    [
        "SIGTERM",
        "exit",
        *(pytest.param(end, marks=pytest.mark.long) for end in ("SIGHUP", "SIGSEGV", "_exit")),
    ],
)
def test_nothing_outlives_a_kernel_that_ends(tmp_path: Path, end: str) -> None:
    act = "os._exit(3)" if end == "_exit" else "sys.exit(3)" if end == "exit" else "pass"
    act = "ctypes.string_at(0)" if end == "SIGSEGV" else act
    code = started(["own session"] * 2) if end != "exit" else ""
    process, below, memory = start_kernel(tmp_path, code, act)
    with process:
        if end in ("SIGHUP", "SIGTERM"):
            process.send_signal(signal.Signals[end])
        else:
            Path(tmp_path, "end").write_text("go on")
    assert process.returncode == (3 if "exit" in end else -signal.Signals[end])
    for pid in below:
        assert ends(pid, SECOND_OF_GRACE), f"{pid} outlives its kernel"
    assert not holders(memory)


FORKS = {
    "os.fork": "if os.fork() == 0:\n    open(gate).read()\n    os._exit(0)",
    "daemon": "daemonise(gate)",
    "multiprocessing": """
import multiprocessing, warnings
def wait():
    open(gate).read()
multiprocessing.get_context("fork").Process(target=wait, daemon=True).start()""",
    "Popen": "subprocess.Popen(['cat', gate], close_fds=False)",
    "Popen with preexec_fn": "subprocess.Popen(['cat', gate], close_fds=False, preexec_fn=int, start_new_session=True)",
}


@pytest.mark.parametrize(
    "hows", [list(FORKS), *(pytest.param([how], marks=pytest.mark.long) for how in FORKS)], ids=", ".join
)
def test_nothing_outlives_a_kernel_that_forked(tmp_path: Path, hows: list[str]) -> None:
    """What user code started lives on; it holds none of our processes or memory."""
    process, below, memory = start_kernel(tmp_path, "\n".join(FORKS[how] for how in hows), "")
    ours = [pid for pid in below if is_zygote(pid) or any(is_zygote(above) for above in parents(pid))]
    theirs = [pid for pid in waiting_for(tmp_path / "blocked") if pid != process.pid]
    assert len(ours) == 3
    assert len(theirs) >= len(hows)
    try:
        with process:
            process.kill()
        for pid in ours:
            assert ends(pid, SECOND_OF_GRACE), f"{pid} outlives its kernel"
        assert not holders(memory)
        assert not any(ends(pid, 0) for pid in theirs)
    finally:
        for pid in theirs:
            os.kill(pid, signal.SIGKILL)


def parents(pid: int) -> list[int]:
    found = []
    while pid > 1:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        found.append(pid)
    return found


def is_zygote(pid: int) -> bool:
    if pid < 1:
        return False
    return b"cellmill.worker_process.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()


def waiting_for(path: Path) -> list[int]:
    """Processes that wait for a pipe to be opened: its path is in their command."""
    marker = str(path).encode()
    return [
        int(name)
        for name in os.listdir("/proc")
        if name.isdigit() and marker in _command(int(name)) and not is_zygote(int(name))
    ]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_no_descriptors_or_threads_are_left(pool: Executor) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    def use() -> None:
        with Executor(2) as executor:
            assert executor.submit(tasks.double, 1).result() == 2
        del executor
        gc.collect()

    use()
    before = descriptors(), threads()
    for _ in range(5):
        use()
    assert comes_down(descriptors, before[0] + 1)
    assert comes_down(threads, before[1] + 1)


def test_zygote_dies(fresh: Executor) -> None:
    assert fresh.submit(tasks.double, 1).result() == 2
    zygote = zygote_client.shared().process.pid
    os.kill(zygote, signal.SIGKILL)
    assert ends(zygote)
    for future in [fresh.submit(tasks.double, i) for i in range(100)]:
        assert future.exception(30) is None or isinstance(future.exception(), cellmill.WorkerLostError)
    assert [f.result(30) for f in [fresh.submit(tasks.double, i) for i in range(100)]] == list(
        range(0, 200, 2)
    )
    assert comes_down(lambda: zygote_client.shared().process.pid == zygote, 0)  # once its end was heard of


def test_children_of_a_dead_worker_end(fresh: Executor, gate: Gate, tmp_path: Path) -> None:
    def start(folder: str) -> None:
        child = os.fork()
        if child == 0:
            tasks.hold(folder)
            os._exit(0)
        Path(folder, "child").write_text(str(child))
        tasks.die("SIGKILL")

    assert fresh.submit(start, gate.folder).exception(30) is not None
    assert ends(int(Path(gate.folder, "child").read_text()))
    assert descendants(os.getpid())
