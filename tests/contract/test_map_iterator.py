"""What `map` returns: an iterator that tells how far its map has come, for loops of both kinds."""

from __future__ import annotations

import asyncio
import itertools
import operator
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import Executor
from cellmill.backends.map_iterator import woken
from tests.contract.abilities import later
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


def test_tells_function_and_progress(ex: Executor) -> None:
    results = ex.map(tasks.double, range(1500))
    assert repr(results).startswith("<map of double: ")
    assert " of 1,500 done>" in repr(results)
    assert list(results) == [2 * x for x in range(1500)]
    assert repr(results) == "<map of double: 1,500 of 1,500 done>"


def test_counts_what_failed_and_says_when_it_was_left(ex: Executor) -> None:
    results = ex.map(tasks.half_of_even, range(6), return_exceptions=True)
    list(results)
    assert repr(results) == "<map of half_of_even: 6 of 6 done, 3 failed>"
    results = ex.map(tasks.double, range(6))
    assert next(results) == 0
    results.close()
    assert repr(results).endswith("closed>")
    assert list(results) == []


def test_of_an_iterator_no_length_is_told(ex: Executor) -> None:
    results = ex.map(tasks.double, itertools.count())
    assert " of " not in repr(results).partition(":")[2]
    assert operator.length_hint(results, -1) == -1
    assert next(results) == 0
    results.close()
    results = ex.map(tasks.double, (x for x in range(3)))
    assert list(results) == [0, 2, 4]
    assert repr(results) == "<map of double: 3 of 3 done>"


def test_hints_at_what_is_left_to_read(ex: Executor) -> None:
    results = ex.map(tasks.double, range(100))
    assert operator.length_hint(results) == 100
    assert [next(results) for _ in range(7)] == [2 * x for x in range(7)]
    assert operator.length_hint(results) == 93
    assert iter(results) is results
    assert not hasattr(results, "__len__")
    results.close()
    assert operator.length_hint(results) == 0


def test_is_not_pickled(ex: Executor) -> None:
    results = ex.map(tasks.double, [1])
    with pytest.raises(TypeError, match="read once"):
        pickle.dumps(results)
    assert list(results) == [2]


@pytest.mark.parametrize("ordered", [True, False])
def test_async_for(ex: Executor, ordered: bool) -> None:
    async def read() -> list[int]:
        found = [x async for x in ex.map(tasks.double, range(700), ordered=ordered)]
        found += [x async for x in ex.map(tasks.double, (x for x in range(300)), ordered=ordered)]
        return found

    assert sorted(asyncio.run(read())) == sorted([2 * x for x in range(700)] + [2 * x for x in range(300)])


def test_async_for_raises_an_error_in_its_place(ex: Executor) -> None:
    async def read() -> list[int]:
        results = ex.map(tasks.half_of_even, [0, 2, 3, 4])
        found = [await anext(results), await anext(results)]
        with pytest.raises(ValueError, match="3 is odd"):
            await anext(results)
        return found + [x async for x in results]

    assert asyncio.run(read()) == [0, 1]


@later
def test_the_event_loop_goes_on_meanwhile(ex: Executor, gate: Gate) -> None:
    async def read() -> list[str]:
        results = ex.map(tasks.hold, [gate.folder] * 2, ["a", "b"])
        pending = asyncio.ensure_future(anext(results))
        await asyncio.sleep(0)
        assert not pending.done()
        gate.release(2)
        return [await pending, *[x async for x in results]]

    assert asyncio.run(read()) == ["a", "b"]


def test_a_reader_that_is_cancelled_as_it_is_woken_ends() -> None:
    async def read(passes: int) -> bool:
        given: list[Any] = []
        reader = asyncio.ensure_future(woken(lambda: False, given.append))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        given[0]()
        for _ in range(passes):
            await asyncio.sleep(0)
        reader.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        return reader.cancelled()

    assert [asyncio.run(read(passes)) for passes in range(5)] == [True] * 5


@later
def test_async_for_keeps_the_time_limit(ex: Executor, gate: Gate) -> None:
    async def read() -> None:
        with pytest.raises(TimeoutError):
            await anext(ex.map(tasks.hold, [gate.folder], timeout=0.05))

    asyncio.run(read())
    gate.release()


def test_takes_its_input_in_the_loops_thread(ex: Executor) -> None:
    threads = set()

    def numbers() -> Iterator[int]:
        for x in range(50):
            threads.add(threading.get_ident())
            yield x

    async def read() -> int:
        return sum([x async for x in ex.map(tasks.double, numbers(), prefetch=4)])

    assert asyncio.run(read()) == sum(range(50)) * 2
    assert threads == {threading.get_ident()}


def test_threads_that_read_one_map_share_its_results(ex: Executor) -> None:
    """As they do those of Python's own `map`: each result goes to one of them, and all end with it."""
    for _ in range(5):
        results = ex.map(tasks.double, range(500), chunksize=1)
        found: list[int] = []

        def read(results: Any = results, found: list[int] = found) -> None:
            for value in results:
                found.append(value)

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert sorted(found) == [2 * x for x in range(500)]
