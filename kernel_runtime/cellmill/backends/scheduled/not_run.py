"""Single tasks that are over when they are submitted: an input had failed, and the scheduler knows it no longer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from ...futures import Future, FutureOwner
from .scheduler import NO_BLOCK, Scheduler, StaleInput, ffi, with_gil
from .slots import SlotTable


class NotRunFuture(Future):
    """The future of such a task. Its arguments are not packed: what views show of them is kept here."""

    def __init__(self, owner: FutureOwner, cause: Future, function: str, arguments: str) -> None:
        super().__init__(owner)
        self._inputs = (cause,)
        self.function = function
        self.arguments = arguments

    def submit(
        self, scheduler: Scheduler, slots: SlotTable, number_of: Callable[[], int], run: int, priority: int
    ) -> int:
        """Submit its task; return the number of its function, which ``number_of`` gives."""
        form = ffi.new("csched_options_t *")
        form.failed, form.count, form.block, form.priority = 1, 1, NO_BLOCK, priority
        while True:
            number, slot = number_of(), slots.take()
            slots.entries[slot] = self
            ticket = with_gil.csched_submit_with(scheduler.handle, slot, number, run, ffi.NULL, 0, 0, form)
            if ticket > 0:
                self._ticket = ticket
                return number
            with contextlib.suppress(StaleInput):  # the function was renewed meanwhile
                slots.undo(slot, ticket)
