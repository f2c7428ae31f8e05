"""Functions by value: closures and what they refer to, always in the newest version; callables of every kind."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

import cellmill
from cellmill import Executor
from cellmill.by_value.references import importable
from cellmill.serialization.functions import FunctionTable
from cellmill.serialization.payload import Encoded
from tests.support import tasks
from tests.support.helpers import SECONDS


def test_lambdas_and_closures(ex: Executor) -> None:
    factor = 3
    assert ex.submit(lambda x: x * factor, 4).result() == 12
    assert list(ex.map(lambda x: x + factor, range(3))) == [3, 4, 5]


def test_the_file_of_a_function_is_known_in_a_task(ex: Executor) -> None:
    assert ex.submit(lambda: sys._getframe().f_code.co_filename).result() == __file__


def test_a_closure_is_bound_anew(pool: Executor) -> None:
    factor = 3

    def scaled(x: int) -> int:
        return x * factor

    assert pool.submit(scaled, 2).result() == 6
    factor = 5
    assert pool.submit(scaled, 2).result() == 10
    assert list(pool.map(scaled, [2])) == [10]


def test_containers_that_grow(pool: Executor) -> None:
    table = {"a": 1}

    def look(key: str) -> int:
        return table.get(key, 0)

    assert pool.submit(look, "b").result() == 0
    table["b"] = 2
    assert pool.submit(look, "b").result() == 2


def test_members_that_change_in_place(pool: Executor) -> None:
    """Members of small containers are looked at before each call; whatever else, before each map."""
    from collections import OrderedDict, deque

    row, table, some, queue = [1, 2], {"a": 1}, {1, 2}, deque([1, 2])
    named, long = OrderedDict(a=1), list(range(1000))

    def total() -> list[int]:
        return [sum(row), sum(table.values()), sum(some), sum(queue), sum(named.values()), long[0]]

    assert pool.submit(total).result() == [3, 1, 3, 3, 1, 0]
    row[0] = 10
    assert pool.submit(total).result() == [12, 1, 3, 3, 1, 0]
    table["a"] = 10
    assert pool.submit(total).result() == [12, 10, 3, 3, 1, 0]
    some.remove(1)
    some.add(5)
    assert pool.submit(total).result() == [12, 10, 7, 3, 1, 0]
    queue.rotate()
    queue[0] = 9
    assert pool.submit(total).result() == [12, 10, 7, 10, 1, 0]
    named["a"] = 4
    assert pool.submit(total).result() == [12, 10, 7, 10, 4, 0]
    long[0] = 8
    assert next(pool.map(lambda _: total(), [0])) == [12, 10, 7, 10, 4, 8]
    assert next(pool.map(lambda _: total(), [0])) == [12, 10, 7, 10, 4, 8]


def test_an_array_that_changes_in_place_between_maps(pool: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    weights = numpy.zeros(3)

    class Settings:
        factor = 1

    settings = Settings()
    settings.factor = 1

    def score(x: float) -> float:
        return float(x * settings.factor + weights.sum())

    for step in range(5):
        assert list(pool.map(score, [1.0, 2.0])) == [1.0 + step + 3 * step, 2.0 * (1 + step) + 3 * step]
        weights += 1
        settings.factor += 1


@pytest.mark.parametrize(
    "function",
    [
        functools.partial(pow, 2),
        tasks.Gather(2).method,
        tasks.Gather(2),
        tasks.Gather.build,
        "abc".replace,
        int.__add__,
    ],
    ids=["partial", "bound method", "callable object", "class method", "builtin method", "slot"],
)
def test_callables_of_every_kind(ex: Executor, function: Callable[..., object]) -> None:
    args = ("b", "x") if function == "abc".replace else (3, 4) if function is int.__add__ else (3,)
    assert ex.submit(function, *args).result() == function(*args)
    assert list(ex.map(function, *([a] for a in args))) == [function(*args)]


def test_state_of_bound_methods_travels_each_time(pool: Executor) -> None:
    gather = tasks.Gather(1)
    assert pool.submit(gather.method, 1).result() == 2
    gather.base = 10
    assert pool.submit(gather.method, 1).result() == 11


def test_importable() -> None:
    assert importable(tasks.double)
    assert importable(len)
    assert not importable(lambda: 0)


def test_same_content_is_sent_once() -> None:
    sent: list[Encoded] = []

    def add(encoded: Encoded, needs: object) -> int:
        sent.append(encoded)
        return len(sent)

    table = FunctionTable(add, lambda number: None)
    numbers = {
        table.number(function) for function in [_adder(1), _adder(1), _adder(2), tasks.double, tasks.double]
    }
    assert len(numbers) == len(sent) == 3


def test_a_failed_attempt_is_no_version(pool: Executor) -> None:
    """What could not be sent is neither sent nor taken for the version before it."""
    extra: object = 1

    def look() -> object:
        return extra

    assert pool.submit(look).result() == 1
    extra = (i for i in range(3))
    for _ in range(2):
        with pytest.raises(cellmill.PayloadError, match="'extra', a generator"):
            pool.submit(look)
    extra = 2
    assert pool.submit(look).result() == 2


def test_more_functions_than_are_kept(pool: Executor) -> None:
    functions = [_adder(i) for i in range(300)]
    for _ in range(2):
        assert [f.result() for f in [pool.submit(f, 1) for f in functions]] == [i + 1 for i in range(300)]


def _adder(n: int) -> Callable[[int], int]:
    return lambda x: x + n


def test_large_function(pool: Executor) -> None:
    words = [str(i) * 10 for i in range(50_000)]
    assert pool.submit(lambda: len(words)).result() == 50_000


def test_function_with_a_large_array(pool: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    big = numpy.arange(500_000)

    def total() -> int:
        return int(big.sum())

    assert pool.submit(total).result() == int(big.sum())
    big = big * 2
    assert pool.submit(total).result() == int(big.sum())


def test_not_parallel() -> None:
    async def later() -> None: ...

    def several() -> object:
        yield 1

    for wrong, message in ((5, "a int"), (later, "async"), (several, "generator")):
        with pytest.raises(cellmill.UsageError, match=message):
            cellmill.parallel(wrong)  # type: ignore[call-overload]


def test_arrays_of_ctypes(fresh: Executor) -> None:
    """Their type is made anew by ctypes, and is the caller's own in what comes back."""
    numbers = (ctypes.c_double * 3)(1, 2, 3)

    def of_those(others: Any) -> Any:
        return [a * b for a, b in zip(numbers, others, strict=True)], others

    for first in (1.0, 9.0):
        numbers[0] = first
        products, back = fresh.submit(of_those, numbers).result(SECONDS)
        assert products == [first**2, 4, 9]
        assert type(back) is ctypes.c_double * 3


def test_mocks_of_the_magic_kind(fresh: Executor) -> None:
    """Whose classes answer each look at a method with another mock: what looks through them ends all the same."""
    database = MagicMock()
    database.get.return_value = 3
    assert fresh.submit(lambda given: given.get(1), database).result(SECONDS) == 3
    assert fresh.submit(lambda: database.get(1)).result(SECONDS) == 3
    assert list(fresh.map(lambda given: given.get(1), [database] * 3)) == [3] * 3
