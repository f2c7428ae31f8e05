"""The table of unfinished tasks: which future or chunk belongs to which slot of the scheduler."""

from __future__ import annotations

import threading
from array import array
from typing import Any

from ...process_context.interrupts import uninterrupted
from .scheduler import Scheduler, check, with_gil

FIRST_SIZE = 4096


class SlotTable:
    """``entries[slot]`` is the future or chunk of the task in that slot.

    Slots are taken before a task is submitted and given back after its completion was committed; an interrupt in
    between loses nothing, because what was not committed is seen again and what was settled is not settled twice.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self.entries: list[Any] = []
        self.free = array("I")  # no list: a million integers would hold on to memory that futures gave back
        self._growing = threading.Lock()

    def take(self) -> int:
        """A free slot; the table doubles when there is none."""
        while True:
            try:
                return self.free.pop()
            except IndexError:
                # torn in two by Stop, it would double again with each Stop that follows
                with uninterrupted(), self._growing:
                    if self.free:
                        continue
                    size = len(self.entries)
                    grown = max(FIRST_SIZE, 2 * size)
                    with_gil.csched_reserve(self._scheduler.handle, grown)
                    self.entries.extend([None] * (grown - size))
                    self.free.extend(array("I", range(grown - 1, size - 1, -1)))

    def undo(self, slot: int, code: int) -> None:
        """A submit was refused with this code: its slot is free again, and the reason is raised."""
        self.entries[slot] = None
        self.free.append(slot)
        check(code, "submitting a task")

    def entry(self, slot: int) -> Any:
        """The future or chunk in a slot; None when there is none."""
        return self.entries[slot] if slot < len(self.entries) else None
