"""What a loop would take as tasks, from the measured times of its items: scheduled on paper, with what tasks cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellmill.telemetry.forecast import Ran, makespan

WORTH_IT = 5 / 6  # of the loop's time: what it must come down to
WORTH_SAYING = 0.02  # seconds that must be gained

SHORTEST_LOOK = 0.2  # seconds in which the ticks of idle processors tell something
ALL_FREE = 0.85  # of the processors: the rest is the kernel's own and the system's


_RELEASED = "its items release the GIL (threads run Python's own code one at a time)"


@dataclass(frozen=True, slots=True)
class Cost:
    """What tasks cost on this machine, in seconds: once for each loop, and for each item."""

    once: float
    each: float
    counted: int = (
        0  # items that measuring it ran on workers of a cluster; views count them with the user's tasks
    )


@dataclass(frozen=True, slots=True)
class Promise:
    """The seconds that a loop took, and would take with so many workers; ``bound``: what keeps it from being less."""

    now: float
    then: float
    workers: int
    bound: str
    condition: str = ""  # what has to hold for it

    @property
    def holds(self) -> bool:
        """Whether the gain is worth a promise."""
        return self.then <= WORTH_IT * self.now and self.now - self.then >= WORTH_SAYING


def predict(
    durations: Sequence[float],
    cost: Cost,
    workers: int,
    *,
    items: int,
    processor: float,
    cpus: float,
    waiting: float = 0.0,
    filtered: bool = False,
    shares_gil: bool = False,
) -> Promise:
    """Return what a loop would take as tasks.

    ``durations`` are those of its items, or of neighbours together; ``processor`` is the processor time that they
    took, which so many ``cpus`` bring down to a part at best: those that other programs leave; ``waiting``
    is the time of the iterable, and of the filter of a comprehension, which stay where they are. Workers that
    share the interpreter's lock compute at the same time only what does without it.
    """
    now = sum(durations) + waiting
    span = makespan([Ran(seconds) for seconds in durations], workers)
    computed = processor / cpus
    overhead = cost.once + items * cost.each
    then = max(span, computed, waiting) + overhead
    if overhead > max(span, computed, waiting):
        bound = "what tasks cost"
    elif waiting > max(span, computed):
        bound = "its iterable and filter, which run here" if filtered else "its iterable, which runs here"
    elif computed > span * 1.05:
        bound = _processors(cpus, in_use=processor > 1.3 * now)
    elif durations and span > 1.2 * now / workers and max(durations) > 0.8 * span:
        bound = "its longest item"
    else:
        bound = ""
    return Promise(now, then, workers, bound, _RELEASED if shares_gil and processor > then else "")


def _processors(cpus: float, *, in_use: bool) -> str:
    if cpus != int(cpus):
        return f"other programs, which leave it {cpus:.1f} processors"
    return f"{cpus:.0f} processors are in use already" if in_use else f"{cpus:.0f} processors"


def free_processors(cpus: int, used: float, idle: float | None, wall: float) -> float:
    """Return how many of the processors tasks may have, by how many seconds of them this process used and none did.

    A measurement of a few ticks tells nothing: all of them are taken for free.
    """
    if idle is None or wall < SHORTEST_LOOK:
        return cpus
    free = (used + idle) / wall
    return cpus if free > ALL_FREE * cpus else free
