"""Variables that are None before the first task: set once they are a worker's cache, set again and again it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from cellmill.diagnostics import notices
from tests.support.helpers import SECONDS
from tests.support.told import nothing_told, told

last: Any = None
model: Any = None


pytestmark = pytest.mark.usefixtures("notices_anew")


def follow(x: int) -> Any:
    global last
    before, last = last, x
    return before


def load_once(x: int) -> int:
    global model
    if model is None:
        model = [1, 2, 3]
    return sum(model) + x


def following() -> Callable[[int], Any]:
    before: Any = None

    def call(x: int) -> Any:
        nonlocal before
        found, before = before, x
        return found

    return call


@pytest.mark.parametrize(("function", "name"), [(follow, "last"), (following(), "before")])
def test_a_value_that_goes_from_call_to_call(function: Callable[[int], Any], name: str) -> None:
    with Executor(1) as executor:
        calls = told(lambda: [executor.submit(function, x).result(SECONDS) for x in range(3)], "change")
    assert len(calls) == 1
    assert f"{name}. The change stays in the worker" in calls[0]
    notices.forget()
    with Executor(1) as executor:
        assert len(told(lambda: list(executor.map(function, range(10), chunksize=10)), "change")) == 1


def test_what_is_loaded_once(pool: Executor) -> None:
    with nothing_told():
        assert [pool.submit(load_once, x).result(SECONDS) for x in range(6)] == [6, 7, 8, 9, 10, 11]
        assert list(pool.map(load_once, range(100))) == list(range(6, 106))
