"""Ending tasks in threads: KeyboardInterrupt; a thread that does not raise it in time is abandoned."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Protocol

from ...process_context.interrupts import loads_module
from ..scheduled.gate import Gate
from ..scheduled.scheduler import Scheduler, with_gil
from ..scheduled.stopping import GRACE_SECONDS, LOOK_SECONDS, MOST_SECONDS, Target, Targets
from .thread import WorkerThread


class Threads(Protocol):
    """The pool of workers."""

    @property
    def members(self) -> Mapping[int, WorkerThread]: ...

    def abandon(self, index: int, ticket: int, attempt: int) -> bool: ...


class ThreadStopper(Targets):
    """Ends tasks of one backend, in threads of its own that last as long as there is something to end."""

    def __init__(self, scheduler: Scheduler, gate: Gate) -> None:
        super().__init__(scheduler, gate)
        self.pool: Threads  # set once there is one

    def _see_to(self, targets: list[Target]) -> None:
        start = time.monotonic()
        pending = targets
        while not self._gate.foreign:
            late = time.monotonic() - start - GRACE_SECONDS
            pending = [target for target in pending if not self._is_over(target, late)]
            if not pending:
                return
            time.sleep(LOOK_SECONDS)

    def _is_over(self, target: Target, late: float) -> bool:
        """Whether the task has ended; after the grace, see to that."""
        unheard = int(with_gil.csched_unheard(self._handle, target.ticket, target.attempt, target.element))
        if unheard < 0 or late > MOST_SECONDS:
            return True
        member = self.pool.members.get(target.worker)
        if member is None:
            return True
        if unheard and not loads_module(sys._current_frames().get(member.thread.ident or 0)):
            with_gil.csched_thread_interrupt(member.form, target.ticket, target.attempt)
        return late >= 0 and self.pool.abandon(target.worker, target.ticket, target.attempt)
