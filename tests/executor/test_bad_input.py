"""What users get wrong: a clear error for the right task, no deadlock, and a pool that goes on as before."""

from __future__ import annotations

import asyncio
import itertools
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, run_registry
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

FAR = 10**30


@pytest.fixture(autouse=True)
def cell() -> Iterator[None]:
    """Each test is a cell of its own: the runs it began end with it."""
    yield
    run_registry.bump_epoch()


def test_an_executor_among_what_a_task_is_given_is_named(pool: Executor) -> None:
    class Simulation:
        def __init__(self) -> None:
            self.ex = pool

        def work(self, x: int) -> int:
            return x

    said = "TypeError: an executor stays in its process"
    with pytest.raises(cellmill.PayloadError, match=f"in it, .ex is a Executor. {said}"):
        list(pool.map(Simulation().work, range(3)))
    with pytest.raises(cellmill.PayloadError, match=f"refers to 'pool', a Executor. {said}"):
        pool.submit(lambda: pool.submit(abs, -1).result())
    assert pool.submit(lambda: cellmill.default_executor().submit(abs, -1).result()).result(SECONDS) == 1


# -- options


@pytest.mark.parametrize(
    "priority", [1000, -1000, 101, -101, FAR, "high", 2.5, None, True, float("nan"), [1]]
)
def test_absurd_priorities(ex: Executor, priority: Any) -> None:
    with pytest.raises(cellmill.UsageError, match="priority must be a whole number from -100 to 100, not "):
        ex.options(priority=priority)
    with pytest.raises(cellmill.UsageError, match="priority must be"):
        cellmill.parallel(priority=priority)(tasks.double)
    assert ex.submit(tasks.double, 1).result() == 2


@pytest.mark.parametrize("priority", [-100, -1, 0, 100])
def test_negative_priorities_are_priorities(ex: Executor, priority: int) -> None:
    assert ex.options(priority=priority).submit(tasks.double, 1).result() == 2
    assert list(ex.options(priority=priority).map(tasks.double, range(3))) == [0, 2, 4]


@pytest.mark.parametrize("after", [5, None, "ab", [5], [None]])
def test_after_what_is_no_future(ex: Executor, after: Any) -> None:
    with pytest.raises(cellmill.UsageError, match="after takes futures, not "):
        ex.options(after=after)


@pytest.mark.parametrize("limit", [1e30, float("inf"), FAR])
def test_a_time_limit_that_never_comes(ex: Executor, limit: float) -> None:
    assert ex.options(timeout=limit).submit(tasks.double, 1).result() == 2


# -- cycles: a call can only name futures that exist, and is packed there and then


def test_an_argument_that_would_come_to_hold_its_own_future(ex: Executor) -> None:
    box: list[Any] = []
    future = ex.submit(len, box)
    box.append(future)
    assert future.result() == 0
    assert ex.submit(tasks.same, box).result() == [0]


def test_the_same_future_as_argument_and_after(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder, 7)
    both = pool.options(after=[held, held]).submit(tasks.add, held, held)
    gate.release()
    assert both.result() == 14


def test_a_callback_waits_for_a_later_task(pool: Executor, gate: Gate) -> None:
    seen: list[int] = []
    first = pool.submit(tasks.hold, gate.folder, 3)
    later = pool.submit(tasks.double, first)
    first.add_done_callback(lambda _: seen.append(later.result(30)))
    gate.release()
    assert later.result(30) == 6
    while not seen:
        pool.submit(tasks.double, 1).result()
    assert seen == [6]


def test_a_future_does_not_travel_into_a_task_that_would_wait_for_it(pool: Executor, gate: Gate) -> None:
    later = pool.submit(tasks.hold, gate.folder)
    wait = later.result

    def wait_for_later() -> object:
        return wait(30)

    with pytest.raises(cellmill.PayloadError, match="cannot be sent"):
        pool.submit(wait_for_later)
    gate.release()
    assert later.result() is None


# -- failed and cancelled inputs

SHAPES: list[Callable[[Any], Any]] = [
    lambda f: f,
    lambda f: [f],
    lambda f: {"a": [1, (f, {"b": f})]},
    lambda f: [[[f]], f],
]


def of_kind(pool: Executor, kind: str, gate: Gate) -> tuple[Any, type[BaseException], Callable[[], Any]]:
    """A future that fails or is cancelled, the first cause that its dependents tell, and what makes it happen."""
    if kind == "failed":
        return pool.submit(tasks.fail, "first cause"), LookupError, lambda: None
    held = pool.submit(tasks.hold, gate.folder)
    gate.wait_started()
    if kind == "fails later":
        return pool.options(after=[held]).submit(tasks.fail, "first cause"), LookupError, gate.release
    later = pool.options(after=[held]).submit(tasks.double, 1)
    if kind == "cancelled":
        assert later.cancel()
        return later, CancelledError, gate.release
    return later, CancelledError, lambda: later.cancel() and gate.release()


