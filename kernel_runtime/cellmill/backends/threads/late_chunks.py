"""Chunks in threads whose elements take longer than expected: what is over does not wait for the rest."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Hashable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...serialization.chunk_outcomes import Unsent

LOOK_SECONDS = 0.1
IDLE_SECONDS = 2.0  # the thread ends when no chunk has run for so long


class LateChunks:
    """The chunks that run. Every look sends outcomes of those that ran at the look before, in a thread of its own."""

    def __init__(self) -> None:
        self._running: dict[Hashable, Unsent] = {}
        self._lock = threading.Lock()
        self._looks = False

    def put(self, worker: Hashable, unsent: Unsent | None) -> None:
        """The chunk that a worker runs from now on; None: none."""
        if unsent is None:
            self._running.pop(worker, None)
            return
        self._running[worker] = unsent
        if not self._looks:
            with self._lock:
                begins, self._looks = not self._looks, True
            if begins:
                threading.Thread(target=self._look, name="cellmill-late-chunks", daemon=True).start()

    def _look(self) -> None:
        before: set[Unsent] = set()
        used = time.monotonic()
        while True:
            time.sleep(LOOK_SECONDS)
            running = set(self._running.copy().values())
            for unsent in running & before:
                with contextlib.suppress(BaseException):  # of a thread that was given up: SystemExit
                    unsent.send(aside=True)
            before = running
            if running:
                used = time.monotonic()
            elif time.monotonic() - used > IDLE_SECONDS:
                with self._lock:
                    if not self._running:
                        self._looks = False
                        return
