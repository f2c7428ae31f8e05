"""A worker that does not come to the tasks it is sent: others that idle run these, and it is used again."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def meet(folder: str, name: str, count: int) -> int:
    """Waits until so many tasks have come here, which takes as many workers."""
    Path(folder, name).touch()
    while len(os.listdir(folder)) < count:
        time.sleep(0.001)
    return os.getpid()


def both(executor: Executor, folder: Path) -> set[int]:
    folder.mkdir()
    return {f.result(SECONDS) for f in [executor.submit(meet, str(folder), str(i), 2) for i in range(2)]}


@pytest.mark.parametrize("policy", ["least-loaded", "round-robin", "random", "work-stealing"])
def test_a_worker_that_is_stopped(fresh: Executor, tmp_path: Path, policy: str) -> None:
    fresh._backend.set_policy(policy)  # type: ignore[attr-defined]
    pids = set(fresh.run_on_workers(os.getpid))
    assert len(pids) == 2
    for i, pid in enumerate(sorted(pids)):
        with stopped(pid):
            futures = [fresh.submit(tasks.double, k) for k in range(100)]
            assert [f.result(SECONDS) for f in futures] == [2 * k for k in range(100)]
            assert list(fresh.map(tasks.double, range(100), chunksize=3)) == [2 * k for k in range(100)]
        if policy != "round-robin" and policy != "random":  # these leave what waits behind a task where it is
            assert both(fresh, tmp_path / str(i)) == pids


def keep_the_interpreter(go: str, kept: str) -> None:
    """In a thread, when it is told to: a call that does not give the GIL back until it is told again.

    That it is kept is told by that call, too: between two calls the worker could begin a task, which nothing ends then.
    """
    native = ctypes.PyDLL(None)
    end = os.open(go, os.O_RDWR)
    call = f"printf x > '{kept}'; head -c 1 < '{go}' > /dev/null".encode()

    def keep() -> None:
        os.read(end, 1)
        native.system(call)

    threading.Thread(target=keep).start()


def test_a_worker_whose_interpreter_is_kept(fresh: Executor, tmp_path: Path) -> None:
    both(fresh, tmp_path / "before")
    paths = [str(tmp_path / name) for name in ("go", "kept")]
    for path in paths:
        os.mkfifo(path)
    go, kept = (os.open(path, os.O_RDWR) for path in paths)
    try:
        fresh.submit(keep_the_interpreter, *paths).result(SECONDS)
        os.write(go, b"x")
        os.read(kept, 1)
        for _ in range(20):
            futures = [fresh.submit(tasks.double, k) for k in range(10)]
            assert [f.result(SECONDS) for f in futures] == [2 * k for k in range(10)]
    finally:
        os.write(go, b"x")
    assert len(both(fresh, tmp_path / "after")) == 2
    os.close(go)
    os.close(kept)