@pytest.mark.parametrize("kind", ["failed", "fails later", "cancelled", "cancelled later"])
def test_inputs_that_never_come(pool: Executor, gate: Gate, kind: str) -> None:
    bad, first_cause, happen = of_kind(pool, kind, gate)
    if kind == "failed":
        bad.exception()
    futures = [pool.submit(tasks.same, shape(bad)) for shape in SHAPES]
    futures.append(pool.options(after=[bad]).submit(tasks.double, 1))
    left, right = pool.submit(tasks.same, bad), pool.submit(tasks.double, bad)
    futures.append(pool.submit(tasks.add, left, right))
    mapped = pool.map(tasks.double, [1, bad, 3], return_exceptions=True)
    happen()
    one, error, three = mapped
    assert (one, three) == (2, 6)
    for failure in [error, *(future.exception(30) for future in futures)]:
        assert isinstance(failure, cellmill.DependencyError), failure
        assert type(failure.__cause__) is first_cause
    assert pool.submit(tasks.double, 1).result() == 2
    assert pool.stats().waiting == 0


def test_a_chain_of_a_thousand_whose_first_fails(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder)
    last = first = pool.options(after=[held]).submit(tasks.fail, "first cause")
    chain = [last := pool.submit(tasks.same, [last]) for _ in range(1000)]
    gate.release()
    for future in chain:
        error = future.exception(30)
        assert isinstance(error, cellmill.DependencyError)
        assert error.__cause__ is first.exception()
        assert "first cause" in str(error)
        assert len(str(error)) < 200  # and not what all before it said


# -- inputs of maps that raise


def numbers_then_error(count: int) -> Iterator[int]:
    yield from range(count)
    raise RuntimeError("half way")


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("count", [0, 1, 5, 4096, 500_000])
def test_a_generator_that_raises_half_way(pool: Executor, ordered: bool, count: int) -> None:
    before = len(run_registry.active_runs())
    results: list[int] = []
    with pytest.raises(RuntimeError, match="half way") as caught:
        results.extend(pool.map(tasks.double, numbers_then_error(count), ordered=ordered))
    assert (results if ordered else sorted(results)) == [2 * i for i in range(count)]
    assert any("numbers_then_error" in line for line in traceback.format_exception(caught.value))
    assert caught.value.__cause__ is None
    assert len(run_registry.active_runs()) == before
    stats = pool.stats()
    assert stats.waiting == stats.queued == 0
    assert pool.submit(tasks.double, 1).result() == 2


@pytest.mark.parametrize("ordered", [True, False])
def test_a_slow_generator_that_raises(pool: Executor, gate: Gate, ordered: bool) -> None:
    """Each element waits for the result of the one before, so none is taken from it ahead."""

    def slow() -> Iterator[int]:
        for i in range(5):
            assert pool.submit(tasks.double, i).result() == 2 * i
            yield i
        raise RuntimeError("half way")

    results: list[int] = []
    with pytest.raises(RuntimeError, match="half way"):
        results.extend(pool.map(tasks.double, slow(), ordered=ordered))
    taken = pool.map(tasks.double, slow(), ordered=ordered)
    assert sorted(next(taken) for _ in range(5)) == [0, 2, 4, 6, 8]
    with pytest.raises(RuntimeError, match="half way"):
        next(taken)


def test_a_generator_that_raises_after_an_element_that_fails(pool: Executor) -> None:
    """The first trouble in order is the one that is told."""

    def items() -> Iterator[Any]:
        yield from [1, 2, "x"]
        raise RuntimeError("half way")

    got: list[int] = []
    with pytest.raises(ValueError, match="x"):
        got.extend(pool.map(int, items()))
    assert got == [1, 2]


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("memo", [False, True])
def test_a_generator_that_ends_the_program_does_so_behind_the_results_before(
    ex: Executor, error: type[BaseException], memo: bool
) -> None:
    def numbers() -> Iterator[int]:
        yield from (1, 2)
        raise error("over")

    found: list[int] = []
    with pytest.raises(error, match="over"):
        found.extend(ex.options(memo=memo).map(lambda x: 2 * x, numbers()))
    assert found == [2, 4]


def test_a_generator_that_raises_is_closed_and_let_go(pool: Executor, tmp_path: Path) -> None:
    closed = tmp_path / "closed"

    def items() -> Iterator[int]:
        try:
            yield from range(100)
        finally:
            closed.touch()

    results = pool.map(tasks.double, items())
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    del results
    assert closed.exists()


@pytest.mark.parametrize("way", ["break", "close", "error", "unread"])
def test_a_generator_ends_where_its_map_is_left(
    ex: Executor, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr("cellmill.backends.taking.LONGEST_SEARCH_S", 0.0)
    ended: list[threading.Thread] = []

    def items() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            ended.append(threading.current_thread())

    if way == "break":
        for _ in ex.map(abs, items(), prefetch=3):
            break
    elif way == "close":
        results = ex.map(abs, items(), prefetch=3)
        next(results)
        results.close()
    elif way == "error":
        results = ex.map(tasks.fail, map(str, items()), prefetch=3)
        with pytest.raises(LookupError, match="0"):
            next(results)
    else:
        with pytest.warns(RuntimeWarning, match="were never read"):
            ex.map(abs, items(), prefetch=3)
    assert ended == [threading.current_thread()]


def test_a_map_that_another_one_reads_ends_with_it(ex: Executor) -> None:
    inner = ex.map(abs, itertools.count(), prefetch=3)
    gone = weakref.ref(inner)
    outer = ex.map(abs, inner, prefetch=1)
    del inner
    assert next(outer) == 0
    outer.close()
    assert gone() is None
