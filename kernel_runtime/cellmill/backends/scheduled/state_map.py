"""The state map: what became of each task, in the order of submission, a byte each in the scheduler's memory.

The scheduler writes it as tasks come and end. What it does not see is written from here: elements that failed within
their chunk, and tasks that ended before they were submitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...task import NO_RUN
from .scheduler import Scheduler, check, ffi, nogil, nogil_cast, with_gil

WAITING, QUEUED, RUNNING = (
    with_gil.CSCHED_MAP_WAITING,
    with_gil.CSCHED_MAP_QUEUED,
    with_gil.CSCHED_MAP_RUNNING,
)
DONE, FAILED = with_gil.CSCHED_MAP_DONE, with_gil.CSCHED_MAP_FAILED
CANCELLED, LOST = with_gil.CSCHED_MAP_CANCELLED, with_gil.CSCHED_MAP_LOST
UNKNOWN = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Picture:
    """A part of the map: positions from ``first`` up to ``last``, of those asked for what is known.

    ``counts`` are tasks by state; ``cells`` are packed (PackBits): states, or sums of ``span`` tasks (csched.h).
    """

    first: int
    last: int
    span: int
    counts: tuple[int, ...]
    cells: bytes


class States:
    """The map of one scheduler."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    @property
    def next(self) -> int:
        """Number of positions given so far."""
        return int(with_gil.csched_state_map_next(self._scheduler.handle))

    def count(self, run: int) -> int:
        """Return the number of positions that tasks of a run have been given."""
        return self._draw(0, 0, 1, 1, run)[0]

    def picture(self, first: int, last: int, span: int, most: int, run: int | None = None) -> Picture:
        """Return at most ``most`` cells of ``span`` tasks each, a power of two, from position ``first`` on; of one run,
        ``first`` and ``last`` count its own tasks. Releases the GIL.
        """
        return self._draw(first, last, span, most, run)[1]

    def _draw(self, first: int, last: int, span: int, most: int, run: int | None) -> tuple[int, Picture]:
        wanted = ffi.new("csched_state_map_t *")
        wanted.first, wanted.last, wanted.span = first, last, span
        cells, packed = ffi.new("uint8_t[]", most), ffi.new("uint8_t[]", most + most // 128 + 1)
        scheduler = self._scheduler
        form, to = _free("csched_state_map_t *", wanted), _free("uint8_t *", cells)
        handle = scheduler.nogil_handle
        rc = (
            nogil.csched_state_map(handle, form, to, most)
            if run is None
            else nogil.csched_state_map_of_run(handle, run, form, to, most)
        )
        check(rc, "drawing the map")
        size = with_gil.csched_state_map_pack(cells, wanted.cells, packed)
        picture = Picture(
            wanted.first, wanted.last, span, tuple(wanted.counts), bytes(ffi.buffer(packed)[:size])
        )
        return int(wanted.next), picture

    def position_in(self, run: int, place: int) -> int | None:
        """Return the position of a run's task by its place among the run's tasks; None: not known any more."""
        found = int(nogil.csched_state_map_position(self._scheduler.nogil_handle, run, place))
        return None if found == UNKNOWN else found

    def position(self, slot: int) -> int:
        """Return the position of the first element of the task in this slot, whose completion is not committed yet."""
        return int(with_gil.csched_task_position(self._scheduler.handle, slot))

    def put(self, position: int | None, count: int, state: int, run: int = NO_RUN) -> None:
        """Write the state of so many tasks; those without a position get the next ones, as tasks of ``run``."""
        if position is None:
            with_gil.csched_state_map_add(self._scheduler.handle, run, count, state)
        else:
            with_gil.csched_state_map_set(self._scheduler.handle, position, count, state)


def _free(kind: str, pointer: object) -> object:
    """Convert a pointer for the module that releases the GIL."""
    return nogil_cast(kind, int(ffi.cast("uintptr_t", pointer)))
