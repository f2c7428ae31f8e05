"""Tasks that are over when they are submitted: an input had failed, and the scheduler knows it no longer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Protocol

from ...futures import Future, FutureOwner
from .scheduler import NO_BLOCK, Scheduler, StaleInput, ffi, with_gil
from .slots import SlotTable


class NotRunFuture(Future):
    """The future of such a task. Its arguments are not packed: what views show of them is kept here."""

    slot = -1

    def __init__(self, owner: FutureOwner, cause: Future, function: str, arguments: str) -> None:
        super().__init__(owner)
        self._inputs = (cause,)
        self.function = function
        self.arguments = arguments


class Entry(Protocol):
    """Such a future, or a chunk with one element of a map."""

    slot: int


def form_not_run(priority: int) -> Any:
    """Return what the scheduler is told of such a task (csched_options_t)."""
    form = ffi.new("csched_options_t *")
    form.failed, form.count, form.block, form.priority = 1, 1, NO_BLOCK, priority
    return form


def submit_not_run(
    scheduler: Scheduler, slots: SlotTable, entry: Entry, number_of: Callable[[], int], run: int, form: Any
) -> tuple[int, int]:
    """Submit such a task; return its ticket and the number of its function, which ``number_of`` gives."""
    while True:
        number, entry.slot = number_of(), slots.take()
        slots.entries[entry.slot] = entry
        ticket = with_gil.csched_submit_with(scheduler.handle, entry.slot, number, run, ffi.NULL, 0, 0, form)
        if ticket > 0:
            return int(ticket), number
        with contextlib.suppress(StaleInput):  # the function was renewed meanwhile
            slots.undo(entry.slot, ticket)
