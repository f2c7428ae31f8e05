"""Where a worker may die: at each step only the task it was at is lost, and what it held comes back."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import pickle
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from benchmarks import census
from cellmill import Executor
from cellmill.backends.local.stopping import started_ns
from tests.support import tasks
from tests.support.helpers import SECONDS

MB = 1 << 20


class DiesWhenPickled:
    """Loads in any process; a worker that pickles it dies."""

    def __init__(self, kernel: int) -> None:
        self.kernel = kernel

    def __reduce__(self) -> Any:
        tasks.die_unless(self.kernel)
        return DiesWhenPickled, (self.kernel,)


def return_killer(kernel: int) -> DiesWhenPickled:
    return DiesWhenPickled(kernel)


def die_holding(*blocks: bytes) -> None:
    """With large inputs, blocks of others, under its hands."""
    assert sum(map(len, blocks))
    tasks.die("SIGKILL")


class DiesWhileWritten:
    """A large result whose worker is killed while its bytes are copied: the copy ends in memory that cannot be read."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __reduce_ex__(self, _: Any) -> Any:
        memory = mmap.mmap(-1, self.size)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        page = mmap.PAGESIZE
        if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + self.size - page), page, 0):
            raise OSError("mprotect")
        return bytes, (pickle.PickleBuffer(memory),)


def return_unwritable(size: int) -> DiesWhileWritten:
    return DiesWhileWritten(size)


def run_out_of_memory() -> None:
    """As native code does that does not look at what malloc gave it."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 64 * MB, resource.RLIM_INFINITY))
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(ctypes.c_size_t(1 << 40)) or 0, 1, MB)


@pytest.mark.parametrize(
    ("function", "arguments", "number", "advice"),
    [
        (return_killer, (os.getpid(),), signal.SIGKILL, "retries=1"),
        (die_holding, (bytes(4 * MB), bytes(MB)), signal.SIGKILL, "retries=1"),
        (run_out_of_memory, (), signal.SIGSEGV, "faulthandler.enable()"),
    ],
)
def test_only_that_task_is_lost(
    fresh: Executor, function: Callable[..., Any], arguments: tuple[Any, ...], number: int, advice: str
) -> None:
    others = [fresh.submit(tasks.double, i) for i in range(50)]
    error = fresh.submit(function, *arguments).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert (error.function, error.signal, error.exitcode) == (function.__name__, number, None)
    assert error.task
    assert len(error.arguments) < 500
    assert advice in str(error)
    assert [f.result(SECONDS) for f in others] == [2 * i for i in range(50)]


def test_each_error_tells_of_its_own_worker(fresh: Executor) -> None:
    for _ in range(5):
        killed, ended = fresh.submit(tasks.die, "SIGABRT"), fresh.submit(tasks.die, "exit")
        errors = [f.exception(SECONDS) for f in (killed, ended)]
        assert all(isinstance(e, cellmill.WorkerLostError) for e in errors)
        assert [(e.signal, e.exitcode) for e in errors] == [(signal.SIGABRT, None), (None, 7)]  # type: ignore[union-attr]
        assert errors[0].task != errors[1].task  # type: ignore[union-attr]


def test_dies_while_it_reads_another_workers_block(fresh: Executor) -> None:
    made = fresh.submit(bytes, 4 * MB)
    error = fresh.submit(die_holding, made).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.arguments == "<input 1>"
    assert fresh.submit(len, made).result(SECONDS) == 4 * MB
    assert len(made.result(SECONDS)) == 4 * MB


def test_blocks_of_the_dead_are_reclaimed(fresh: Executor) -> None:
    """Each descriptor is of a region: each worker's arena is one until its last reference goes."""

    def once() -> None:
        made = fresh.submit(bytes, 4 * MB)
        assert len(made.result(SECONDS)) == 4 * MB
        error = fresh.submit(die_holding, bytes(4 * MB), made).exception(SECONDS)
        assert isinstance(error, cellmill.WorkerLostError)
        fresh.run_on_workers(os.getpid)

    once()
    before = _mapped()
    for _ in range(2):
        once()
    for _ in range(1500):
        if _mapped() <= before:
            break
        threading.Event().wait(0.02)
    assert _mapped() <= before


