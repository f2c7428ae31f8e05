"""Single tasks that are tried again by a rule of their own: the scheduler asks after each attempt that failed."""

from __future__ import annotations

from typing import Any

from ...futures import Future, FutureOwner
from ...task import Retry
from .scheduler import with_gil


class RetriedFuture(Future):
    """The future of a task with a `Retry`."""

    def __init__(self, owner: FutureOwner, retry: Retry) -> None:
        super().__init__(owner)
        self.retry = retry
        self.attempt = 0  # failed ones so far
        self.last: BaseException | None = None  # the error it ends with

    def answer(self, handle: Any, ticket: int, status: int, error: BaseException) -> None:
        """An attempt failed: say when the next one begins, or that there is none."""
        if self._ticket not in (0, ticket):  # that task was cancelled, and its slot is this one's now
            return
        delay = self.retry.delay(self.attempt, error)
        self.attempt += 1
        if delay is None:
            self.last = error
            with_gil.csched_give_up(handle, ticket, status)
        else:
            with_gil.csched_retry(handle, ticket, int(delay * 1e9))
