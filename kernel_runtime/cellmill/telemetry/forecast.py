"""The time that finished tasks would have taken had something been different: they are scheduled again, on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

_ENDS, _COMES, _JOINS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Ran:
    """One task that has ended: its run time in seconds, and the positions of the tasks whose results it takes."""

    seconds: float
    inputs: tuple[int, ...] = ()
    submitted: float = 0.0  # seconds after the first one


def makespan(tasks: Sequence[Ran], workers: int, late: int = 0, after: float = 0.0) -> float:
    """Return the seconds that so many workers take for ``tasks``, which are in the order of their submission; ``late``
    of the workers come when ``after`` seconds have passed.

    A free worker takes the task that was submitted first among those that are there and whose inputs are (list
    scheduling; Graham, 1969: at most 2 - 1/workers times the shortest possible). Communication takes no time. Inputs
    are earlier positions. Raises `ValueError` for less than one worker.
    """
    if workers < 1:
        raise ValueError(f"there must be at least one worker, not {workers}")
    missing = [len(task.inputs) + (task.submitted > 0) for task in tasks]
    dependents: list[list[int]] = [[] for _ in tasks]
    for position, task in enumerate(tasks):
        for before in task.inputs:
            dependents[before].append(position)
    ready = [position for position, count in enumerate(missing) if not count]
    heapify(ready)
    events = [(task.submitted, _COMES, position) for position, task in enumerate(tasks) if task.submitted > 0]
    events += [(after, _JOINS, at) for at in range(late)]
    heapify(events)
    running, now, end = late, 0.0, 0.0
    while ready or events:
        if ready and running < workers:
            position = heappop(ready)
            running += 1
            heappush(events, (now + tasks[position].seconds, _ENDS, position))
            continue
        now, kind, position = heappop(events)
        running -= kind != _COMES
        end = now if kind == _ENDS else end
        for free in dependents[position] if kind == _ENDS else [position] if kind == _COMES else ():
            missing[free] -= 1
            if not missing[free]:
                heappush(ready, free)
    return end
