"""Generators among the arguments of calls: a second call with one in the same state is told that it draws the same."""

from __future__ import annotations

import functools
import importlib
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cellmill import Executor
from cellmill.diagnostics import notices
from tests.support.helpers import SECONDS, prepend_to_path
from tests.support.told import told

pytestmark = pytest.mark.usefixtures("notices_anew")


def drawn(call: Callable[[], Any]) -> list[str]:
    """What is said of random numbers meanwhile."""
    return told(call, "draw")


class Walker:
    """An object with a generator of its own."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng

    def step(self) -> float:
        return float(self.rng.random())


def draw(rng: Any) -> float:
    return float(rng.random())


def step(walker: Any) -> float:
    return float(walker.step())


def call(function: Callable[[], float]) -> float:
    return function()


def drawing(rng: Any) -> Callable[[], float]:
    return lambda: float(rng.random())


@pytest.mark.parametrize("make", [np.random.default_rng, random.Random, np.random.RandomState])
def test_the_second_call_in_the_same_state(pool: Executor, make: Callable[[int], Any]) -> None:
    rng = make(1)
    for function, given in (
        (draw, rng),
        (step, Walker(rng)),
        (call, lambda: float(rng.random())),
        (call, rng.random),
    ):
        notices.forget()
        fresh = make(2)
        assert drawn(lambda f=fresh: pool.submit(draw, f).result(SECONDS)) == []  # type: ignore[misc]
        rng.random()  # it goes on here: the first call has another state than those before
        assert drawn(lambda f=function, g=given: pool.submit(f, g).result(SECONDS)) == []  # type: ignore[misc]
        (text,) = drawn(lambda f=function, g=given: pool.submit(f, g).result(SECONDS))  # type: ignore[misc]
        assert f"{function.__name__} is given a generator of random numbers" in text


def test_what_is_said_holds_for_calls_that_draw_nothing(pool: Executor) -> None:
    """Such as `norm(1, 2).pdf`, whose distribution has numpy's own generator."""
    rng = np.random.RandomState(1)
    (text,) = drawn(lambda: [pool.submit(type, rng).result(SECONDS) for _ in range(2)])
    assert "Where they draw from it, each draws from a copy" in text


def test_elements_of_maps(pool: Executor) -> None:
    rng = np.random.default_rng(1)
    assert drawn(lambda: list(pool.map(draw, rng.spawn(10)))) == []
    (text,) = drawn(lambda: list(pool.map(draw, [rng] * 10)))
    assert text.startswith("draw is given a generator of random numbers (Generator)")


def test_each_generator_once_is_not_told(pool: Executor) -> None:
    """However often a call or an element is pickled: functions that travel with the call, classes and closures."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(
        "class Held:\n"
        "    def __init__(self, rng): self.rng = rng\n"
        "    def step(self): return float(self.rng.random())\n"
        "    def by(self, rng): return float(rng.random())\n"
        "    __call__ = by\n"
        "def draw(rng): return float(rng.random())",
        namespace,
    )
    held, draw_here, rng = namespace["Held"], namespace["draw"], np.random.default_rng
    for function, given in (
        (functools.partial(draw_here), rng(1)),
        (held(1).by, rng(2)),
        (held(1), rng(3)),
        (draw_here, rng(4)),
        (step, held(rng(5))),
        (call, drawing(rng(6))),
    ):
        assert drawn(lambda f=function, g=given: pool.submit(f, g).result(SECONDS)) == [], function  # type: ignore[misc]
    assert drawn(lambda: list(pool.map(step, [held(rng(i)) for i in range(3)]))) == []
    assert drawn(lambda: list(pool.map(step, (held(rng(i)) for i in range(3))))) == []
    assert drawn(lambda: list(pool.map(call, [drawing(rng(i)) for i in range(3)]))) == []
    shared = rng(7)
    assert len(drawn(lambda: list(pool.map(call, [lambda: float(shared.random()) for _ in range(3)])))) == 1


def test_generators_of_modules_that_arguments_draw_from(
    pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "import random\nrng = random.Random(3)\ndef draw():\n    return rng.random()"
    (tmp_path / "cellmill_test_drawing.py").write_text(source)
    prepend_to_path(monkeypatch, tmp_path)
    own = importlib.import_module("cellmill_test_drawing")
    try:
        (text,) = drawn(lambda: pool.submit(call, own.draw).result(SECONDS))
        assert "among the arguments of call draws from cellmill_test_drawing.rng" in text
    finally:
        sys.modules.pop(own.__name__)
