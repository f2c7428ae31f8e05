"""The pace of frames to a browser: ten a second, fewer where they would take the time of tasks.

A picture takes processor time of browser, server and kernel, and a few turns at the GIL. On an idle core that costs no
task. Where no core is idle, pictures get a small share of all cores: on two of them, ten a second cost tasks a sixth of
their rate.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

INTERVAL = 0.1  # seconds between pictures
PICTURE = 0.02  # seconds of processor time that one takes of all processes together, as measured
SHARE = 1 / 80  # of all cores' time that pictures may take where no core is idle
SLOWEST = 1.0  # seconds between pictures, at most: a picture is to be live
IDLE_CORES = 0.7  # fewer are none: kernel and workers wait for each other now and then
LOOK = 0.4  # seconds between looks at the machine
ATTENTION = 1.0  # seconds after an action in a view during which its effect is watched
_TICKS = os.sysconf("SC_CLK_TCK")


def idle_seconds() -> float | None:
    """Seconds that the machine's cores have been idle since it started, all together; None: unknown (proc(5))."""
    try:
        with open("/proc/stat", "rb") as stat:
            _, _, _, _, idle, waiting, *_ = stat.readline().split()
        return (int(idle) + int(waiting)) / _TICKS
    except (OSError, ValueError):
        return None


def crowded_interval(cores: int) -> float:
    """Seconds between pictures where none of so many cores is idle."""
    return min(SLOWEST, max(INTERVAL, PICTURE / (SHARE * cores)))


class Pace:
    """Seconds between pictures; looks at the machine from time to time. For one thread at a time, but for `hurry`."""

    def __init__(
        self,
        idle: Callable[[], float | None] = idle_seconds,
        clock: Callable[[], float] = time.monotonic,
        cores: int | None = None,
    ) -> None:
        self._idle, self._clock = idle, clock
        self._crowded_interval = crowded_interval(cores or os.cpu_count() or 1)
        self._seen = (clock(), idle())
        self._crowded = False
        self._hurry_until = 0.0

    def hurry(self) -> None:
        """A button was pressed, and its effect is watched."""
        self._hurry_until = self._clock() + ATTENTION

    def interval(self) -> float:
        """Seconds between two pictures, by how busy the machine has been lately."""
        now = self._clock()
        since, before = self._seen
        if now - since >= LOOK:
            idle = self._idle()
            self._seen = (now, idle)
            self._crowded = (
                idle is not None and before is not None and idle - before < IDLE_CORES * (now - since)
            )
        return self._crowded_interval if self._crowded and now >= self._hurry_until else INTERVAL
