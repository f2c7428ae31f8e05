"""Ending tasks in threads: KeyboardInterrupt, and who does not hear it in time is left to itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..scheduled.scheduler import with_gil
from ..scheduled.stopping import GRACE_SECONDS, LOOK_SECONDS, MOST_SECONDS, Target, Targets

if TYPE_CHECKING:
    from .backend import ThreadsBackend


class ThreadStopper(Targets):
    """Ends tasks of one backend, in threads of its own that last as long as there is something to end."""

    def __init__(self, backend: ThreadsBackend) -> None:
        super().__init__(backend)
        self._backend = backend

    def _see_to(self, targets: list[Target]) -> None:
        start = time.monotonic()
        pending = targets
        while not self._backend.foreign:
            late = time.monotonic() - start - GRACE_SECONDS
            pending = [target for target in pending if not self._is_over(target, late)]
            if not pending:
                return
            time.sleep(LOOK_SECONDS)

    def _is_over(self, target: Target, late: float) -> bool:
        """Whether the task has ended; after the grace, see to that."""
        unheard = int(with_gil.csched_unheard(self._handle, target.ticket, target.element))
        if unheard < 0 or late > MOST_SECONDS:
            return True
        member = self._backend.pool.members.get(target.worker)
        if member is None:
            return True
        if unheard:
            with_gil.csched_thread_interrupt(member.form, target.ticket)
        return late >= 0 and self._backend.pool.abandon(target.worker, target.ticket)
