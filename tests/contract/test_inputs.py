"""What a map takes from its input: when, how much, and as what."""

from __future__ import annotations

import gc
import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import elsewhere, later, own_cluster, same_on_clusters
from tests.support import tasks
from tests.support.helpers import Gate
from tests.support.waiting import until

LARGE = 1_000_000  # numbers of an array: 8 MB
AHEAD = 256_000_000 // (8 * LARGE)  # as many fit into what may be taken and unread


def reused(count: int, size: int) -> Iterator[Any]:
    """One buffer, with other numbers in it each time."""
    buffer = np.zeros(size, dtype=int)
    for i in range(count):
        buffer[:] = i
        yield buffer


@elsewhere
@pytest.mark.parametrize("size", [3, 2000])
@pytest.mark.parametrize("chunksize", [None, 5])
def test_a_buffer_that_is_used_again(ex: Executor, size: int, chunksize: int | None) -> None:
    results = ex.map(tasks.double, reused(50, size), chunksize=chunksize)
    assert [int(result[-1]) for result in results] == [2 * i for i in range(50)]


@elsewhere
def test_a_list_that_is_changed_after_the_call(ex: Executor) -> None:
    items = [[i] for i in range(300)]
    pairs = ex.map(tasks.give, items, [{"a": 1}] * 300)
    for item in items:
        item[0] = -1
    items.clear()
    assert list(pairs) == [(([i], {"a": 1}), {}) for i in range(300)]


@elsewhere
def test_batches_have_items_as_they_were(ex: Executor) -> None:
    batch, item = ex.options(batch=True), [0]
    futures = []
    for i in range(20):
        item[0] = i
        futures.append(batch.submit(work.each_first, item))
    assert [future.result(30) for future in futures] == list(range(20))
    results = batch.map(work.each_first, (item for item[0] in range(20)))
    assert list(results) == list(range(20))


@elsewhere
def test_attempts_have_elements_as_they_were(ex: Executor, tmp_path_factory: pytest.TempPathFactory) -> None:
    items = [[str(tmp_path_factory.mktemp("element")), 1] for _ in range(5)]
    results = ex.options(retries=1).map(work.fail_first_of, items)
    for item in items:
        item[0] = "/nowhere"
    assert list(results) == [2] * 5


@own_cluster
@elsewhere
def test_what_a_lost_worker_leaves_is_sent_as_it_was(ex: Executor) -> None:
    item = [0]

    def numbers() -> Iterator[list[int]]:
        for i in range(12):
            item[0] = i
            yield item

    results = list(ex.map(work.leave_at_first, numbers(), [5] * 12, chunksize=6, return_exceptions=True))
    lost = [i for i, result in enumerate(results) if isinstance(result, Exception)]
    assert lost == [5]
    assert [result for result in results if isinstance(result, int)] == [i for i in range(12) if i != 5]


