"""The state map: what became of each task, in the order of submission, a byte each in the scheduler's memory.

The scheduler writes it as tasks come and end. What it does not see is written from here: elements that failed within
their chunk, and tasks that ended before they were submitted.
"""

from __future__ import annotations

from dataclasses import dataclass

from .scheduler import Scheduler, check, ffi, nogil, nogil_cast, with_gil

WAITING, QUEUED, RUNNING = (
    with_gil.CSCHED_MAP_WAITING,
    with_gil.CSCHED_MAP_QUEUED,
    with_gil.CSCHED_MAP_RUNNING,
)
DONE, FAILED = with_gil.CSCHED_MAP_DONE, with_gil.CSCHED_MAP_FAILED
CANCELLED, LOST = with_gil.CSCHED_MAP_CANCELLED, with_gil.CSCHED_MAP_LOST


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

    def picture(self, first: int, last: int, span: int, most: int) -> Picture:
        """Return at most ``most`` cells of ``span`` tasks each, a power of two, from position ``first`` on. Releases
        the GIL.
        """
        wanted = ffi.new("csched_state_map_t *")
        wanted.first, wanted.last, wanted.span = first, last, span
        cells, packed = ffi.new("uint8_t[]", most), ffi.new("uint8_t[]", most + most // 128 + 1)
        scheduler = self._scheduler
        form, to = _free("csched_state_map_t *", wanted), _free("uint8_t *", cells)
        check(nogil.csched_state_map(scheduler.nogil_handle, form, to, most), "drawing the map")
        size = with_gil.csched_state_map_pack(cells, wanted.cells, packed)
        return Picture(
            wanted.first, wanted.last, span, tuple(wanted.counts), bytes(ffi.buffer(packed)[:size])
        )

    def position(self, slot: int) -> int:
        """Return the position of the first element of the task in this slot, whose completion is not committed yet."""
        return int(with_gil.csched_task_position(self._scheduler.handle, slot))

    def put(self, position: int | None, count: int, state: int) -> None:
        """Write the state of so many tasks; those without a position get the next ones."""
        if position is None:
            with_gil.csched_state_map_add(self._scheduler.handle, count, state)
        else:
            with_gil.csched_state_map_set(self._scheduler.handle, position, count, state)


def _free(kind: str, pointer: object) -> object:
    """Convert a pointer for the module that releases the GIL."""
    return nogil_cast(kind, int(ffi.cast("uintptr_t", pointer)))
