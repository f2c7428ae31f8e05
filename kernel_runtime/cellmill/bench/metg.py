"""Minimum effective task granularity: how short may tasks be until half of the processors' time is lost?

As Task Bench defines it (Slaughter et al., SC 2020): the smallest wall time x workers / tasks at which work is done at
50 % of the highest rate that was observed, found on tasks that become shorter and shorter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from . import measure

STEPS = (64.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25)
"""Work in a task, in units of what an empty task costs: from nearly all work to nearly none."""


@dataclass(frozen=True, slots=True)
class Point:
    """One length of tasks: wall time x workers / tasks in microseconds, and work per second in any unit."""

    granularity_us: float
    work_rate: float


def sweep(
    run: Callable[[int, int], float], workers: int, rounds_per_us: float, seconds: float, most: int
) -> list[Point]:
    """Points from long tasks to short ones. ``run(rounds, tasks)`` runs that many and returns the seconds it took."""
    count = measure.PROBE
    while (took := run(0, count)) < seconds / 4 and count < most:
        count = measure.fitting(count / took, seconds / 2, 2 * count, most)
    empty_us = took * workers * 1e6 / count
    points = []
    for step in STEPS:
        rounds = max(1, round(step * empty_us * rounds_per_us))
        expected_us = empty_us + rounds / rounds_per_us
        tasks = measure.fitting(workers * 1e6 / expected_us, seconds, 4 * workers, most)
        took = run(rounds, tasks)
        points.append(Point(took * workers * 1e6 / tasks, tasks * rounds / took))
    return points


def half(points: list[Point]) -> float:
    """Microseconds at which the work rate falls through half of its peak, between points on a logarithmic scale."""
    peak = max(point.work_rate for point in points)
    ordered = sorted(points, key=lambda point: -point.granularity_us)
    least = ordered[0].granularity_us
    for longer, shorter in pairwise(ordered):
        above, below = longer.work_rate / peak, shorter.work_rate / peak
        if below < 0.5 <= above:
            share = (above - 0.5) / (above - below)
            ends = math.log(longer.granularity_us), math.log(shorter.granularity_us)
            return math.exp(ends[0] + share * (ends[1] - ends[0]))
        least = shorter.granularity_us
    return least
