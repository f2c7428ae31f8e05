"""Gives futures of Dask back when nothing else is to be said.

A client sends at most one message every 10 ms, its scheduler one to each worker every 5 ms. A future that is released
as soon as its result is here takes the turn of the next pack, which then waits: round trips took twice as long.
"""

from __future__ import annotations

import threading
from typing import Any

MOST = 64  # futures, until the next look at the cluster


class Releases:
    """Futures whose results have been taken."""

    def __init__(self) -> None:
        self._done: list[Any] = []
        self._lock = threading.Lock()

    def add(self, future: Any) -> None:
        """Release it with the next ones."""
        with self._lock:
            self._done.append(future)
            many = len(self._done) >= MOST
        if many:
            self.release()

    def release(self) -> None:
        """Release all of them."""
        with self._lock:
            done, self._done = self._done, []
        for future in done:
            future.release()
