"""The sizes of chunks and batches, against functions whose costs are known."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from cellmill.backends.scheduled.sizes import (
    AHEAD_BYTES,
    CHUNK_NS,
    FIRST_PART,
    LEAST_AHEAD,
    LONGEST_BATCH_NS,
    MOST_AHEAD,
    MOST_MARKED,
    SHORTEST_PART,
    BatchSizes,
    ChunkSizes,
    Paces,
    ReadAhead,
)


def run(sizes: ChunkSizes | BatchSizes, cost: Callable[[int], float], elements: int) -> list[int]:
    """The sizes chosen for so many elements, when a chunk of n takes ``cost(n)`` nanoseconds."""
    chosen = []
    left = elements
    while left:
        count = sizes.next(left, left)
        assert 1 <= count <= left
        sizes.observe(count, int(cost(count)))
        chosen.append(count)
        left -= count
    return chosen


@pytest.mark.parametrize("each", [100, 1_000, 10_000, 100_000])
def test_chunks_last_about_as_long_as_meant(each: int) -> None:
    chosen = run(ChunkSizes(2), lambda n: n * each, 2_000_000)
    steady = chosen[20]
    assert steady == pytest.approx(min(CHUNK_NS / each, MOST_MARKED), rel=0.05)


@pytest.mark.parametrize("each", [10_000_000, 1_000_000_000])
def test_slow_elements_go_one_by_one(each: int) -> None:
    assert set(run(ChunkSizes(2), lambda n: n * each, 100)) == {1}


def test_chunks_begin_small_and_grow_step_by_step() -> None:
    chosen = run(ChunkSizes(2), lambda n: n * 1000, 100_000)
    assert chosen[0] == 1
    assert all(later <= 4 * earlier for earlier, later in itertools.pairwise(chosen))


def test_chunks_shrink_when_elements_become_slow() -> None:
    sizes = ChunkSizes(2)
    run(sizes, lambda n: n * 1000, 10_000)
    for _ in range(30):
        sizes.observe(10, 10 * 100_000_000)
    assert sizes.next(1000, None) == 1


@pytest.mark.parametrize("workers", [1, 2, 64])
def test_no_worker_is_left_with_a_long_last_chunk(workers: int) -> None:
    sizes = ChunkSizes(workers)
    run(sizes, lambda n: n * 1000, 1_000_000)
    shortest = CHUNK_NS // 1000 // SHORTEST_PART  # too short to wait for, and to be worth its cost
    for remaining in (1, 10, 1000, 100_000):
        share = -(-remaining // (3 * workers))
        assert sizes.next(remaining, remaining) <= max(share, shortest)


def test_batches_shrink_near_the_end_but_not_below_a_part_of_the_best() -> None:
    sizes = BatchSizes(2)
    run(sizes, lambda n: 1e6 + n * 1e3, 5_000_000)
    best = sizes.next(1 << 40, None)
    assert sizes.next(best, best) == -(-best // 6)
    assert sizes.next(best // 8, best // 8) == best // SHORTEST_PART


def test_workers_that_take_turns_get_chunks_as_long_as_others() -> None:
    """Sixteen workers on a CPU: an element seems to take sixteen times as long."""
    alone = run(ChunkSizes(16), lambda n: n * 1000, 1_000_000)
    crowded = run(ChunkSizes(16, 16.0), lambda n: n * 16_000, 1_000_000)
    assert max(crowded) == max(alone)


@pytest.mark.parametrize("make", [ChunkSizes, BatchSizes])
def test_never_more_than_there_are(make: Callable[[int], ChunkSizes | BatchSizes]) -> None:
    sizes = make(2)
    run(sizes, lambda n: n * 10, 100_000)
    assert sizes.next(3, None) <= 3
    assert sizes.next(1, 1_000_000) == 1


@pytest.mark.parametrize(("fixed", "each"), [(1e6, 1e3), (5e6, 5e4), (2e5, 1e2)])
def test_batches_make_the_fixed_cost_small(fixed: float, each: float) -> None:
    chosen = run(BatchSizes(2), lambda n: fixed + n * each, 2_000_000)
    largest = max(chosen)
    share = fixed / (fixed + largest * each)
    assert share < 0.06
    assert fixed + largest * each < 1.5 * LONGEST_BATCH_NS


def test_batches_of_slow_items_stay_short() -> None:
    chosen = run(BatchSizes(2), lambda n: 1e6 + n * 3e8, 200)
    assert max(chosen) <= 4


def test_one_slow_first_call_does_not_spoil_it() -> None:
    """The first call imports and allocates."""
    calls = iter([2e9])
    chosen = run(BatchSizes(2), lambda n: next(calls, 0) + 1e5 + n * 1e3, 1_000_000)
    assert max(chosen) > 1000


def test_zero_time_is_survived() -> None:
    assert sum(run(BatchSizes(2), lambda n: 0, 10_000)) == 10_000
    assert sum(run(ChunkSizes(2), lambda n: 0, 10_000)) == 10_000


def test_of_an_iterator_two_seconds_of_work_are_taken() -> None:
    ahead = ReadAhead(2, None, None, whole=False)
    assert ahead.room(0, 0) == 2 * LEAST_AHEAD
    ahead.took(2 * LEAST_AHEAD, 0)
    assert ahead.room(0, 2 * LEAST_AHEAD) == 0
    ahead.observe(1, 10_000_000)
    assert ahead.room(0, 0) == 200 - 2 * LEAST_AHEAD
    assert ahead.room(2 * LEAST_AHEAD, 0) == 200
    for _ in range(20):
        ahead.observe(1, 60_000_000_000)
    assert ahead.limit() == 2 * LEAST_AHEAD
    for _ in range(200):
        ahead.observe(1000, 1000)
    assert ahead.limit() == MOST_AHEAD


def test_of_an_iterator_as_much_is_taken_as_there_is_memory_for() -> None:
    ahead, each = ReadAhead(2, None, None, whole=False), AHEAD_BYTES // 16
    ahead.observe(1000, 1000)
    ahead.took(8, 8 * each)
    assert ahead.room(0, 8) == 8
    ahead.came(8, 0)
    ahead.came(0, 8 * each)
    assert ahead.room(0, 0) == 0
    assert ahead.room(8, 0) == 4  # its elements are read, its results not yet; each that follows brings both
    ahead.read(8 * each)
    assert ahead.room(8, 0) == 8
    ahead.took(1, 2 * AHEAD_BYTES)
    assert ahead.room(8, 1) == 0
    assert ahead.room(9, 0) >= 1  # one is always taken


def test_a_whole_input_is_limited_by_its_packed_size_alone() -> None:
    ahead = ReadAhead(2, None, None, whole=True)
    ahead.took(10_000_000, 0)
    assert ahead.room(0, 0) > 10_000_000
    ahead.took(1, AHEAD_BYTES)
    assert ahead.room(0, 0) <= 0


def test_prefetch_takes_the_place_of_measured_limits() -> None:
    ahead = ReadAhead(2, 100, 7, whole=True)
    assert ahead.room(0, 0) == 7
    ahead.took(7, 10 * AHEAD_BYTES)
    assert (ahead.room(0, 7), ahead.room(3, 4)) == (0, 3)
    ahead.lift()  # no thread reads
    assert ahead.room(0, 7) == 0
    assert ahead.limit() > 1_000_000


def test_chunks_of_a_known_function_begin_larger() -> None:
    assert ChunkSizes(2, expected_ns=1000).next(100_000, None) == CHUNK_NS // FIRST_PART // 1000
    assert ChunkSizes(2, expected_ns=1000).next(60, 60) == 10  # no more than a share of what is left
    assert ChunkSizes(2, expected_ns=0.1).next(100_000, None) == MOST_MARKED
    assert ChunkSizes(2, expected_ns=1e9).next(100_000, None) == 1
    slower = run(ChunkSizes(2, expected_ns=1000), lambda n: n * 10_000_000, 1000)
    assert slower[1:] == [1] * len(slower[1:])  # what it was known for is over at once


def test_paces_are_kept_by_function() -> None:
    class Scale:
        def by(self, x: int) -> int:
            return x

    paces, scale = Paces(), Scale()
    paces.note(scale.by, 5.0)
    assert paces.of(Scale().by) == 5.0  # every method of a name is one function
    paces.note(scale, 5.0)
    assert paces.of(scale) == paces.of(lambda: 0) == 0.0
