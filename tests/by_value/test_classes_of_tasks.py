"""A class that a task has made, and that is changed in the kernel after it was sent."""

from __future__ import annotations

from typing import Any

from cellmill import Executor
from tests.support.helpers import SECONDS


def test_later_tasks_see_the_change_in_the_worker_that_made_it_too(pool: Executor) -> None:
    def made() -> Any:
        class Point:
            scale = 1

        return Point

    def look(given: Any) -> tuple[Any, bool, int]:
        return given, type(given) is point, given.scale

    point = pool.submit(made).result(SECONDS)
    for scale in (1, 2, 3):
        point.scale = scale
        found = [pool.submit(look, point()).result(SECONDS) for _ in range(6)]
        assert [(type(each), own, seen) for each, own, seen in found] == [(point, True, scale)] * 6


def test_what_a_task_makes_is_of_the_version_that_it_had(fresh: Executor) -> None:
    step = 1

    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

        def further(self) -> Any:
            return Point(self.x + step)

    def further(point: Any) -> Any:
        return point.further()

    for step in (1, 10, 100):
        first = fresh.submit(further, Point(0))
        assert fresh.submit(further, first).result(SECONDS).x == 2 * step
