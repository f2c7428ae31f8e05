"""Beginnings and ends: of the interpreter, of the kernel process, of the zygote, of forked children."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.local import zygote_client
from cellmill.zygote import descendants
from tests.core import tasks
from tests.core.helpers import Gate, ends, run_script, start_script

SECOND_OF_GRACE = 5.0  # the bar is one second; a machine under load gets more


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


def test_exit_after_shutdown_without_waiting(script: Callable[..., str]) -> None:
    out = script(
        """
        from cellmill import Executor
        ex = Executor(2)
        ex.submit(print, "apple")
        ex.shutdown(wait=False)
        """
    )
    assert out == "apple\n"


def test_exit_with_an_error(tmp_path: Path) -> None:
    with start_script(
        tmp_path,
        """
        from cellmill import Executor
        ex = Executor(2)
        ex.submit(print, "apple")
        raise SystemExit(3)
        """,
    ) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (3, "apple\n", "")


def test_exit_after_the_executor_was_dropped(script: Callable[..., str]) -> None:
    out = script(
        """
        from cellmill import Executor
        Executor(1).submit(print, "apple")
        """
    )
    assert out == "apple\n"


def test_callbacks_run_before_exit(script: Callable[..., str]) -> None:
    out = script(
        """
        from cellmill import Executor
        ex = Executor(1)
        ex.submit(abs, -1).add_done_callback(lambda f: print("called", f.result()))
        """
    )
    assert out == "called 1\n"


def test_submit_at_exit_is_refused(tmp_path: Path) -> None:
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
        ex.submit(id, 1).result()
        """,
    )
    assert out == "cannot schedule new futures after shutdown\n"
    assert not err


def test_import_alone_starts_nothing(script: Callable[..., str]) -> None:
    out = script(
        """
        import cellmill, os, threading, sys
        print(threading.active_count(), "numpy" in sys.modules, "IPython" in sys.modules)
        from cellmill.zygote import descendants
        print(descendants(os.getpid()))
        """
    )
    assert out == "1 False False\n[]\n"


KERNEL = """
import os, sys, subprocess
from pathlib import Path
from cellmill import Executor
from cellmill.zygote import descendants
ready, gate = sys.argv[1:]
ex = Executor(2)
def work(gate, how):
    if how == "child":
        subprocess.run(["cat", gate])
    elif how == "grandchild":
        subprocess.run(["sh", "-c", "cat " + gate + " & cat " + gate])
    elif how == "thread":
        import threading
        threading.Thread(target=lambda: open(gate).read()).start()
        open(gate).read()
    else:
        import signal
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))
        while True:
            pass
"""


@pytest.mark.parametrize("how", ["busy", "child", "grandchild", "thread", "idle", "forked"])
def test_nothing_outlives_a_killed_kernel(tmp_path: Path, how: str) -> None:
    ready, gate = tmp_path / "ready", tmp_path / "blocked"
    os.mkfifo(ready)
    os.mkfifo(gate)
    code = KERNEL
    if how == "forked":  # a child of the kernel's holds copies of all its descriptors
        code += "\nif os.fork() == 0:\n    open(gate).read()\n    os._exit(0)\n"
    if how in ("idle", "forked"):
        code += "\nex.run_on_workers(int)\n"
    else:
        code += f"\nfs = [ex.submit(work, gate, {how!r}) for _ in range(3)]\n"
        code += "while sum(f.running() for f in fs) < 2: pass\n"
        if how in ("child", "grandchild"):
            code += f"while len(descendants(os.getpid())) < {5 if how == 'child' else 7}: pass\n"
    code += "\nopen(ready, 'w').write(' '.join(map(str, descendants(os.getpid()))))\nopen(gate).read()\n"
    with start_script(tmp_path, code, str(ready), str(gate), stdout=None, stderr=None) as process:
        below = [int(pid) for pid in ready.read_text().split()]
        assert len(below) >= 3
        forked = [
            pid for pid in below if how == "forked" and parent(pid) == process.pid and not is_zygote(pid)
        ]
        process.kill()
    for pid in below:
        if pid in forked:
            os.kill(pid, signal.SIGKILL)
        assert ends(pid, SECOND_OF_GRACE), f"{pid} outlives its kernel"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_zygote(pid: int) -> bool:
    return b"cellmill.zygote" in Path(f"/proc/{pid}/cmdline").read_bytes()


def test_no_descriptors_or_threads_are_left(pool: Executor) -> None:
    def count() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    def use() -> None:
        with Executor(2) as executor:
            assert executor.submit(tasks.double, 1).result() == 2
        del executor
        gc.collect()

    use()
    before = count()
    for _ in range(5):
        use()
    after = count()
    assert after[0] <= before[0] + 1
    assert after[1] <= before[1] + 1


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
    assert zygote_client.shared().process.pid != zygote


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
