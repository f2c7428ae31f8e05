"""Journeys on their way into files, and back: read from a scheduler as they come, packed and unpacked in C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ... import _csched
from ...errors import UsageError
from .scheduler import JOURNEY, Scheduler, check, nogil

ffi = _csched.ffi  # of the module whose calls release the GIL
MOST, MOST_GROUPS = 65_536, 8192  # rows of one look: single tasks stay in the processor's cache
_MOST_FUNCTIONS = 64
FOREVER = 2**64 - 1
_room = ffi.new_allocator(should_clear_after_alloc=False)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one run among those of a look."""

    count: int
    functions: tuple[int, ...] | None  # their numbers; None: too many to tell
    data: bytes  # packed


class RowReader:
    """Reads the journeys of one backend from now on, in the order in which tasks ended. One thread at a time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._look = ffi.new("csched_look_t *")
        self._look.cursor = self.written()
        self._groups: Any = None  # some megabytes, with the first look
        self._packed = ffi.new("csched_rows_packed_t *")
        self.count = 0

    def written(self) -> int:
        """Number of rows that there have been so far."""
        stats = ffi.new("csched_stats_t *")
        nogil.csched_stats(self._scheduler.nogil_handle, stats)
        return int(stats.journeys)

    @property
    def at(self) -> int:
        """Number of rows that were read, or missed."""
        return int(self._look.cursor)

    def from_the_oldest(self) -> RowReader:
        """Begin with the oldest row that is kept."""
        self._look.cursor = 0
        return self

    def look(self) -> int:
        """Read what came, at most `MOST` rows or `MOST_GROUPS` of their groups; returns how many were overwritten
        before they could be read.
        """
        look = self._look
        if self._groups is None:
            took = MOST * int(nogil.CSCHED_TOOK_MOST)
            self._groups = look.groups = _room("csched_group_t[]", MOST_GROUPS)
            self._took = look.took = _room("uint8_t[]", took)
            self._out = _room("char[]", MOST_GROUPS * int(nogil.CSCHED_PACKED_MOST) + took)
            look.most, look.most_groups = MOST, MOST_GROUPS
        nogil.csched_rows_look(self._scheduler.nogil_handle, look)
        self.count = int(look.rows)
        self._packed.next = 0
        return int(look.dropped)

    def first(self) -> tuple[int, int] | None:
        """Return the run of the first row that was not taken yet, and when it was submitted."""
        at = int(self._packed.next)
        if at >= self._look.count:
            return None
        row = self._groups[at].row
        return int(row.run), int(row.stamps[0])

    def take(self, run: int, since: int, until: int = FOREVER) -> Part:
        """Take the rows of a run that were submitted from ``since`` on and before ``until``; the first one must be."""
        packed = self._packed
        size = nogil.csched_rows_pack(self._look, run, since, until, self._out, packed)
        several = int(packed.functions)
        functions = tuple(packed.function[0:several]) if several <= _MOST_FUNCTIONS else None
        return Part(int(packed.count), functions, bytes(ffi.buffer(self._out, size)))

    def leave(self, run: int, since: int, until: int = FOREVER) -> None:
        """Take them, and do nothing with them."""
        nogil.csched_rows_pack(self._look, run, since, until, ffi.NULL, self._packed)

    def rows(self) -> bytes:
        """The rows of this look as they are, see `JOURNEY`."""
        rows = ffi.new("csched_journey_t[]", max(1, self.count))
        nogil.csched_rows_unfold(self._look, rows)
        return bytes(ffi.buffer(rows, self.count * JOURNEY.size))


def unpack(count: int, data: bytes, run: int = 0) -> bytes:
    """Return rows in the format `JOURNEY`; raises `UsageError` where the bytes are no such rows."""
    if count > MOST or count > len(data):
        raise UsageError("these are no packed journeys")
    rows = ffi.new("csched_journey_t[]", max(1, count))
    if nogil.csched_rows_unpack(ffi.from_buffer(data), len(data), run, count, rows) != 0:
        raise UsageError("these are no packed journeys")
    return bytes(ffi.buffer(rows, count * JOURNEY.size))


def restore(scheduler: Scheduler, rows: bytes) -> None:
    """Put rows into the journeys of a scheduler that has no tasks, to be folded."""
    check(
        nogil.csched_rows_restore(
            scheduler.nogil_handle,
            ffi.cast("csched_journey_t *", ffi.from_buffer(rows)),
            len(rows) // JOURNEY.size,
        ),
        "reading journeys",
    )
