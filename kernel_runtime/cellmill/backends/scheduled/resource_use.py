"""What the workers of one backend use, sampled while tasks run: over time, by function, and by tasks that declare
memory.

The memory of a worker is what it has for itself, without payloads and files that it maps: also what was there before
the task that it runs. It is seen at the samples; what a task had between two of them is not. Workers that share a
process share its memory: it counts once, and for no function.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ...task import Stats
from ...telemetry.usage import UNKNOWN, Point, Shares, UsageHistory, pack_workers
from .measured import Gauge, Host, Measured, of_process
from .scheduler import Scheduler
from .worker_infos import info_of

NEAR = 0.9  # of the memory that a task declares: it is said
OFTEN, SELDOM = 0.02, 0.2  # seconds between samples, when work begins and later
LATER = 100.0  # the time between samples is at least this part of the time that the work has run
REST = 3.0  # a sample is followed by so many times its own length at least
QUIET = 60.0  # seconds without tasks after which a new piece of work begins, where no cells tell
MOST_PEAKS, MOST_NEAR = 1024, 256  # runs, tasks


class Near(NamedTuple):
    """A task whose worker came near the memory that the task declared, in bytes."""

    ticket: int
    function: int
    element: int
    worker: int
    memory: int  # the most that was seen
    declared: int


class UseHost(Protocol):
    """The backend whose workers are sampled."""

    scheduler: Scheduler

    @property
    def pool(self) -> Any: ...

    def work_began(self) -> int: ...

    def stats(self) -> Stats: ...


class ResourceUse:
    """See the module. One thread calls `look`, any may ask."""

    def __init__(self, host: UseHost, gauge: Gauge, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._gauge = gauge
        self._clock = clock
        self._lock = threading.RLock()  # while it is held a map may be collected, whose end asks for its peak
        self._history = UsageHistory()
        self._peaks: dict[int, dict[int, int]] = {}  # by run and function
        self._present: dict[int, int] = {}  # by function, of the present piece of work
        self._near: dict[int, Near] = {}  # by ticket
        self._work = -1
        self._began = 0.0
        self._seen = (0, 0)  # tasks submitted and over at the last look
        self._last = 0.0  # when that was; 0: nothing ran
        self._shares = Shares()

    def look(self) -> float | None:
        """Take a sample where tasks run or ran since the last look; return the seconds until the next one, None where
        nothing runs.
        """
        stats, now = self._host.stats(), self._clock()
        seen = (stats.submitted, stats.done)
        runs = stats.done < stats.submitted
        if seen == self._seen and not runs:
            self._last = 0.0
            return None
        self._seen = seen
        work = self._host.work_began()
        with self._lock:
            if work != self._work or (not self._last and now - self._began > QUIET):
                self._history.begin()
                self._present.clear()
                self._work, self._began = work, now
            self._sample(stats, now)
        if not runs:
            self._last = 0.0
            return None
        return max(REST * (self._clock() - now), min(SELDOM, max(OFTEN, (now - self._began) / LATER)))

    def _sample(self, stats: Stats, now: float) -> None:
        start = self._last or now
        if not self._last:
            self._shares = Shares()
        values: dict[int, tuple[float, float]] = {}
        processes: dict[Hashable, tuple[float, float]] = {}
        busy = idle = 0
        for index in sorted(self._host.pool.members):
            info = info_of(self._host.scheduler, index)
            busy += bool(info.ticket)
            idle += info.state == 2 and not info.ticket
            found = self._gauge.measure(index)
            if found is None:
                continue
            used = (float(found.memory), self._shares.of(found.process, found.at, found.seconds))
            processes[found.process] = used
            if not found.shared:
                values[index] = used
                if info.ticket:
                    self._note(index, info, found)
        hosts = self._gauge.hosts()
        apart = (
            os.getpid() not in processes
        )  # else the workers are threads of the kernel: it is counted with them
        kernel = of_process(os.getpid()) if apart and any(host.here for host in hosts) else None
        kernel_share = UNKNOWN if kernel is None else self._shares.of(os.getpid(), kernel.at, kernel.seconds)
        known = [cpu for _, cpu in processes.values() if cpu == cpu]
        self._history.push(
            Point(
                start,
                now,
                float(busy),
                float(idle),
                sum(memory for memory, _ in processes.values()) if processes else UNKNOWN,
                sum(known) if known else UNKNOWN,
                kernel_share,
                float(sum(host.memory - host.free for host in hosts)) if hosts else UNKNOWN,
                pack_workers(values),
            )
        )
        self._shares.keep({*processes, os.getpid()})
        self._last = now

    def _note(self, index: int, before: Any, found: Measured) -> None:
        """Keep what a worker had while it ran this task, if it still runs it: a size read between two tasks is of
        neither.
        """
        info, size = info_of(self._host.scheduler, index), found.memory
        if info.ticket != before.ticket or info.state != 2:
            return
        if found.ticket is not None and found.ticket != info.ticket:
            return
        function = int(info.function)
        self._present[function] = max(self._present.get(function, 0), size)
        of_run = self._peaks.setdefault(int(info.run), {})
        of_run[function] = max(of_run.get(function, 0), size)
        while len(self._peaks) > MOST_PEAKS:
            del self._peaks[next(iter(self._peaks))]
        declared, ticket = int(info.asked), int(info.ticket)
        if declared and size >= NEAR * declared:
            known = self._near.get(ticket)
            if known is None or size > known.memory:
                self._near[ticket] = Near(ticket, function, int(info.element), index, size, declared)
            while len(self._near) > MOST_NEAR:
                del self._near[next(iter(self._near))]

    # -- from any thread

    def measured(self, index: int) -> Measured | None:
        """Return what a worker's process uses, for a view; None: not known."""
        self._gauge.wanted()
        return self._gauge.measure(index)

    def hosts(self) -> Sequence[Host]:
        """Return the machines of the workers, as far as they are known."""
        return self._gauge.hosts()

    def open_run(self, run: int) -> None:
        """Another run has this number now."""
        with self._lock:
            self._peaks.pop(run, None)

    def points(self, since: float, until: float = float("inf")) -> list[Point]:
        """Return what was used in that time, in monotonic seconds."""
        with self._lock:
            return self._history.points(since, until)

    def peak(self, run: int) -> int | None:
        """Return the most memory, in bytes, that a worker had while it ran a task of this run; None: not seen."""
        with self._lock:
            return max(self._peaks.get(run, {}).values(), default=None)

    def peaks(self, run: int | None) -> Mapping[int, int]:
        """Return the same by function, of a run or of the present piece of work."""
        with self._lock:
            return dict(self._present if run is None else self._peaks.get(run, {}))

    def near(self, ticket: int) -> Near | None:
        """Return what is known of a task that came near the memory that it declared."""
        return self._near.get(ticket)
