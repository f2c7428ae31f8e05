"""Elements of a chunk that are over do not wait for one that takes long: in processes and in threads."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor, run_registry
from cellmill.errors import PayloadError, WorkerLostError
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

COUNT, WAITS = 12, 8  # this element waits at the gate


@pytest.fixture
def threads() -> Iterator[Executor]:
    with Executor(2, backend="threads") as executor:
        yield executor


def element(number: int, folder: str, give: Callable[[int], Any] = tasks.same) -> Any:
    Path(folder, f"ran-{number}-{os.getpid()}").touch()
    print("this is", number)
    if number == 3:
        raise ValueError("three")
    return tasks.hold(folder, number) if number == WAITS else give(number)


def wanted(values: Iterator[Any]) -> list[Any]:
    return [str(value) if isinstance(value, Exception) else value for value in values]


def mapped(
    executor: Any, gate: Gate, first: int = 0, give: Callable[[int], Any] = tasks.same, **how: Any
) -> Iterator[Any]:
    """The elements from ``first`` on, in one chunk."""
    count = COUNT - first
    results: Iterator[Any] = executor.map(
        element,
        range(first, COUNT),
        [gate.folder] * count,
        [give] * count,
        chunksize=count,
        return_exceptions=True,
        timeout=SECONDS,
        **how,
    )
    return results


EXPECTED = [n if n != 3 else "three" for n in range(COUNT)]


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(("backend", "limit"), [("local", None), ("local", SECONDS), ("threads", None)])
def test_a_consumer_may_decide_how_it_goes_on(
    backend: str, limit: float | None, ordered: bool, gate: Gate, request: pytest.FixtureRequest
) -> None:
    late = request.getfixturevalue("fresh" if backend == "local" else "threads")
    results = mapped(late.options(timeout=limit), gate, ordered=ordered)
    assert wanted(itertools.islice(results, WAITS)) == EXPECTED[:WAITS]
    stats = late.stats()
    counted = (stats.succeeded, stats.failed, stats.running, stats.queued)
    assert counted == (WAITS - 1, 1, 1, COUNT - WAITS - 1)
    gate.release()
    assert wanted(results) == EXPECTED[WAITS:]
    stats = late.stats()
    assert (stats.succeeded, stats.failed, stats.running, stats.queued) == (COUNT - 1, 1, 0, 0)


def test_what_was_sent_does_not_run_again(fresh: Executor, gate: Gate) -> None:
    results = mapped(fresh, gate)
    before = wanted(itertools.islice(results, WAITS))
    (running,) = (worker.pid for worker in fresh.workers() if worker.state == "busy")
    assert running
    os.kill(running, signal.SIGKILL)
    lost, *rest = results
    assert isinstance(lost, WorkerLostError)
    assert before + rest == EXPECTED[:WAITS] + EXPECTED[WAITS + 1 :]
    ran = [int(name.name.split("-")[1]) for name in Path(gate.folder).glob("ran-*")]
    assert sorted(ran) == list(range(COUNT))
    stats = fresh.stats()
    assert (stats.succeeded, stats.failed, stats.lost) == (COUNT - 2, 2, 1)


def test_what_was_sent_before_a_stop_counts(fresh: Executor, gate: Gate) -> None:
    results = mapped(fresh, gate)
    before = wanted(itertools.islice(results, WAITS))
    (run,) = run_registry.runs_of(fresh._backend)
    run.stop()
    rest = list(results)
    assert before == EXPECTED[:WAITS]
    assert [type(error) for error in rest] == [CancelledError] * (COUNT - WAITS)
    stats = fresh.stats()
    assert (stats.succeeded, stats.failed, stats.cancelled) == (WAITS - 1, 1, COUNT - WAITS)


def megabyte(number: int) -> bytes:
    return bytes([number]) * (1 << 20)


def test_large_results(fresh: Executor, gate: Gate) -> None:
    results = mapped(fresh, gate, 4, megabyte)
    assert [next(results) == megabyte(number) for number in range(4, WAITS)] == [True] * 4
    gate.release()
    assert next(results) == WAITS
    assert list(results) == [megabyte(number) for number in range(WAITS + 1, COUNT)]


def generator_at_five(number: int) -> Any:
    return (x for x in ()) if number == 5 else number


def test_a_result_that_cannot_be_sent_fails_alone(fresh: Executor, gate: Gate) -> None:
    results = mapped(fresh, gate, 4, generator_at_five)
    first = list(itertools.islice(results, 4))
    assert isinstance(first[1], PayloadError)
    assert [first[0], *first[2:]] == [4, 6, 7]
    gate.release()
    assert list(results) == [8, 9, 10, 11]


def test_results_that_cannot_be_sent_or_do_not_load_are_counted_as_failures(
    pool: Executor,
) -> None:
    """The worker knows of the first kind when it packs them, the kernel of the second when it unpacks them."""
    before = pool.stats()
    results = list(pool.map(_given, ["", "lock", "load", "lock", ""], chunksize=5, return_exceptions=True))
    assert [type(each).__name__ for each in results] == ["str", *3 * ["PayloadError"], "str"]
    record = run_registry.records()[-1]
    assert (record.submitted, record.succeeded, record.failed) == (5, 2, 3)
    again = pool.options(retries=2).map(_given, ["", "lock"], chunksize=2, return_exceptions=True)
    assert [type(each).__name__ for each in again] == ["str", "PayloadError"]
    record = run_registry.records()[-1]
    assert (record.submitted, record.succeeded, record.failed) == (2, 1, 1)
    single = pool.submit(_given, "load")
    assert isinstance(single.exception(SECONDS), PayloadError)
    stats = pool.stats()
    assert (stats.succeeded - before.succeeded, stats.failed - before.failed) == (3, 5)


def _given(what: str) -> Any:
    return {"lock": tasks.lock, "load": tasks.FailsToLoad}.get(what, str)()
