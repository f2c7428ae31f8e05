"""Names that a function reads from texts: ``eval("rate * 2")``, ``frame.query("price > @limit")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas
import pytest

from cellmill import Executor
from cellmill.by_value.references import names_in_texts
from tests.support.helpers import SECONDS

CELL = """
import threading

rate, limit = 3, 1
lock = threading.Lock()

def evaluated(x):
    return eval("rate * x")

def executed(x):
    found = {}
    exec("def twice(x):\\n    return 2 * x * rate", globals(), found)
    return found["twice"](x)

def looked_up(x):
    return globals()["rate"] * x if "rate" in globals() else None

def chosen(frame):
    return frame.query("price > @limit and price < 4 * @rate")["price"].tolist()

def computed(frame):
    return frame.eval("price * @rate").tolist()

def nested(x):
    return [eval("rate + y") for y in range(x)]

def message(x):
    if x < 0:
        raise ValueError("cannot evaluate: the lock is held")
    return eval("x + 1")
"""
FRAME = pandas.DataFrame({"price": [1, 2, 3, 4]})


@pytest.fixture
def cell() -> dict[str, Any]:
    """What a cell defines."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(CELL, namespace)
    return namespace


@pytest.mark.parametrize(
    ("name", "argument"),
    [
        ("evaluated", 5),
        ("executed", 5),
        ("looked_up", 5),
        ("chosen", FRAME),
        ("computed", FRAME),
        ("nested", 3),
        ("message", 3),
    ],
)
def test_tasks_have_the_names_in_texts(
    pool: Executor, cell: dict[str, Any], name: str, argument: Any
) -> None:
    function: Callable[..., Any] = cell[name]
    assert pool.submit(function, argument).result(SECONDS) == function(argument)
    cell["rate"] = cell["limit"] = 2
    assert pool.submit(function, argument).result(SECONDS) == function(argument)
    assert list(pool.map(function, [argument])) == [function(argument)]


def test_a_function_among_the_arguments_has_them(pool: Executor, cell: dict[str, Any]) -> None:
    def call(function: Any, argument: Any) -> Any:
        return function(argument)

    for rate in (3, 4):
        cell["rate"] = rate
        assert pool.submit(call, cell["evaluated"], 5).result(SECONDS) == 5 * rate


def test_only_what_is_source_has_names() -> None:
    def reads(x: Any) -> Any:
        """The data of x."""
        print("no source at all", "data")
        return eval("rate * x.price + f(y=limit)")

    assert set(names_in_texts(reads.__code__)) == {"data", "rate", "x", "f", "limit"}

    def asks(frame: Any) -> Any:
        return frame.query("price > @limit and `a b` < @other.x")

    assert names_in_texts(asks.__code__) == ("limit", "other")
    assert names_in_texts(names_in_texts.__wrapped__.__code__) == ()


@pytest.mark.parametrize("text", ["\0", "(" * 10_000, "'\\d'", "def", ""])
def test_texts_that_are_no_source(text: str) -> None:
    code = compile(f"eval({text!r})", "<cell>", "exec")
    assert names_in_texts(code) == ()
