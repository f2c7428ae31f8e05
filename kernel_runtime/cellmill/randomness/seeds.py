"""`seed` and `task_seed`: tasks whose random numbers repeat."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..executor import in_worker
from . import streams
from .generators import here

if TYPE_CHECKING:
    from numpy.random import SeedSequence

__all__ = ["seed", "task_seed"]


def seed(number: int | None) -> None:
    """Have tasks draw the same numbers in every run: `random` and `numpy.random` are seeded for each of them.

    A task is seeded from (number, index): an element's place in its map, or how many calls of the function there were
    since this call. It holds for what is submitted from now on; None: tasks are not seeded any more, as at the start.
    Seeding costs a task about 50 us. In the threads of ``backend="threads"``, which share these streams, only
    `task_seed` follows it. Raises `UsageError` inside a task.
    """
    if in_worker():
        raise UsageError("cellmill.seed holds for tasks that are submitted: call it where you submit them")
    if number is not None:
        try:
            number = operator.index(number)
        except TypeError:
            number = -1
        if number < 0:
            raise UsageError(
                "cellmill.seed takes a whole number of at least 0, or None to seed tasks no more"
            )
    streams.set_seed(number)


def task_seed() -> SeedSequence:
    """The running task's own `numpy.random.SeedSequence`, for ``numpy.random.default_rng(cellmill.task_seed())``.

    After ``cellmill.seed(n)`` it is ``SeedSequence(n, spawn_key=(index,))``. Else it has fresh entropy, another one at
    each call; its ``entropy`` tells how to repeat it. Raises `UsageError` outside of tasks.
    """
    if not in_worker():
        raise UsageError(
            "cellmill.task_seed() is for code inside a task; here, numpy.random.SeedSequence(n) makes a seed"
        )
    made: SeedSequence = _sequence(*here.task) if here.task is not None else _sequence(None, None)
    return made


def _sequence(number: int | None, index: int | None) -> Any:
    try:
        from numpy.random import SeedSequence
    except ImportError as error:
        raise UsageError("cellmill.task_seed() needs numpy: pip install numpy") from error
    return SeedSequence(number, spawn_key=() if index is None else (index,))