@elsewhere
class NoLength:
    """Iterates, but has no length, as scipy's sparse matrices do."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(5))

    def __len__(self) -> int:
        raise TypeError("the length is ambiguous")


def test_an_input_whose_length_raises(ex: Executor) -> None:
    assert list(ex.map(abs, NoLength())) == [0, 1, 2, 3, 4]


def test_elements_with_futures_and_shared_objects(ex: Executor) -> None:
    future, shared = ex.submit(tasks.double, 4), ex.share([1, 2, 3])
    items = [future, [future], {"a": future}, (future, 1), [shared], 5]
    found = [8, [8], {"a": 8}, (8, 1), [[1, 2, 3]], 5]
    assert list(ex.map(tasks.give, items)) == [((each,), {}) for each in found]


@elsewhere
def test_what_cannot_be_pickled_fails_at_its_place(ex: Executor) -> None:
    items = [[1], [(i for i in ())], [3], (i for i in ()), [5]]
    results = list(ex.map(tasks.give, items, return_exceptions=True))
    assert results[::2] == [(([i],), {}) for i in (1, 3, 5)]
    for error, words in ((results[1], r"\[0\] is a generator"), (results[3], "a generator, cannot be sent")):
        with pytest.raises(Exception, match=words):
            raise error


@own_cluster
@pytest.mark.parametrize(
    "how", ["list", *(pytest.param(how, marks=same_on_clusters) for how in ("generator", "kept", "prefetch"))]
)
def test_a_map_that_is_not_read_runs_whole(
    another: Callable[..., Executor], tmp_path: Path, how: str
) -> None:
    ex, folder = another(), str(tmp_path)
    if how == "list":
        ex.map(work.touch, [folder] * 200, list(map(str, range(200))))
    elif how == "kept":
        kept = ex.map(work.touch, itertools.repeat(folder), (str(i) for i in range(200)))
        ex.shutdown()
        assert list(kept) == [None] * 200
    else:
        given: Any = map(str, range(200)) if how == "generator" else list(map(str, range(200)))
        ex.map(work.touch, itertools.repeat(folder, 200), given, prefetch=3 if how == "prefetch" else None)
    ex.shutdown()
    assert len(os.listdir(folder)) == 200


def test_an_input_without_end_that_is_not_read(ex: Executor) -> None:
    with pytest.warns(RuntimeWarning, match="does not come to an end") as told:
        ex.map(tasks.double, (i for i in itertools.count()))
    assert len(told) == 1


@own_cluster
@later
def test_a_map_that_was_begun_and_left(another: Callable[..., Executor], gate: Gate) -> None:
    ex = another()
    taken = itertools.count()
    folders = ((gate.folder, next(taken))[0] for _ in range(1000))
    results = ex.map(tasks.hold, folders, chunksize=1, prefetch=20, ordered=False)
    gate.release()
    next(results)
    gate.wait_started()
    del results
    gc.collect()
    until(lambda: ex.stats().cancelled > 0)  # a lane that has them all gives them back first
    gate.release(1000)
    ex.shutdown()
    stats = ex.stats()
    assert stats.done == stats.submitted < 100
    assert next(taken) < 100


@later
@pytest.mark.parametrize("kind", ["elements", "results"])
def test_as_much_is_taken_as_fits(ex: Executor, kind: str) -> None:
    taken = itertools.count()
    given: Iterator[Any] = (
        (np.full(LARGE, i, dtype=float) for i in taken) if kind == "elements" else (i for i in taken)
    )
    results = ex.map(work.first if kind == "elements" else work.large, given)
    for read in range(AHEAD // 2):
        assert work.first(next(results)) == read if kind == "results" else next(results) == read
        # while chunks grow, results of a size that is not known yet are on their way
        assert next_of(taken) <= read + AHEAD + 10


def next_of(count: Any) -> int:
    """The number that it gives next."""
    return int(repr(count).strip("count()"))


@later
@pytest.mark.parametrize("prefetch", [1, 7])
def test_prefetch_sets_how_much(ex: Executor, prefetch: int) -> None:
    taken = itertools.count()
    for given in (taken, (i for i in taken)):
        start = next_of(taken)
        results = ex.map(tasks.double, given, prefetch=prefetch)
        for read in range(50):
            assert next(results) == 2 * (start + read)
            assert next_of(taken) - start <= read + 1 + prefetch
        results.close()  # type: ignore[attr-defined]
    assert list(ex.map(tasks.double, range(100), prefetch=prefetch)) == [2 * i for i in range(100)]


@pytest.mark.parametrize("prefetch", [0, -1, 1.5, "many"])
def test_prefetch_is_a_number(ex: Executor, prefetch: Any) -> None:
    with pytest.raises(ValueError, match="prefetch must be a whole number"):
        ex.map(tasks.double, [1], prefetch=prefetch)


@later
@elsewhere
@pytest.mark.parametrize("kind", ["function", "method"])
@pytest.mark.parametrize("chunksize", [None, 7])
def test_what_the_input_changes_holds_from_that_element_on(
    ex: Executor, kind: str, chunksize: int | None
) -> None:
    factor = [1]

    class Times:
        def by(self, x: int) -> int:
            return factor[0] * x

    def given() -> Iterator[int]:
        for i in range(100):
            if i % 10 == 5:
                factor[0] = i
            yield i

    function = Times().by if kind == "method" else lambda x: factor[0] * x
    expected = list(map(function, given()))
    factor[0] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert list(ex.map(function, given(), chunksize=chunksize)) == expected


@later
@elsewhere
@pytest.mark.parametrize("source", [list, iter])
def test_what_changes_between_reads_is_said_once(ex: Executor, source: Callable[[Any], Any]) -> None:
    factor = [1]

    def times(x: int) -> int:
        return factor[0] * x

    results = ex.map(times, source(range(2000)), chunksize=10)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for x, result in enumerate(results):
            assert result == x
            factor[0] += 1
    (only,) = told
    assert "factor, which test_what_changes_between_reads_is_said_once" in str(only.message)
    assert "The map keeps the state of its start" in str(only.message)
    assert only.filename == __file__
