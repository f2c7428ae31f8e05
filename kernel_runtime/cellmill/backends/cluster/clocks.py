"""Clocks: that of the process, whether a remote worker reads the same, and how far another one is ahead."""

from __future__ import annotations

import time
from pathlib import Path

now = time.monotonic_ns


def boot() -> str:
    """Names a clock: processes with the same one read the same CLOCK_MONOTONIC; empty where it is unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Clock:
    """Estimates how far a remote clock is ahead of the local one, in nanoseconds: the middle of the tightest bounds
    that any exchange gave.
    """

    def __init__(self) -> None:
        self.same = False
        self._least, self._most = -(1 << 62), 1 << 62

    def exchanged(self, sent: int, begun: int, ended: int, received: int) -> None:
        """Narrow the bounds by one exchange: ``sent`` and ``received`` by the local clock, ``begun`` and ``ended`` by
        the remote one, in nanoseconds.
        """
        self._least = max(self._least, ended - received)
        self._most = min(self._most, begun - sent)

    @property
    def ahead(self) -> int:
        return 0 if self.same else (self._least + self._most) // 2