@pytest.mark.parametrize(("memory", "size"), [(0, 8 * MB), (4 * MB, 8 * MB)], ids=["block", "file"])
def test_dies_while_it_writes_a_large_result(memory: int, size: int) -> None:
    """Half of it is there, in a block or in a file: the task is lost by name, and what it took is given back."""
    with Executor(2, memory=memory) as executor:

        def once() -> None:
            error = executor.submit(return_unwritable, size).exception(SECONDS)
            assert isinstance(error, cellmill.WorkerLostError)
            assert (error.function, error.arguments) == ("return_unwritable", str(size))
            assert error.signal in (signal.SIGSEGV, signal.SIGBUS)
            others = [executor.submit(bytes, size) for _ in range(2)]
            assert all(f.result(SECONDS) == bytes(size) for f in others)
            # each worker that has written to a file keeps that, the new one, too
            assert executor.run_on_workers(functools.partial(bytes, size)) == [bytes(size)] * 2

        once()
        before = census.take(executor, looks=3)
        once()
        assert not census.leaks(before, census.take(executor, looks=3))


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["block", "file"])
def test_killed_from_outside_while_it_writes(how: str) -> None:
    """At any moment of it, again and again: each result is whole, or its task is lost by name."""
    size = 16 * MB
    lost = 0
    with Executor(2, memory=0 if how == "block" else 4 * MB) as executor:
        for delay in range(0, 30, 5):
            pids = [w.pid for w in executor.workers() if w.pid]  # 0: it is being started
            future = executor.submit(bytes, size)
            timer = threading.Timer(delay / 2000, kill, (pids,))
            timer.start()
            error = future.exception(SECONDS)
            timer.join()
            if error is None:
                assert future.result() == bytes(size)
            else:
                assert isinstance(error, cellmill.WorkerLostError)
                assert error.function == "bytes"
                lost += 1
        assert executor.submit(tasks.double, 1).result(SECONDS) == 2
        stats = executor.stats()
        assert stats.failed == lost
        assert stats.done == stats.submitted


def _mapped() -> int:
    """Segments and arenas of workers that this process maps."""
    with open("/proc/self/maps") as file:
        return sum("memfd:cellmill" in line for line in file)


@pytest.mark.parametrize("retries", [0, 3])
def test_a_poison_task_and_a_pool_of_one(retries: int) -> None:
    with Executor(1) as executor:
        before = [executor.submit(tasks.double, i) for i in range(20)]
        poison = executor.options(retries=retries).submit(tasks.die, "SIGSEGV")
        after = [executor.submit(tasks.double, i) for i in range(20)]
        assert isinstance(poison.exception(SECONDS), cellmill.WorkerLostError)
        assert [f.result(SECONDS) for f in before + after] == [2 * i for i in range(20)] * 2
        assert executor._backend.restarts == retries + 1


def test_only_the_worker_that_died_counts_as_restarted() -> None:
    with Executor(2) as executor:
        executor.run_on_workers(int)  # both are there
        with pytest.raises(cellmill.WorkerLostError):
            executor.submit(tasks.die, "SIGKILL").result(SECONDS)
        (end,) = executor._backend.worker_ends()
        executor.run_on_workers(int)
        assert {w.index: w.restarts for w in executor.workers()} == {0: 0, 1: 0} | {end.index: 1}
        assert executor._backend.restarts == 1


def test_a_task_that_leaves_with_success_is_lost_all_the_same(fresh: Executor) -> None:
    error = fresh.submit(os._exit, 0).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert (error.signal, error.exitcode) == (None, 0)
    (end,) = fresh._backend.worker_ends()
    assert end.how.startswith("ended by itself with exit code 0")
    assert fresh.submit(tasks.double, 2).result(SECONDS) == 4


def leave_running() -> int:
    """Start a program that outlives its task."""
    return subprocess.Popen(["sleep", "600"], start_new_session=False).pid


def slow_to_stop(folder: str) -> None:
    """Take a while for it, as code that writes its state does; not so long that its worker is ended."""
    try:
        Path(folder, "begun").touch()
        time.sleep(600)
    except KeyboardInterrupt:
        time.sleep(0.1)
        raise


def test_stopping_a_task_leaves_what_earlier_ones_started(tmp_path: Path) -> None:
    with Executor(1) as executor:
        program = executor.submit(leave_running).result(SECONDS)
        while time.monotonic_ns() < started_ns(program):  # Linux tells starts in ticks of 10 ms
            os.sched_yield()
        held = executor.submit(slow_to_stop, str(tmp_path))
        while not (tmp_path / "begun").exists():
            os.sched_yield()
        assert held.cancel(force=True)
        assert executor.submit(tasks.double, 2).result(SECONDS) == 4
        state = Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[0]
        assert state != "Z"
        os.kill(program, signal.SIGKILL)
