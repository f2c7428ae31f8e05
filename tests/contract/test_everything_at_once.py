"""Calls of many functions, short and long, while places come and go, context change and tasks are cancelled."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from tests.contract.abilities import later

MINUTE = 60.0
LONGEST = 120.0  # seconds for one result
NAME = "CELLMILL_TEST_CONTEXT"
SHAPES: tuple[tuple[float, ...], ...] = (
    (0,),
    (0, 0, 0, 0.001),
    (0.03,),
    (0, 0.2),
    (0,) * 50 + (0.3,),
)  # seconds


def _function(number: int) -> Callable[[int, float], tuple[int, int]]:
    """One that no place has had yet."""

    def call(x: int, seconds: float) -> tuple[int, int]:
        if seconds:
            time.sleep(seconds)
        return number, x

    return call


class Day:
    """Actions on an executor that do not wait for the earlier ones to end."""

    def __init__(self, ex: Executor, chance: random.Random) -> None:
        self.ex = ex
        self.chance = chance
        self.functions = 0
        self.pending: list[tuple[Any, tuple[int, int]]] = []

    def calls(self) -> None:
        self.functions += 1
        function, shape = _function(self.functions), self.chance.choice(SHAPES)
        for i in range(self.chance.choice((1, 3, 20, 200, 1000))):
            seconds = self.chance.choice(shape)
            future = self.ex.submit(function, i, 0.0 if i > 30 and seconds > 0.01 else seconds)
            self.pending.append((future, (self.functions, i)))

    def maps(self) -> None:
        assert list(self.ex.map(abs, range(-500, 0))) == list(range(500, 0, -1))

    def cancels(self) -> None:
        for future, _ in self.chance.sample(self.pending, min(len(self.pending), 20)):
            future.cancel()

    def context(self) -> None:
        os.environ[NAME] = str(self.functions)

    def asks(self) -> None:
        assert set(self.ex.run_on_workers(lambda: os.environ.get(NAME))) == {os.environ.get(NAME)}

    def resizes(self) -> None:
        self.ex.set_workers(self.chance.choice((1, 2, 3)))

    def collects(self) -> None:
        for future, value in self.pending:
            if not future.cancelled():
                assert future.result(LONGEST) == value
        self.pending.clear()


@later
@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_minute(fresh: Callable[..., Executor], monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setenv(NAME, "none yet")
    day = Day(fresh(), random.Random(seed))
    acts = [day.calls] * 6 + [day.maps, day.cancels, day.context, day.asks, day.resizes, day.collects]
    end = time.monotonic() + MINUTE
    while time.monotonic() < end:
        day.chance.choice(acts)()
        if len(day.pending) > 3000:
            day.collects()
    day.collects()
    stats = day.ex.stats()
    assert stats.submitted == stats.succeeded + stats.cancelled
