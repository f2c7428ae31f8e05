"""Futures of calls whose results are known when they are made."""

from __future__ import annotations

from typing import Any

from ..futures import FINISHED, Future, FutureOwner


class SettledOwner:
    """The owner of futures that are over from the start; see `FutureOwner`."""

    def wait(self, future: Future, timeout: float | None) -> None:
        """There is nothing to wait for."""

    def cancel(self, future: Future) -> bool:
        return False

    def stop(self, future: Future) -> bool | None:
        return None

    def is_running(self, future: Future) -> bool:
        return False

    def is_stopping(self, future: Future) -> bool:
        return False

    def call_text(self, future: Future) -> str:
        return ""


def settled(owner: FutureOwner, result: Any = None, exception: BaseException | None = None) -> Future:
    """A future that is over from the start; others may have its value, too."""
    future = Future(owner)
    if exception is None:  # no other thread has it yet
        future._result, future._state, future._given = result, FINISHED, True
    else:
        future.settle(None, exception)
    return future
