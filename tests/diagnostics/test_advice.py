"""What an error advises is done here, and helps; what it does not advise would have done harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cellmill
from cellmill import Executor, PayloadError, TaskTimeoutError, UsageError, WorkerLostError
from tests.support import tasks
from tests.support.helpers import SECONDS

TABLE = np.zeros(1000)


@cellmill.per_worker
def own_lock() -> Any:
    return threading.Lock()


def uses_own_lock(x: int) -> int:
    with own_lock():
        return x


class Odd:
    """Cannot be made from what it says."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __reduce__(self) -> Any:
        return type(self), ()


class Sound(Odd):
    def __reduce__(self) -> Any:
        return type(self), (self.size,)


def read_no_memory() -> None:
    import ctypes

    ctypes.string_at(0)


def read_no_memory_and_tell() -> None:
    import faulthandler

    faulthandler.enable()
    read_no_memory()


def write_table(x: int) -> float:
    TABLE[0] = x
    return float(TABLE.sum())


def write_copy(x: int) -> float:
    table = TABLE.copy()
    table[0] = x
    return float(table.sum())


def _error(call: Callable[[], Any], kind: type[BaseException]) -> str:
    with pytest.raises(kind) as caught:
        call()
    notes = getattr(caught.value, "__notes__", [])
    return " ".join([str(caught.value), *notes])


def test_what_stays_in_one_process(pool: Executor) -> None:
    lock = threading.Lock()

    def uses_lock(x: int) -> int:
        with lock:
            return x

    words = _error(lambda: pool.submit(uses_lock, 3), PayloadError)
    assert "it refers to 'lock', a lock" in words
    assert "manager.Lock()" in words
    assert pool.submit(uses_own_lock, 3).result(SECONDS) == 3
    words = _error(
        lambda: pool.submit(tasks.generate, 3).result(SECONDS),
        PayloadError,
    )
    assert "a generator, cannot be sent back" in words
    assert "Return data" in words
    assert "list(...)" in words

    async def later(x: int) -> int:
        return x

    words = _error(lambda: pool.submit(later, 3).result(SECONDS), PayloadError)
    assert "a coroutine, cannot be sent back" in words
    assert "asyncio.run" in words
    assert pool.submit(list, range(3)).result(SECONDS) == [0, 1, 2]
    words = _error(lambda: list(pool.map(id, [1, threading.Lock()])), PayloadError)
    assert "in element 1 of a map: id(<lock>)" in words


def test_a_result_that_cannot_be_made_here(pool: Executor) -> None:
    words = _error(lambda: pool.submit(Odd, 3).result(SECONDS), PayloadError)
    assert "its __reduce__ sound?" in words
    assert pool.submit(Sound, 3).result(SECONDS).size == 3


def test_a_task_that_ends_its_process(pool: Executor) -> None:
    """The advice to call it here would have ended the notebook."""
    words = _error(lambda: pool.submit(os._exit, 4).result(SECONDS), WorkerLostError)
    assert "called os._exit, or exit() of C" in words
    assert "Run again, or called here, it would do the same" in words
    assert "retries=1 runs" not in words
    with pytest.raises(WorkerLostError):
        pool.options(retries=1).submit(os._exit, 4).result(SECONDS)
    with pytest.raises(SystemExit):
        pool.submit(sys.exit, 4).result(SECONDS)
    assert subprocess.run([sys.executable, "-c", "import os; os._exit(4)"], check=False).returncode == 4


def test_native_code_that_fails(pool: Executor) -> None:
    words = _error(lambda: pool.submit(read_no_memory).result(SECONDS), WorkerLostError)
    assert "was killed by SIGSEGV" in words
    assert "`import faulthandler; faulthandler.enable()`" in words
    words = _error(lambda: pool.submit(read_no_memory_and_tell).result(SECONDS), WorkerLostError)
    assert "Segmentation fault" in words
    assert "in read_no_memory" in words
    code = "import ctypes; ctypes.string_at(0)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGSEGV


