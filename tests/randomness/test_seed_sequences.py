"""numpy's seeds count what they spawn: a task counts in a copy, and two tasks would draw the same numbers."""

from __future__ import annotations

from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS
from tests.support.told import told

numpy = pytest.importorskip("numpy")
pytestmark = pytest.mark.usefixtures("notices_anew")


def spawned(seeds: Any) -> int:
    return int(seeds.spawn(1)[0].spawn_key[-1])


def test_tasks_that_spawn_are_told(pool: Executor) -> None:
    seeds = numpy.random.SeedSequence(5)

    def spawn_captured() -> int:
        return spawned(seeds)

    assert "change seeds." in told(lambda: pool.submit(spawn_captured).result(SECONDS), "change")[0]
    assert "its argument seeds " in told(lambda: pool.submit(spawned, seeds).result(SECONDS), "change")[0]
    assert seeds.n_children_spawned == 0


def test_tasks_that_draw_are_not_told(pool: Executor) -> None:
    seeds = numpy.random.SeedSequence(5)

    def draw(own: Any) -> float:
        return float(numpy.random.default_rng(own).random() + numpy.random.default_rng(seeds).random())

    def draws() -> None:
        expected = [draw(own) for own in numpy.random.SeedSequence(5).spawn(3)]
        assert list(pool.map(draw, numpy.random.SeedSequence(5).spawn(3))) == expected

    assert told(draws, "change") == []


def test_what_was_spawned_here_is_seen(pool: Executor) -> None:
    seeds = numpy.random.SeedSequence(5)

    def count() -> int:
        return int(seeds.n_children_spawned)

    assert pool.submit(count).result(SECONDS) == 0
    seeds.spawn(300)
    assert pool.submit(count).result(SECONDS) == 300
