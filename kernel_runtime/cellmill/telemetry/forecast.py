"""The time that finished tasks would have taken with another number of workers: they are scheduled again, on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

_EXPLAINED = 0.15  # share of the wall time that may remain unexplained
_WORTH_IT = 5 / 6  # of the wall time: what it must come down to


@dataclass(frozen=True, slots=True)
class Ran:
    """One task that has ended: its run time in seconds, and the positions of the tasks whose results it takes."""

    seconds: float
    inputs: tuple[int, ...] = ()


def makespan(tasks: Sequence[Ran], workers: int) -> float:
    """Return the seconds that so many workers take for ``tasks``, which are in the order of their submission.

    A free worker takes the task that was submitted first among those whose inputs are there (list scheduling; Graham,
    1969: at most 2 - 1/workers times the shortest possible). Submission and communication take no time. Inputs are
    earlier positions. Raises `ValueError` for less than one worker.
    """
    if workers < 1:
        raise ValueError(f"there must be at least one worker, not {workers}")
    missing = [len(task.inputs) for task in tasks]
    dependents: list[list[int]] = [[] for _ in tasks]
    for position, task in enumerate(tasks):
        for before in task.inputs:
            dependents[before].append(position)
    ready = [position for position, count in enumerate(missing) if not count]
    heapify(ready)
    running: list[tuple[float, int]] = []  # (when it ends, its position)
    now = 0.0
    while ready or running:
        while ready and len(running) < workers:
            position = heappop(ready)
            heappush(running, (now + tasks[position].seconds, position))
        now, ended = heappop(running)
        for position in dependents[ended]:
            missing[position] -= 1
            if not missing[position]:
                heappush(ready, position)
    return now


@dataclass(frozen=True, slots=True)
class Forecast:
    """What another number of workers would change."""

    workers: int
    wall: float  # seconds


def with_more_workers(tasks: Sequence[Ran], wall: float, workers: int, least: float = 0.0) -> Forecast | None:
    """Return what twice as many workers would take for these tasks, or None where no gain can be promised.

    ``wall`` is the seconds that ``workers`` took. Nothing is promised where the tasks' run times do not explain them
    (the kernel may have submitted too slowly), or where the gain is below a sixth. ``least`` is a bound that holds for
    any number of workers, such as the processor time of the tasks divided by the processors there are.
    """
    if not tasks:
        return None
    now = makespan(tasks, workers)
    if abs(now - wall) > _EXPLAINED * wall:
        return None
    then = max(least, makespan(tasks, 2 * workers) * wall / now)
    return Forecast(2 * workers, then) if then <= _WORTH_IT * wall else None
