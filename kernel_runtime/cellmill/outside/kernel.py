"""A kernel that is watched over time: its figures, with throughput, the time that is left, and memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..process_context.machine import own_bytes
from .attached import Attached, all_paused
from .folder import Served

__all__ = ["Following", "Kernel"]

JOURNEYS = 50  # tasks that ended last
SPAN = 2.0  # seconds of which throughput is the mean
PACE = 10.0  # seconds of which the pace of a run is the mean
COUNTS = ("submitted", "waiting", "queued", "running", "succeeded", "failed", "lost", "cancelled", "workers")


ENDS = ("succeeded", "failed", "lost", "cancelled")


class Pace:
    """How many tasks run to an end in a second, over the last seconds."""

    def __init__(self, span: float) -> None:
        self._span = span
        self._seen: deque[tuple[float, int]] = deque()

    def look(self, at: float, count: int) -> float | None:
        """Return tasks a second; None before two looks. ``at``: seconds on the clock of what was looked at."""
        seen = self._seen
        if not seen or at > seen[-1][0]:
            seen.append((at, count))
        while len(seen) > 2 and seen[1][0] <= at - self._span:
            seen.popleft()
        (first, before), (last, after) = seen[0], seen[-1]
        return (after - before) / (last - first) if last > first else None


@dataclass(frozen=True, slots=True)
class Kernel:
    """What one kernel told. Times in seconds, memory in bytes."""

    served: Served
    counts: dict[str, int]  # of all its executors; see `COUNTS`
    backends: tuple[str, ...]
    paused: bool  # all of them that have workers
    age: float  # since its figures were read
    rate: float | None  # tasks a second; None: not known yet
    runs: list[dict[str, Any]]  # as `Attached.runs`, with ``left``: seconds still to go, None: not known
    workers: list[dict[str, Any]]  # as `Attached.workers`, with ``memory``, None: not known
    tasks: list[dict[str, Any]]  # as `Attached.journeys`, the newest first
    # `ENDS` of executors that were seen and are there no more
    gone: dict[str, int] = field(default_factory=dict)

    @property
    def ended(self) -> int:
        """Tasks that are over."""
        return self.counts["succeeded"] + self.counts["failed"] + self.counts["cancelled"]


class Following:
    """One kernel, looked at again and again. For one thread at a time."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self._attached = Attached(served)
        self.pause, self.resume, self.cancel = (
            self._attached.pause,
            self._attached.resume,
            self._attached.cancel,
        )
        self.close = self._attached.close
        self._stats: dict[int, dict[str, int]] = {}  # of the executors, at the last look
        self._gone = dict.fromkeys(ENDS, 0)
        self._paces: dict[int, Pace] = {}  # by executor
        self._paces_of_runs: dict[int, Pace] = {}  # by id

    def look(self) -> Kernel:
        """Return its figures now. Raises `CellmillError` where it does not answer."""
        executors = self._attached.look(JOURNEYS)["executors"]
        stats = [each["stats"] for each in executors]
        self._let_go({each["executor"]: each["stats"] for each in executors})
        rates = [self._rate(each) for each in executors]
        known = [rate for rate in rates if rate is not None]
        workers = [
            {**worker, "executor": each["executor"], "memory": _memory_of(each["backend"], worker["pid"])}
            for each in executors
            for worker in each["workers"]
        ]
        runs = list(self._runs(executors))
        ids = {run["id"] for run in runs}
        self._paces_of_runs = {number: pace for number, pace in self._paces_of_runs.items() if number in ids}
        tasks = [row for each in executors for row in each["journeys"]]
        return Kernel(
            self.served,
            {name: sum(each[name] for each in stats) for name in COUNTS},
            tuple(each["backend"] for each in executors),
            all_paused(stats),
            max((each["age"] for each in executors), default=0.0),
            sum(known) if len(known) == len(rates) else None,
            runs,
            workers,
            sorted(tasks, key=lambda row: -(row["returned"] or row["submitted"] or 0)),
            dict(self._gone),
        )

    def _let_go(self, now: dict[int, dict[str, int]]) -> None:
        """Keep what is known of executors that are there no more: counters of metrics do not fall."""
        for number in self._stats.keys() - now.keys():
            for name in ENDS:
                self._gone[name] += self._stats[number][name]
        self._stats = now

    def _rate(self, executor: dict[str, Any]) -> float | None:
        stats = executor["stats"]
        pace = self._paces.setdefault(executor["executor"], Pace(SPAN))
        return pace.look(executor["at"] / 1e9, _ran(stats))

    def _runs(self, executors: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        for each in executors:
            for run in each["runs"]:
                resting = run["finished"] or each["stats"]["paused"]
                yield {**run, "left": None if resting else self._left(run, each["at"] / 1e9)}

    def _left(self, run: dict[str, Any], at: float) -> float | None:
        """Return the seconds that it still takes at its present pace; None where that, or its end, is not known."""
        if run["id"] is None:
            return None
        pace = self._paces_of_runs.setdefault(run["id"], Pace(PACE)).look(at, _ran(run))
        return run["outstanding"] / pace if pace and run["total"] is not None else None


def _ran(counts: dict[str, Any]) -> int:
    """Return how many tasks ran to an end: cancelled ones would be a pace that no work has."""
    ended: int = counts["succeeded"] + counts["failed"]
    return ended


def _memory_of(backend: str, pid: int | None) -> int | None:
    """Return the memory of a worker's own process; None where it has none, or may be on another machine."""
    return own_bytes(pid) or None if backend == "local" and pid is not None else None
