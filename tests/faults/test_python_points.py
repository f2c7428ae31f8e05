"""Workers that die at each point of a task's path in Python: the task that is to blame is lost, and no other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.faults import hostile
from tests.support import tasks
from tests.support.helpers import SECONDS

CULPRIT, COUNT = 7, 12

# what dies, and what the error calls the arguments
SINGLE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "making an argument": (hostile.take, (hostile.DiesWhenMade(1),)),
    "filling an argument": (hostile.take, (hostile.DiesWhenFilled(1),)),
    "filling an argument deep inside": (hostile.take, ([{"a": [hostile.DiesWhenFilled(1)]}],)),
    "running": (tasks.die, ("SIGKILL",)),
    "running native code": (tasks.die, ("segv",)),
    "an object that is called": (hostile.DiesWhenCalled(1), (2,)),
    "dropping an argument": (hostile.take, (hostile.DiesWhenDropped(1),)),
    "printing": (hostile.show, (hostile.DiesWhenShown(1),)),
    "pickling the result": (hostile.give, (hostile.DiesWhenPickled, 1)),
    "pickling an exception": (hostile.raise_one, (hostile.RaisesDeadly,)),
    "the text of an exception": (hostile.raise_one, (hostile.RaisesUnspeakable,)),
}


@pytest.fixture
def pool() -> Iterator[Executor]:
    with Executor(2) as executor:
        yield executor
        assert [f.result(SECONDS) for f in [executor.submit(tasks.double, i) for i in range(50)]] == [
            2 * i for i in range(50)
        ]
        stats = executor.stats()
        assert (stats.done, stats.waiting, stats.queued, stats.running) == (stats.submitted, 0, 0, 0)


def name_of(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


@pytest.mark.parametrize("point", SINGLE)
def test_a_task(pool: Executor, point: str) -> None:
    function, arguments = SINGLE[point]
    before = [pool.submit(tasks.double, i) for i in range(50)]
    culprit = pool.submit(function, *arguments)
    after = [pool.submit(tasks.double, i) for i in range(50)]
    dependent = pool.submit(tasks.same, culprit)
    error = culprit.exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert error.function == name_of(function)
    assert [f.result(SECONDS) for f in before + after] == 2 * [2 * i for i in range(50)]
    assert dependent.exception(SECONDS).__cause__ is error  # type: ignore[union-attr]


# Attempts that died are tried again the same, wherever that was: the first, the last, and the one of native code.
AGAIN = ("making an argument", "running native code", "pickling the result")


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=() if point in AGAIN else pytest.mark.long) for point in SINGLE]
)
def test_a_task_that_may_try_again(pool: Executor, point: str) -> None:
    function, arguments = SINGLE[point]
    error = pool.options(retries=2).submit(function, *arguments).exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)


# by the point: the arguments of a map whose element CULPRIT dies there
MAPS: dict[str, tuple[Callable[..., Any], Callable[[int], tuple[Any, ...]]]] = {
    "making an item": (hostile.take, lambda i: (hostile.DiesWhenMade(i) if i == CULPRIT else i,)),
    "filling an item": (hostile.take, lambda i: (hostile.DiesWhenFilled(i) if i == CULPRIT else i,)),
    "running": (tasks.die_at, lambda i: (i, CULPRIT)),
    "dropping an item": (hostile.take, lambda i: (hostile.DiesWhenDropped(i) if i == CULPRIT else i,)),
    "pickling a result": (hostile.give_at, lambda i: (i, CULPRIT, hostile.DiesWhenPickled)),
    "pickling an exception": (hostile.raise_at, lambda i: (i, CULPRIT, hostile.RaisesDeadly)),
}


# every point in a chunk of some elements; chunks of one and of all where the arguments and where the results are deadly
CHUNKED = [
    pytest.param(
        point,
        size,
        marks=() if size == 5 or point in ("making an item", "pickling a result") else pytest.mark.long,
    )
    for point in MAPS
    for size in (None, 5, COUNT)
]


@pytest.mark.parametrize(("point", "chunksize"), CHUNKED)
def test_an_element_of_a_map(pool: Executor, point: str, chunksize: int | None) -> None:
    function, arguments = MAPS[point]
    columns = zip(*map(arguments, range(COUNT)), strict=True)
    results = list(pool.map(function, *columns, chunksize=chunksize, return_exceptions=True))
    error = results.pop(CULPRIT)
    assert isinstance(error, cellmill.WorkerLostError), error
    assert error.function == function.__qualname__
    assert str(CULPRIT) in error.arguments
    assert results == [i for i in range(COUNT) if i != CULPRIT]
    stats = pool.stats()
    assert (stats.submitted, stats.succeeded, stats.failed) == (COUNT, COUNT - 1, 1)


def batch(items: list[Any]) -> list[Any]:
    return [hostile.DiesWhenPickled(i) if i == CULPRIT else i for i in map(hostile.take, items)]


@pytest.mark.parametrize("hostile_item", [True, False])
def test_an_item_of_a_batch(pool: Executor, hostile_item: bool) -> None:
    function = tasks.same if hostile_item else batch
    items: list[Any] = list(range(COUNT))
    if hostile_item:
        items[CULPRIT] = hostile.DiesWhenMade(CULPRIT)
    results = list(pool.options(batch=True).map(function, items, return_exceptions=True))
    kinds = Counter(type(result) for result in results)
    assert kinds == {int: COUNT - 1, cellmill.WorkerLostError: 1}
    assert isinstance(results[CULPRIT], cellmill.WorkerLostError)


def test_many_that_die_in_one_map(pool: Executor) -> None:
    """Two of one chunk, and one of another."""
    deadly = (3, 17, 25)
    items = [hostile.DiesWhenMade(i) if i in deadly else i for i in range(40)]
    results = list(pool.map(hostile.take, items, chunksize=20, return_exceptions=True))
    assert [i for i, r in enumerate(results) if isinstance(r, cellmill.WorkerLostError)] == list(deadly)
    assert [r for r in results if isinstance(r, int)] == [i for i in range(40) if i not in deadly]