def test_a_worker_that_was_killed(pool: Executor, tmp_path: Path) -> None:
    words = _error(lambda: pool.submit(tasks.die, "SIGKILL").result(SECONDS), WorkerLostError)
    assert "If memory was short: fewer workers" in words
    assert "retries=1 runs such tasks again" in words
    for words in (
        _error(lambda: pool.options(retries=2).submit(tasks.die, "SIGKILL").result(SECONDS), WorkerLostError),
        _error(lambda: list(pool.options(retries=2).map(tasks.die, ["SIGKILL"])), WorkerLostError),
    ):
        assert "The task was tried 3 times." in words
        assert "retries=" not in words
    words = _error(
        lambda: pool.options(retries=1, timeout=0.05).submit(time.sleep, SECONDS).result(SECONDS),
        TaskTimeoutError,
    )
    assert "or split the work. The task was tried 2 times." in words
    once = str(tmp_path / "once")
    assert pool.options(retries=1).submit(tasks.killed_once, once).result(SECONDS) == "here"
    assert pool.options(memory="1GB").submit(abs, -1).result(SECONDS) == 1


@pytest.fixture
def small() -> Iterator[Executor]:
    with Executor(1, memory_per_worker="200MB") as executor:
        yield executor


def test_a_worker_that_took_too_much(small: Executor) -> None:
    words = _error(lambda: small.submit(tasks.hoard, 250, SECONDS).result(SECONDS), WorkerLostError)
    assert "more than memory_per_worker, 200 MB" in words
    assert "run again it would need as much" in words
    assert "retries" not in words
    assert small.submit(tasks.hoard, 10).result(SECONDS) == 10 << 20
    with Executor(1, memory_per_worker="3GB") as large:
        assert large.submit(tasks.hoard, 250).result(SECONDS) == 250 << 20


def test_a_time_limit(pool: Executor) -> None:
    words = _error(
        lambda: pool.options(timeout=0.05).submit(time.sleep, 60).result(SECONDS), TaskTimeoutError
    )
    assert "Raise timeout=" in words
    assert pool.options(timeout=SECONDS).submit(time.sleep, 0.06).result(SECONDS) is None


def test_a_resource_that_does_not_exist(pool: Executor) -> None:
    words = _error(lambda: pool.options(resources={"gpu": 1}).submit(abs, -1), UsageError)
    assert "Executor(resources={'gpu': 2})" in words
    with Executor(1, resources={"gpu": 2}) as executor:
        assert executor.options(resources={"gpu": 1}).submit(abs, -1).result(SECONDS) == 1


def test_a_write_to_what_tasks_have_in_common(pool: Executor) -> None:
    words = _error(lambda: pool.submit(write_table, 3).result(SECONDS), ValueError)
    assert "write to a copy (.copy())" in words
    assert pool.submit(write_copy, 3).result(SECONDS) == 3


def test_words_that_are_nearly_right(pool: Executor) -> None:
    double = cellmill.parallel(executor=pool)(tasks.double)
    words = _error(lambda: double.options(tiemout=3), UsageError)
    assert "unknown option 'tiemout'; did you mean 'timeout'?" in words
    assert double.options(timeout=SECONDS)(4).result(SECONDS) == 8
    words = _error(lambda: pool.options(retrys=1), UsageError)
    assert "did you mean 'retries'?" in words
    words = _error(lambda: double.map([4], chunk_size=2), TypeError)
    assert words == "double() got an unexpected keyword argument 'chunk_size'; did you mean 'chunksize'?"
    assert list(double.map([4], chunksize=2)) == [8]
    assert "did you mean 'timeout'?" in _error(lambda: pool.map(tasks.double, [4], timout=2), TypeError)
    words = _error(lambda: Executor(max_worker=1), TypeError)
    assert "Did you mean 'max_workers'?" in words
    words = _error(lambda: Executor(1, initialiser=abs), TypeError)
    assert "Did you mean 'initializer'?" in words


def test_the_future_in_the_place_of_its_value(pool: Executor) -> None:
    double = cellmill.parallel(executor=pool)(tasks.double)
    words = _error(lambda: bool(double(4)), TypeError)
    assert "`f(x).result()`" in words
    assert bool(double(4).result(SECONDS)) is True


def test_why_a_paused_task_waits(pool: Executor) -> None:
    pool.pause()
    future = pool.submit(abs, -1)
    try:
        assert "`%cellmill resume`" in cellmill.why(future)
    finally:
        pool.resume()
    assert future.result(SECONDS) == 1
