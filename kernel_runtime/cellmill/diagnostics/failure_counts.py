"""The failures of a run, folded: how many of each type of error, and what the first of them said."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from dataclasses import dataclass

from ..errors import class_name, is_a, text_of

KINDS = 32
"""Types of errors that are told apart; the others are counted together."""
MESSAGE = 200
"""Characters kept of a message."""
OTHERS = "other errors"


@dataclass(frozen=True, slots=True)
class FailureCount:
    """One type of error: how many tasks ended with it, and the first one's message."""

    kind: str
    count: int
    message: str


class FailureCounts:
    """Counts errors by type. Any thread may add and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kinds: dict[str, FailureCount] = {}

    def add(self, error: BaseException) -> None:
        """Count a task that failed; one that was cancelled is no failure."""
        if is_a(error, CancelledError):
            return
        kind = class_name(type(error))
        with self._lock:
            if kind not in self._kinds and len(self._kinds) >= KINDS:
                kind = OTHERS
            known = self._kinds.get(kind)
            if known is None:
                words = text_of(error)
                self._kinds[kind] = FailureCount(
                    kind, 1, words if len(words) <= MESSAGE else f"{words[:MESSAGE]}…"
                )
            else:
                self._kinds[kind] = FailureCount(kind, known.count + 1, known.message)

    def folded(self) -> list[FailureCount]:
        """The types, the most frequent first."""
        with self._lock:
            return sorted(self._kinds.values(), key=lambda failure_count: -failure_count.count)
