"""`map`: order, chunks, limits of time, errors in their places, inputs of every kind."""

from __future__ import annotations

import gc
import itertools
import operator
import threading
import time
import warnings
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, cast

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.backends.scheduled.arrivals import Arrivals
from cellmill.backends.scheduled.mapping import MapResults
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


@pytest.mark.parametrize("chunksize", [None, 1, 3, 7, 1000])
@pytest.mark.parametrize("ordered", [True, False])
def test_like_the_builtin(ex: Executor, chunksize: int | None, ordered: bool) -> None:
    results = list(ex.map(tasks.double, range(300), chunksize=chunksize, ordered=ordered))
    assert (results if ordered else sorted(results)) == list(map(tasks.double, range(300)))


def test_several_inputs_stop_with_the_shortest(ex: Executor) -> None:
    assert list(ex.map(pow, range(10), [2, 3, 1], itertools.count(1))) == list(
        map(pow, range(10), [2, 3, 1], itertools.count(1))
    )


@pytest.mark.parametrize("empty", [[], (), iter(()), {}, range(0)])
def test_empty(ex: Executor, empty: object) -> None:
    assert list(ex.map(tasks.double, empty)) == []  # type: ignore[call-overload]


def test_runs_without_being_read(pool: Executor, gate: Gate) -> None:
    results = pool.map(tasks.hold, [gate.folder] * 2, ["a", "b"])
    gate.wait_started(2)
    gate.release(2)
    assert sorted(results) == ["a", "b"]


def test_no_inputs_is_an_error(ex: Executor) -> None:
    with pytest.raises(cellmill.UsageError, match="at least one iterable"):
        ex.map(tasks.double)


def test_not_iterable(ex: Executor) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        ex.map(tasks.double, 5)  # type: ignore[arg-type]


@pytest.mark.parametrize("chunksize", [0, -1, 1.5, "2"])
def test_wrong_chunksize(ex: Executor, chunksize: object) -> None:
    with pytest.raises(cellmill.UsageError, match="chunksize"):
        ex.map(tasks.double, [1], chunksize=chunksize)  # type: ignore[arg-type]


@pytest.mark.parametrize("chunksize", [None, 2])
def test_error_in_its_place(ex: Executor, chunksize: int | None) -> None:
    results = ex.map(tasks.half_of_even, [0, 2, 4, 5, 6], chunksize=chunksize)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="5 is odd"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


@pytest.mark.parametrize("ordered", [True, False])
def test_return_exceptions(ex: Executor, ordered: bool) -> None:
    results = list(ex.map(tasks.half_of_even, range(100), return_exceptions=True, ordered=ordered))
    errors = [r for r in results if isinstance(r, ValueError)]
    assert sorted(r for r in results if isinstance(r, int)) == list(range(50))
    assert len(errors) == 50
    if ordered:
        assert [str(r) if isinstance(r, ValueError) else r for r in results[:4]] == [
            0,
            "1 is odd",
            1,
            "3 is odd",
        ]


