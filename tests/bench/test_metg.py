"""METG on made-up runtimes whose overhead is known."""

from __future__ import annotations

import pytest

from cellmill.bench.metg import STEPS, Point, half, sweep


@pytest.mark.parametrize("overhead_us", [0.5, 20.0, 3000.0])
@pytest.mark.parametrize("workers", [1, 2, 8])
def test_half_of_the_time_is_lost_where_work_equals_overhead(overhead_us: float, workers: int) -> None:
    ran: list[tuple[int, int]] = []

    def run(rounds: int, tasks: int) -> float:
        ran.append((rounds, tasks))
        return tasks * (overhead_us + rounds / 50) / 1e6 / workers  # 50 rounds take a microsecond

    points = sweep(run, workers, 50.0, 0.25, 100_000)
    assert len(points) == len(STEPS)
    assert half(points) == pytest.approx(2 * overhead_us, rel=0.05)
    assert all(tasks >= 4 * workers for _, tasks in ran)
    assert sum(tasks * (overhead_us + rounds / 50) / 1e6 / workers for rounds, tasks in ran) < 60


def test_between_two_points_the_place_is_found_on_a_logarithmic_scale() -> None:
    points = [Point(1000.0, 100.0), Point(100.0, 75.0), Point(1.0, 25.0)]
    assert half(points) == pytest.approx(10.0)
    assert half(list(reversed(points))) == pytest.approx(10.0)


def test_a_runtime_that_never_falls_below_half_has_its_shortest_task() -> None:
    assert half([Point(1000.0, 100.0), Point(100.0, 90.0), Point(10.0, 80.0)]) == 10.0
