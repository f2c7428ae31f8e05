"""The kernel that is looked at: which ones there are, what one tells, and what that means over time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ...errors import CellmillError
from ...process_context.machine import own_bytes
from ..attached import HOW, Attached
from ..folder import Served, served

__all__ = ["Frame", "Kernel", "Watch"]

JOURNEYS = 50  # tasks that ended last
SPAN = 2.0  # seconds of which throughput is the mean
PACE = 10.0  # seconds of which the pace of a run is the mean
COUNTS = ("submitted", "waiting", "queued", "running", "succeeded", "failed", "lost", "cancelled", "workers")


class Pace:
    """How many tasks end in a second, over the last seconds."""

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
    paused: bool  # all of them
    age: float  # since its figures were read
    rate: float | None  # tasks a second; None: not known yet
    runs: list[
        dict[str, Any]
    ]  # as `Attached.runs`, with ``left``: seconds that it still takes, None: not known
    workers: list[dict[str, Any]]  # as `Attached.workers`, with ``memory``, None: not known
    tasks: list[dict[str, Any]]  # as `Attached.journeys`, the newest first

    @property
    def ended(self) -> int:
        """Tasks that are over."""
        return self.counts["succeeded"] + self.counts["failed"] + self.counts["cancelled"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One look."""

    known: list[Served]  # all that can be watched, the latest first
    kernel: Kernel | None = None
    problem: str = ""  # why there is none, or what has become of the last one


@dataclass(slots=True)
class _Paces:
    tasks: dict[int, Pace] = field(default_factory=dict)  # by executor
    runs: dict[int, Pace] = field(default_factory=dict)  # by id


class Watch:
    """Looks at one kernel after another. For one thread at a time."""

    def __init__(self, pid: int | None = None) -> None:
        """``pid``: of the first one; else that which was served last."""
        self._wanted = pid
        self._attached: Attached | None = None
        self._served: Served | None = None
        self._paces = _Paces()
        self._gone = ""  # what has become of the one before

    def choose(self, pid: int) -> None:
        """Look at this one from now on."""
        self._wanted = pid

    def look(self) -> Frame:
        """Return what there is now. Where the kernel has gone the next one is taken, and that is said."""
        try:
            known = served()
        except (CellmillError, OSError) as error:
            return Frame([], None, str(error))
        if self._served is not None and self._served not in known:
            name = f"process {self._served.pid} ({self._served.title})"
            self._gone = f"{name} has ended, or is not watched any more"
            self._leave()
        chosen = self._choice(known)
        if chosen is None:
            none = f"no process can be watched: {HOW}"
            return Frame(known, None, f"{self._gone}; now {none}" if self._gone else none)
        if chosen != self._served or self._attached is None:
            self._leave()
            self._served, self._attached = chosen, Attached(chosen)
        try:
            kernel = self._kernel(chosen, self._attached.look(JOURNEYS))
            problem, self._gone = self._gone, ""
            return Frame(known, kernel, problem)
        except CellmillError as error:
            return Frame(known, None, str(error))

    def _choice(self, known: list[Served]) -> Served | None:
        if self._wanted is not None:
            found = next((each for each in known if each.pid == self._wanted), None)
            if found is not None:
                return found
            self._wanted = None
        return self._served if self._served in known else next(iter(known), None)

    def _leave(self) -> None:
        if self._attached is not None:
            self._attached.close()
        self._attached = self._served = None
        self._paces = _Paces()

    close = _leave

    # -- what it means

    def _kernel(self, served: Served, told: dict[str, Any]) -> Kernel:
        executors = told["executors"]
        stats = [each["stats"] for each in executors]
        rates = [self._rate(each) for each in executors]
        known = [rate for rate in rates if rate is not None]
        workers = [
            {**worker, "executor": each["executor"], "memory": own_bytes(worker["pid"] or 0) or None}
            for each in executors
            for worker in each["workers"]
        ]
        tasks = [row for each in executors for row in each["journeys"]]
        return Kernel(
            served,
            {name: sum(each[name] for each in stats) for name in COUNTS},
            tuple(each["backend"] for each in executors),
            bool(stats) and all(each["paused"] for each in stats),
            max((each["age"] for each in executors), default=0.0),
            sum(known) if len(known) == len(rates) else None,
            list(self._runs(executors)),
            workers,
            sorted(tasks, key=lambda row: -(row["returned"] or row["submitted"] or 0)),
        )

    def _rate(self, executor: dict[str, Any]) -> float | None:
        stats = executor["stats"]
        pace = self._paces.tasks.setdefault(executor["executor"], Pace(SPAN))
        return pace.look(executor["at"] / 1e9, stats["succeeded"] + stats["failed"] + stats["cancelled"])

    def _runs(self, executors: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        for each in executors:
            for run in each["runs"]:
                yield {**run, "left": None if run["finished"] else self._left(run, each["at"] / 1e9)}

    def _left(self, run: dict[str, Any], at: float) -> float | None:
        """Return the seconds that it still takes at its present pace; None where that, or its end, is not known."""
        if run["id"] is None:
            return None
        over = run["succeeded"] + run["failed"] + run["cancelled"]
        pace = self._paces.runs.setdefault(run["id"], Pace(PACE)).look(at, over)
        return run["outstanding"] / pace if pace and run["total"] is not None else None

    # -- control

    def pause(self, kernel: Served, on: bool) -> None:
        """Have no more tasks begin, or go on. Raises `CellmillError` where the kernel does not answer."""
        attached = self._present(kernel)
        attached.pause() if on else attached.resume()

    def cancel(self, kernel: Served, run: int | None) -> int:
        """End a run, or all work; return how many tasks that were to begin. Raises `CellmillError`."""
        return self._present(kernel).cancel(run)

    def _present(self, kernel: Served) -> Attached:
        """Return the kernel that a person saw: meanwhile another one may have taken its place."""
        if self._attached is None or self._served != kernel:
            raise CellmillError(
                f"process {kernel.pid} is not the one that is looked at any more: nothing was done"
            )
        return self._attached