@pytest.mark.parametrize("exception", [StopIteration, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_exceptions_that_mean_something_to_iterators(pool: Executor, exception: type[BaseException]) -> None:
    def misbehave(x: int) -> int:
        if x == 1:
            raise exception
        return x

    first, second, third = pool.map(misbehave, range(3), return_exceptions=True)
    assert (first, third) == (0, 2)
    assert isinstance(second, RuntimeError if exception is StopIteration else exception)


def test_timeout(pool: Executor, gate: Gate) -> None:
    results = pool.map(tasks.hold, [gate.folder], timeout=0.05)
    with pytest.raises(TimeoutError):
        next(results)
    gate.release()


def test_timeout_gives_what_came_first(pool: Executor, gate: Gate) -> None:
    def run(folder: str | None) -> int:
        return tasks.hold(folder, 1) if folder else 0

    results = pool.map(run, [None, gate.folder], timeout=0.5, chunksize=1)
    assert next(results) == 0
    with pytest.raises(TimeoutError):
        next(results)
    gate.release()


def test_unordered_yields_what_is_ready(pool: Executor, gate: Gate) -> None:
    def run(x: int, folder: str) -> int:
        return tasks.hold(folder, x) if x == 0 else x

    results = pool.map(run, range(4), [gate.folder] * 4, chunksize=1, ordered=False)
    assert sorted(next(results) for _ in range(3)) == [1, 2, 3]
    gate.release()
    assert list(results) == [0]


def _numbers_until(end: int) -> Iterator[int]:
    yield from range(end)
    raise OSError("the input broke")


@pytest.mark.parametrize("chunksize", [None, 5])
def test_input_that_raises_half_way(pool: Executor, chunksize: int | None) -> None:
    results = pool.map(tasks.double, _numbers_until(12), chunksize=chunksize)
    assert [next(results) for _ in range(12)] == [2 * i for i in range(12)]
    with pytest.raises(OSError, match="the input broke"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


def test_input_that_raises_half_way_inline(inline: Executor) -> None:
    results = inline.map(tasks.double, _numbers_until(2))
    assert [next(results), next(results)] == [0, 2]
    with pytest.raises(OSError, match="the input broke"):
        next(results)


def test_input_that_raises_at_once(ex: Executor) -> None:
    results = ex.map(tasks.double, _numbers_until(0))
    with pytest.raises(OSError, match="the input broke"):
        next(results)


def test_a_million_from_a_generator(pool: Executor) -> None:
    before = pool.stats()
    results = pool.map(abs, (i for i in range(1_000_000)))
    assert all(map(operator.eq, results, range(1_000_000)))
    assert next(results, "end") == "end"
    after = pool.stats()
    assert after.submitted - before.submitted == after.succeeded - before.succeeded == 1_000_000
    assert after.done == after.submitted


def test_endless_input_is_taken_in_part(pool: Executor) -> None:
    taken = itertools.count()
    results = pool.map(tasks.double, taken)
    assert [next(results) for _ in range(5)] == [0, 2, 4, 6, 8]
    del results
    assert next(taken) < 2_000_000


def test_results_of_a_slow_endless_input_come_as_it_gives(pool: Executor) -> None:
    """Fast elements of a slow input: it is not read far ahead of results that are there."""
    taken, most = 0, 0

    def one_by_one() -> Iterator[int]:
        nonlocal taken
        for taken in range(20_000):
            end = time.perf_counter() + 0.001
            while time.perf_counter() < end:
                pass
            yield taken

    results = pool.map(tasks.double, one_by_one())
    begun = taken
    for x in range(250):
        assert next(results) == 2 * x
        most = max(most, taken - x)
    assert begun < 10_000
    assert most <= begun + 5_000  # of 20,000: a machine under load may give a worker no time for seconds
    results.close()


def test_a_run_has_ended_before_its_last_result_is_given(
    pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive, ended = Arrivals.receive, []

    def look(self: Arrivals, keys: Any, values: list[Any], *rest: Any) -> None:
        if "98765" in str(getattr(values[0], "error", values[0])):  # else it is a map of another test
            ended.append(cellmill.runs()[-1].finished)
        receive(self, keys, values, *rest)

    monkeypatch.setattr(Arrivals, "receive", look)
    list(pool.map(abs, [-98765]))
    list(pool.map(tasks.fail, ["98765"], return_exceptions=True))
    assert ended == [True, True]


def test_a_reader_waits_for_a_shutdown_that_takes_the_input(
    fresh: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    taking, reading, take_ahead = threading.Event(), threading.Event(), MapResults.take_ahead

    def numbers() -> Iterator[int]:
        yield 0
        taking.set()
        assert reading.wait(SECONDS)
        yield from (1, 2)

    def look(self: MapResults) -> None:
        take_ahead(self)
        reading.set()

    results = fresh.map(abs, numbers(), prefetch=1)
    assert next(results) == 0
    ending = threading.Thread(target=fresh.shutdown)
    ending.start()
    assert taking.wait(SECONDS)
    monkeypatch.setattr(MapResults, "take_ahead", look)
    assert list(results) == [1, 2]
    ending.join()


def test_a_list_is_taken_whole_however_long_that_takes(
    pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.backends.scheduled.mapping.LONGEST_BEGIN_S", -1.0)
    monkeypatch.setattr(MapResults, "_came", lambda _: True)
    items = [[i] for i in range(1000)]
    results = pool.map(sum, items)
    for item in items:
        item[0] = -1
    assert list(results) == list(range(1000))


def test_what_an_input_changes_behind_its_last_element_is_its_own_doing(pool: Executor) -> None:
    more = [0]

    def numbers() -> Iterator[int]:
        for more[0] in (10, 20):
            yield 1
        more[0] = 30

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert list(pool.map(lambda x: x + more[0], numbers())) == [11, 21]
    assert told == []


def test_leaving_a_map_cancels_the_rest(fresh: Executor, gate: Gate) -> None:
    results = fresh.map(tasks.hold, [gate.folder] * 100, chunksize=1, ordered=False)
    gate.wait_started(2)
    gate.release()
    next(results)
    gate.wait_started()
    del results
    gate.release(2)
    fresh.shutdown()
    stats = fresh.stats()
    assert stats.submitted == stats.done == 100
    assert stats.succeeded == 3
    assert stats.cancelled == 97


def test_a_map_that_is_not_read_runs_to_its_end(fresh: Executor) -> None:
    fresh.map(tasks.double, range(100))
    fresh.shutdown()
    assert fresh.stats().succeeded == 100


def test_a_failed_map_cancels_the_rest(fresh: Executor, gate: Gate) -> None:
    def fail_or_hold(x: int, folder: str) -> None:
        assert x
        tasks.hold(folder)

    results = fresh.map(fail_or_hold, range(100), [gate.folder] * 100, chunksize=1)
    with pytest.raises(AssertionError):
        next(results)
    gate.release(100)
    fresh.shutdown()
    stats = fresh.stats()
    assert stats.done == stats.submitted == 100
    assert stats.failed == 1
    assert stats.cancelled > 80


def test_maps_inside_each_other(pool: Executor) -> None:
    outer = pool.map(tasks.double, range(500))
    inner = pool.map(tasks.double, range(500, 1000))
    pairs = list(zip(outer, inner, strict=True))
    assert pairs == [(2 * i, 2 * (i + 500)) for i in range(500)]


def test_map_during_shutdown() -> None:
    executor = Executor(2)
    results = executor.map(tasks.double, range(1000))
    executor.shutdown()
    assert list(results) == [2 * i for i in range(1000)]


def test_keeps_no_reference_to_results(pool: Executor) -> None:
    for result in pool.map(Holder, range(20)):
        alive = weakref.ref(result)
        del result
        if alive() is not None:  # a cycle may hold it, which is no reference of the map
            gc.collect()
        assert alive() is None


def test_results_that_are_read_as_they_come_count(
    pool: Executor, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that reads may take results before the one that settles them has counted them."""
    results = pool.map(tasks.hold, [gate.folder] * 6, range(6), chunksize=3, ordered=False)
    stream: Any = results._source.stream  # type: ignore[attr-defined]
    read: list[int] = []

    class Reader:
        of_map = stream.receiver

        def receive(self, keys: Sequence[int], values: list[Any], size: int) -> None:
            self.of_map.receive(keys, values, size)
            read.extend(next(results) for _ in keys)

    monkeypatch.setattr(stream, "receiver", Reader())
    gate.release(6)
    resolver = cast(Any, pool)._backend.resolver
    end = time.monotonic() + SECONDS
    while len(read) < 6 and time.monotonic() < end:
        resolver.settle(SECONDS)
    assert sorted(read) == list(range(6))
    assert stream.unfinished == 0


class Holder:
    def __init__(self, value: int) -> None:
        self.value = value


def test_retries(pool: Executor, tmp_path: Path) -> None:
    folders = []
    for i in range(6):
        (tmp_path / str(i)).mkdir()
        folders.append(str(tmp_path / str(i)))
    assert list(pool.options(retries=1).map(tasks.fail_first, folders)) == [2] * 6


def test_retries_of_equal_items(tmp_path: Path) -> None:
    """Items that are the same object have attempts of their own."""

    def odd_call_fails(folder: str) -> int:
        call = tasks.count_call(folder)
        if call % 2:
            raise ConnectionError
        return call

    with Executor(1) as executor:  # 20 failures in all, at most 5 of one element
        results = list(
            executor.options(retries=8).map(odd_call_fails, [str(tmp_path)] * 20, return_exceptions=True)
        )
    assert all(isinstance(r, int) for r in results)


def test_options_of_a_map(pool: Executor) -> None:
    view = pool.options(name="named", priority=3).options(retries=1)
    assert list(view.map(tasks.double, [1, 2])) == [2, 4]
    assert view.submit(tasks.double, 4).result() == 8


def test_functions_in_c_are_stopped_between_elements(pool: Executor) -> None:
    """No byte code runs between elements of such a map; what would take minutes is interrupted all the same."""
    results = pool.map(sum, [range(2_000_000)] * 10_000, chunksize=10_000)
    while not pool.stats().running:
        pool.stats()
    assert run_registry.stop_cell()
    with pytest.raises(CancelledError):
        list(results)
    assert list(pool.map(abs, [-1, 2])) == [1, 2]


def test_state_that_was_looked_through_for_a_call_is_not_again_for_maps(
    pool: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = {i: [i] for i in range(1000)}

    def look_up(key: int) -> int:
        return table[key][0]

    def growing() -> Iterator[int]:
        for i in range(990, 1010):
            table[i] = [-i]
            yield i

    monkeypatch.setattr("cellmill.backends.scheduled.watching.capture", lambda _: pytest.fail("once more"))
    assert list(pool.map(look_up, range(5))) == list(range(5))
    assert list(pool.map(look_up, [3, 4])) == [3, 4]
    assert list(pool.map(look_up, growing())) == [-i for i in range(990, 1010)]
