"""Where a worker may die: at each step only the task it was at is lost, and what it held comes back."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.core import tasks
from tests.core.helpers import SECONDS

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


def run_out_of_memory() -> None:
    """As native code does that does not look at what malloc gave it."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 64 * MB, resource.RLIM_INFINITY))
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    ctypes.memset(libc.malloc(ctypes.c_size_t(1 << 40)) or 0, 1, MB)


@pytest.mark.parametrize(
    ("function", "arguments", "number"),
    [
        (return_killer, (os.getpid(),), signal.SIGKILL),
        (die_holding, (bytes(4 * MB), bytes(MB)), signal.SIGKILL),
        (run_out_of_memory, (), signal.SIGSEGV),
    ],
)
def test_only_that_task_is_lost(
    fresh: Executor, function: Callable[..., Any], arguments: tuple[Any, ...], number: int
) -> None:
    others = [fresh.submit(tasks.double, i) for i in range(50)]
    error = fresh.submit(function, *arguments).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert (error.function, error.signal, error.exitcode) == (function.__name__, number, None)
    assert error.task
    assert len(error.arguments) < 500
    assert "retries=1" in str(error)
    assert [f.result(SECONDS) for f in others] == [2 * i for i in range(50)]


def test_each_error_tells_of_its_own_worker(fresh: Executor) -> None:
    for _ in range(10):
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
    """Descriptors stand for regions: each worker's arena is one until its last reference goes."""

    def once() -> None:
        made = fresh.submit(bytes, 4 * MB)
        assert len(made.result(SECONDS)) == 4 * MB
        error = fresh.submit(die_holding, bytes(4 * MB), made).exception(SECONDS)
        assert isinstance(error, cellmill.WorkerLostError)
        fresh.run_on_workers(os.getpid)

    once()
    before = _mapped()
    for _ in range(4):
        once()
    for _ in range(1500):
        if _mapped() <= before:
            break
        threading.Event().wait(0.02)
    assert _mapped() <= before


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
        assert executor._backend.pool.restarts == retries + 1  # type: ignore[attr-defined]
