"""How often pictures are sent to a browser: ten times a second, less often where they would take the time of tasks.

A picture costs 10 to 20 ms of processor time of browser, server and kernel together, and a few turns at the GIL. Where
a core is idle that is nobody's loss. Where none is, ten a second cost tasks on two cores a sixth of their rate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

INTERVAL = 0.1  # seconds between pictures
CROWDED_INTERVAL = 0.4  # where no core is idle
IDLE_CORES = 0.5  # fewer are none: kernel and workers wait for each other now and then
LOOK = 0.4  # seconds between looks at the machine
_TICKS = os.sysconf("SC_CLK_TCK")


def idle_seconds() -> float | None:
    """Seconds that the machine's cores have been idle since it started, all together; None: nobody says (proc(5))."""
    try:
        with open("/proc/stat", "rb") as stat:
            _, _, _, _, idle, waiting, *_ = stat.readline().split()
        return (int(idle) + int(waiting)) / _TICKS
    except (OSError, ValueError):
        return None


class Pace:
    """Seconds between pictures; looks at the machine from time to time. For one thread at a time."""

    def __init__(
        self,
        idle: Callable[[], float | None] = idle_seconds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._idle, self._clock = idle, clock
        self._seen = (clock(), idle())
        self._interval = INTERVAL

    def interval(self) -> float:
        """As the machine has been of late."""
        now = self._clock()
        since, before = self._seen
        if now - since >= LOOK:
            idle = self._idle()
            self._seen = (now, idle)
            if idle is None or before is None:
                self._interval = INTERVAL
            else:
                crowded = idle - before < IDLE_CORES * (now - since)
                self._interval = CROWDED_INTERVAL if crowded else INTERVAL
        return self._interval
