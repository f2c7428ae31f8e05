"""Workers that die and tasks that run too long: only what they ran is lost, it is named, and the pool goes on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


@pytest.mark.parametrize(
    ("how", "number", "exitcode", "words"),
    [
        ("SIGKILL", signal.SIGKILL, None, "killed by SIGKILL"),
        ("SIGTERM", signal.SIGTERM, None, "killed by SIGTERM"),
        ("segv", signal.SIGSEGV, None, "killed by SIGSEGV: native code"),
        ("SIGABRT", signal.SIGABRT, None, "killed by SIGABRT"),
        ("exit", None, 7, "exit code 7: something called os._exit"),
    ],
)
def test_only_the_culprit_is_lost(
    fresh: Executor, how: str, number: int | None, exitcode: int | None, words: str
) -> None:
    before = [fresh.submit(tasks.double, i) for i in range(20)]
    culprit = fresh.submit(tasks.die, how, {"a": [1]})
    after = [fresh.submit(tasks.double, i) for i in range(20)]
    error = culprit.exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert isinstance(error, BrokenProcessPool)
    assert error.function == "die"
    assert error.arguments == f"{how!r}, {{'a': [1]}}"
    assert (error.signal, error.exitcode) == (number, exitcode)
    assert error.peak_rss is not None
    assert error.peak_rss > 1_000_000
    for text in (words, "die(", repr(how), "Only this task"):
        assert text in str(error)
    assert [f.result(SECONDS) for f in before + after] == [2 * i for i in range(20)] * 2
    assert list(fresh.map(tasks.double, range(100))) == [2 * i for i in range(100)]
    stats = fresh.stats()
    assert (stats.failed, stats.succeeded, stats.done) == (1, 140, stats.submitted)


def test_lost_again_and_again(fresh: Executor) -> None:
    futures = [
        fresh.submit(tasks.die, "SIGKILL") if i % 10 == 0 else fresh.submit(tasks.double, i)
        for i in range(100)
    ]
    errors = [f.exception(SECONDS) for f in futures]
    assert [i for i, e in enumerate(errors) if e] == list(range(0, 100, 10))
    assert {type(e) for e in errors if e} == {cellmill.WorkerLostError}


def test_killed_from_outside_while_idle(fresh: Executor) -> None:
    for pid in fresh.run_on_workers(os.getpid):
        os.kill(pid, signal.SIGKILL)
    assert [f.result(SECONDS) for f in [fresh.submit(tasks.double, i) for i in range(100)]] == list(
        range(0, 200, 2)
    )


def test_killed_from_outside_while_busy(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    queued = [fresh.submit(tasks.double, i) for i in range(100)]
    gate.wait_started(2)
    for worker in fresh.workers():
        os.kill(worker.pid, signal.SIGKILL)
    assert all(isinstance(h.exception(SECONDS), cellmill.WorkerLostError) for h in held)
    assert [f.result(SECONDS) for f in queued] == [2 * i for i in range(100)]


def test_stopped_worker_goes_on(fresh: Executor) -> None:
    pids = fresh.run_on_workers(os.getpid)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    futures = [fresh.submit(tasks.pid) for _ in range(20)]
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    assert {f.result(SECONDS) for f in futures} <= set(pids)


def test_retried_elsewhere(fresh: Executor, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def die_once(x: int) -> int:
        if tasks.count_call(folder) == 1:
            tasks.die("SIGKILL")
        return x

    assert fresh.options(retries=1).submit(die_once, 5).result(SECONDS) == 5


def test_retries_of_a_killer_run_out(fresh: Executor) -> None:
    error = fresh.options(retries=2).submit(tasks.die, "SIGKILL").exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2


@pytest.mark.parametrize(
    ("ordered", "chunksize"),
    [
        *((True, size) for size in (None, 1, 7, 100)),
        (False, 7),
        *(pytest.param(False, size, marks=pytest.mark.long) for size in (None, 1, 100)),
    ],
)
def test_in_the_middle_of_a_map(fresh: Executor, chunksize: int | None, ordered: bool) -> None:
    results = list(
        fresh.map(
            tasks.die_at, range(100), [41] * 100, chunksize=chunksize, ordered=ordered, return_exceptions=True
        )
    )
    errors = [r for r in results if isinstance(r, Exception)]
    values = [r for r in results if isinstance(r, int)]
    assert Counter(values) == Counter(i for i in range(100) if i != 41)
    assert len(errors) == 1
    assert isinstance(errors[0], cellmill.WorkerLostError)
    assert "die_at" in str(errors[0])
    assert "41" in errors[0].arguments
    if ordered:
        assert results[41] is errors[0]
    stats = fresh.stats()
    assert (stats.submitted, stats.succeeded, stats.failed) == (100, 99, 1)


def test_every_element_ends_once_when_killed_from_outside(fresh: Executor) -> None:
    def slow(x: int) -> int:
        total = 0
        for i in range(20_000):
            total += i
        return x

    results = fresh.map(slow, range(600), return_exceptions=True)
    found: list[Any] = [next(results) for _ in range(50)]
    for worker in fresh.workers():
        os.kill(worker.pid, signal.SIGKILL)
    found += results
    assert len(found) == 600
    lost = [r for r in found if isinstance(r, cellmill.WorkerLostError)]
    assert len(lost) <= 2
    assert all(r == i for i, r in enumerate(found) if isinstance(r, int))
    assert len(lost) + sum(isinstance(r, int) for r in found) == 600
    stats = fresh.stats()
    assert (stats.submitted, stats.failed, stats.done) == (600, len(lost), 600)


def test_dependents_of_a_lost_task(fresh: Executor) -> None:
    lost = fresh.submit(tasks.die, "SIGKILL")
    dependent = fresh.submit(tasks.double, lost)
    error = dependent.exception(SECONDS)
    assert isinstance(error, cellmill.DependencyError)
    assert isinstance(error.__cause__, cellmill.WorkerLostError)


def test_arguments_that_are_results_of_other_tasks(fresh: Executor) -> None:
    how = fresh.submit(tasks.same, 7)
    error = fresh.submit(tasks.die, "SIGKILL", how, [how, 8]).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.arguments in (
        "'SIGKILL', <input 1>, [<input 1>, 8]",
        "'SIGKILL', same(7), [same(7), 8]",  # the call whose result it is, where that is still known
        "'SIGKILL', 7, [7, 8]",  # that call had ended before this one was submitted
    )


def test_result_of_a_dead_worker_feeds_dependents(fresh: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    made = fresh.submit(numpy.ones, 200_000)
    pid = fresh.submit(tasks.pid, made).result()
    os.kill(pid, signal.SIGKILL)
    assert fresh.submit(numpy.sum, made).result(SECONDS) == 200_000
    assert made.result().sum() == 200_000


def test_a_killer_while_unpickling(fresh: Executor) -> None:
    error = fresh.submit(tasks.double, DiesWhenLoaded()).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert "double" in str(error)
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2


class DiesWhenLoaded:
    def __reduce__(self) -> Any:
        return tasks.die_unless, (os.getpid(),)


def test_what_did_not_run_in_a_broken_pool_has_failed() -> None:
    """Also what was on its way to a worker: it is not cancelled."""
    executor = Executor(2, initializer=os._exit, initargs=(3,))
    try:
        single = [executor.submit(tasks.double, i) for i in range(5)]
        results = list(executor.map(tasks.double, range(10), return_exceptions=True))
        errors = [*results, *(future.exception(SECONDS) for future in single)]
    except cellmill.WorkerLostError:
        pytest.skip("the workers died before the calls")
    finally:
        executor.shutdown()
    assert {(type(error), "the task did not run: " in str(error)) for error in errors} == {
        (cellmill.WorkerLostError, True)
    }
    stats = executor.stats()
    assert (stats.failed, stats.lost, stats.cancelled) == (15, 0, 0)
    record = next(run for run in reversed(cellmill.runs()) if run.submitted == 10)
    assert (record.failed, record.cancelled) == (10, 0)


# -- limits of time


def test_time_limit(fresh: Executor) -> None:
    late = fresh.options(timeout=0.5).submit(time.sleep, 60)
    others = [fresh.submit(tasks.double, i) for i in range(50)]
    error = late.exception(SECONDS)
    assert isinstance(error, cellmill.TaskTimeoutError)
    assert isinstance(error, TimeoutError)
    assert "sleep" in str(error)
    assert [f.result(SECONDS) for f in others] == [2 * i for i in range(50)]
    assert [f.result(SECONDS) for f in [fresh.submit(tasks.double, i) for i in range(50)]] == list(
        range(0, 100, 2)
    )


def test_time_limit_of_a_task_that_hears_nothing(fresh: Executor, gate: Gate) -> None:
    """Blocked signals, like native code that does not yield."""

    def deaf() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        tasks.hold(gate_folder)

    gate_folder = gate.folder
    assert isinstance(fresh.options(timeout=0.1).submit(deaf).exception(SECONDS), cellmill.TaskTimeoutError)
    assert fresh.submit(tasks.double, 1).result(SECONDS) == 2


def test_time_limit_that_is_kept(pool: Executor) -> None:
    assert pool.options(timeout=60).submit(tasks.double, 2).result() == 4
    assert list(pool.options(timeout=60).map(tasks.double, range(20))) == list(range(0, 40, 2))


def test_time_limit_of_an_element(fresh: Executor) -> None:
    results = list(fresh.options(timeout=0.5).map(time.sleep, [0, 60, 0], return_exceptions=True))
    assert [results[0], results[2]] == [None, None]
    assert isinstance(results[1], cellmill.TaskTimeoutError)


def test_time_limit_does_not_count_waiting(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    limited = fresh.options(timeout=0.5).submit(tasks.spin, 0)
    with pytest.raises(TimeoutError):
        held[0].result(0.8)
    gate.release(2)
    assert limited.result(SECONDS) == "ran"


def test_time_limit_and_retries(fresh: Executor, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def late_once(_: int) -> None:
        time.sleep(60 if tasks.count_call(folder) == 1 else 0)

    assert list(fresh.options(timeout=0.5, retries=1).map(late_once, [0])) == [None]


def test_recursion_error_is_the_tasks_own(pool: Executor) -> None:
    def deep() -> None:
        deep()

    assert isinstance(pool.submit(deep).exception(), RecursionError)
    assert pool.submit(sys.getrecursionlimit).result() > 0


def test_memory_error_is_the_tasks_own(pool: Executor) -> None:
    assert isinstance(pool.submit(bytearray, 1 << 60).exception(), MemoryError)
