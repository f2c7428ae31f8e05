"""Room for large payloads: in memory, or soon in memory, or in a file, or none."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from ...errors import PayloadError
from ...process_context.interrupts import interrupt_pending
from ...serialization.payload import Encoded
from ...task import Stats
from .scheduler import DiskFull, Full, Scheduler, TooLarge

# Memory that is full is worth a wait while tasks run that hold some of it. Not a long one: what they wait for may be
# what the caller does next.
MEMORY_PATIENCE_S = 0.2
# A full disk leaves nothing but waiting. Tasks that run may end at any time; those in the queue may be held back.
DISK_PATIENCE_S = 5.0
LOOK_MS = 20  # between two attempts


class Room:
    """Finds blocks for the payloads of one backend."""

    def __init__(self, scheduler: Scheduler, stats: Callable[[], Stats], resolve: Callable[[], bool]) -> None:
        self._scheduler = scheduler
        self._stats = stats
        self._resolve = resolve
        self._full_at = -1  # so many tasks had ended when waiting was of no use

    def store(self, encoded: Encoded) -> int:
        """Write a payload to a block; its offset. Waits or goes to disk when memory is full."""
        try:
            return self._scheduler.store(encoded)
        except TooLarge:
            pass
        except Full:
            if self._stats().done != self._full_at:
                block = self._wait(self._scheduler.store, encoded, MEMORY_PATIENCE_S)
                if block is not None:
                    return block
                self._full_at = self._stats().done
        try:
            return self._scheduler.spill(encoded)
        except DiskFull:
            block = self._wait(self._anywhere, encoded, DISK_PATIENCE_S, while_running=True)
        if block is None:
            raise PayloadError(
                f"no room for a payload of {encoded.size:,} bytes, in memory or on disk. Let go of results that this "
                "process still refers to, let tasks end before you submit more, free the disk, or name another by "
                "TMPDIR."
            )
        return block

    def _anywhere(self, encoded: Encoded) -> int:
        try:
            return self._scheduler.store(encoded)
        except Full:
            return self._scheduler.spill(encoded)

    def _wait(
        self,
        attempt: Callable[[Encoded], int],
        encoded: Encoded,
        patience: float,
        while_running: bool = False,
    ) -> int | None:
        """Try again while tasks may end; None when none can, or for too long."""
        end = time.monotonic() + patience
        while True:
            stats = self._stats()
            late = time.monotonic() > end
            if (
                interrupt_pending()
                or not (stats.running or (stats.queued and not late))
                or (late and not while_running)
            ):
                return None
            settled = self._resolve()
            if self._scheduler.wait(LOOK_MS) and not settled:
                # This very thread may settle results, a chunk of a map among them whose next one is sent here: what has
                # come is not taken meanwhile, and ends a wait at once.
                time.sleep(LOOK_MS / 1000)
            with contextlib.suppress(Full, DiskFull):
                return attempt(encoded)
