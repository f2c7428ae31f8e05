"""Workers that die before they are ready: when to wait, and when to give up."""

from __future__ import annotations

import time

MOST = 5  # deaths in a row before it looks like a rule
LEAST_SECONDS = 1.0  # and for so long: a few workers that are killed in an instant do not end the pool
ROW_SECONDS = 10.0  # between two deaths of one row
PAUSE_SECONDS = 0.1


class FailedStarts:
    """A row of them. Not safe among threads."""

    def __init__(self) -> None:
        self.count = 0
        self._first = self._last = 0.0

    def add(self) -> None:
        """Count one more failed start."""
        now = time.monotonic()
        if not self.count or now - self._last > ROW_SECONDS:
            self.count, self._first = 0, now
        self.count += 1
        self._last = now

    def end(self) -> None:
        """A worker was ready: the row is over."""
        self.count = 0

    @property
    def hopeless(self) -> bool:
        """Starting more would go on for ever."""
        return self.count >= MOST and self._last - self._first >= LEAST_SECONDS

    @property
    def pause(self) -> float:
        """Seconds to let pass before the next start: none at first, a new worker is wanted at once."""
        return PAUSE_SECONDS if self.count >= MOST else 0.0
