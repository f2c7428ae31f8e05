"""Processor time that workers use in a piece of work, and that the machine has left meanwhile; and what callers do."""

from __future__ import annotations

import time
from collections.abc import Callable
from operator import sub
from pathlib import Path
from typing import NamedTuple

from ...process_context.cpus import available_cpus, seconds_without_processor

CALLING = 4e-6  # seconds at most between a call and the submit in it, and back
_UPTIME = Path("/proc/uptime")


class CallerTime(NamedTuple):
    """What those did who submit single calls."""

    calls: int  # that they made
    pauses: float  # seconds of the longest gaps between a call, or a wait, and the next call: more than 20 ms each
    gaps: tuple[int, ...]  # how many others were so short: 4 for each power of 2 ns
    waited: float  # seconds in which the main thread waited for results

    def since(self, before: CallerTime) -> CallerTime:
        """Return what was done after that."""
        gaps = tuple(map(sub, self.gaps, before.gaps))
        return CallerTime(
            self.calls - before.calls, self.pauses - before.pauses, gaps, self.waited - before.waited
        )

    @property
    def own(self) -> float:
        """Return the seconds that callers took for themselves: long gaps, and the median for each of the others, since
        some are waits for the GIL. A gap begins and ends in Cellmill, which takes a part of it.
        """
        middle, seen = sum(self.gaps) / 2, 0
        for at, count in enumerate(self.gaps):
            seen += count
            if seen and seen >= middle:
                gap = (4.5 + at % 4) / 4 * 2.0 ** (at // 4) * 1e-9
                return self.pauses + sum(self.gaps) * max(0.0, gap - CALLING)
        return self.pauses


class Used(NamedTuple):
    """Processor time in a period, in seconds."""

    period: float  # wall time
    workers: float  # used by the workers, all their threads
    idle: float  # of all processors of the machine, used by no process
    caller: CallerTime
    without: float | None  # how long the workers could run and had no processor; None: unknown

    @property
    def processors(self) -> float:
        """How many processors the workers could have kept busy, beside what else the machine did."""
        if self.period <= 0:
            return available_cpus()
        return min(available_cpus(), (self.workers + self.idle) / self.period)


class _Sample(NamedTuple):
    time: float
    by_process: dict[int, float]
    idle: float
    caller: CallerTime
    without: dict[int, float | None]  # by process


class ProcessorUse:
    """Samples at the two moments at which the latest pieces of work may have begun.

    A cell is a new piece of work only once it has submitted a task; until then the one before is the present one.
    """

    def __init__(
        self, by_process: Callable[[], dict[int, float]], caller_time: Callable[[], CallerTime]
    ) -> None:
        """``by_process``: see `WorkerPool.processor_seconds`; ``caller_time``: `PlainSubmit.caller_time`."""
        self._by_process = by_process
        self._caller_time = caller_time
        self._samples: tuple[_Sample | None, _Sample | None] = (None, None)

    def begin(self) -> None:
        """Take a sample: the next task begins a new piece of work."""
        self._samples = (self._samples[1], self._sample())

    def forget(self) -> None:
        """The next task begins a new piece of work, which is not sampled."""
        self._samples = (None, None)

    def used(self, *, before: bool) -> Used | None:
        """Return what was used since the last `begin`, or ``before`` it; None where it is unknown."""
        first, last = self._samples if before else (self._samples[1], self._sample())
        if first is None or last is None or not last.by_process:
            return None
        seconds = sum(now - first.by_process.get(pid, 0.0) for pid, now in last.by_process.items())
        waits = [
            None if now is None else now - (first.without.get(pid) or 0.0)
            for pid, now in last.without.items()
        ]
        return Used(
            last.time - first.time,
            seconds,
            last.idle - first.idle,
            last.caller.since(first.caller),
            None if None in waits else sum(wait or 0.0 for wait in waits),
        )

    def _sample(self) -> _Sample | None:
        try:
            idle = float(_UPTIME.read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return None
        used = self._by_process()
        without = {pid: seconds_without_processor(pid) for pid in used}
        return _Sample(time.monotonic(), used, idle, self._caller_time(), without)
