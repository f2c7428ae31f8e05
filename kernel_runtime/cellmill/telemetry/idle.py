"""Why workers were idle: each moment of their idle time has one reason, which csched finds from all tasks' stamps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields

DIFFERS = (
    0.02  # of the workers' time: by more the tasks' stamps do not tell all that the scheduler's sums tell
)


@dataclass(frozen=True, slots=True)
class Idle:
    """Worker-seconds without a task, by reason, in the order of csched's."""

    unused: float = 0.0  # workers for which there was no task at all
    submission: float = 0.0  # the next task was not yet submitted
    packing: float = 0.0  # the same, while the kernel packed arguments
    delivery: float = 0.0  # a task was ready and had not reached the worker
    chain: float = 0.0  # the tasks that were left waited for results of others
    imbalance: float = 0.0  # the tasks that were left ran on other workers, or were queued there
    last: float = 0.0  # the same, with one task that ran and no other left
    held: float = 0.0  # tasks were ready and had to wait for resources, or for the end of a pause

    @property
    def seconds(self) -> float:
        """The sum."""
        return math.fsum(getattr(self, each.name) for each in fields(self))

    def scaled(self, seconds: float) -> Idle:
        """Return the same shares of another sum."""
        scale = seconds / self.seconds if self.seconds else 0.0
        return Idle(**{each.name: scale * getattr(self, each.name) for each in fields(self)})

    def words(self) -> Iterator[tuple[float, str]]:
        """Yield each part, and what the workers were."""
        for reason, what in _WORDS.items():
            yield getattr(self, reason), what

    def parts(self) -> Iterator[tuple[str, str, float]]:
        """Yield the name, the words and the worker-seconds of each reason that took time."""
        for reason, what in _WORDS.items():
            seconds: float = getattr(self, reason)
            if seconds > 0:
                yield reason, what, seconds


_WORDS = {  # what workers were, by reason
    "unused": "idle for want of tasks",
    "submission": "idle until more tasks were submitted",
    "packing": "idle while the kernel packed arguments",
    "delivery": "idle until ready tasks reached them",
    "chain": "idle while tasks waited for results of others",
    "imbalance": "idle beside workers that had more to do",
    "last": "idle while the last task ran",
    "held": "idle while ready tasks waited for resources, or for the end of a pause",
}


def explained(found: Idle, idle: float, capacity: float) -> Idle | None:
    """Return the reasons ``found`` from the tasks' stamps for ``idle`` of ``capacity`` worker-seconds.

    None where the stamps do not add up to that: some attempts have left none.
    """
    return None if abs(found.seconds - idle) > DIFFERS * capacity else found.scaled(idle)
