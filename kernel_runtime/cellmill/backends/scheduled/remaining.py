"""The time that the outstanding tasks of one scheduler still take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...run_registry import Run
from ...telemetry.time_left import Backlog, Graph, Latest, Pace, TimeLeft, time_left
from . import accounts, figures
from .dependencies import DependencyPicture
from .scheduler import NO_ELEMENT, Scheduler, ffi, with_gil

_NS = 1e-9
_LEAST_AGE = 0.1  # seconds for which an estimate stays, and at least so many times its processor time:
_COSTS = 100
_MOST_FUNCTIONS = 256
_MOST_LINKED = (
    4096  # unfinished tasks with dependencies that are scheduled one by one; with more, their sum decides
)
_STATES = 3  # of a node: waiting, queued and running are the first
_RUNNING = 2


@dataclass(slots=True)
class _Running:
    """The running tasks of one function."""

    elapsed: list[float] = field(default_factory=list)  # seconds, of single tasks
    lists: list[tuple[float, int]] = field(default_factory=list)  # seconds and elements, of calls with a list
    ended: int = 0  # elements of running chunks that are over
    spent: float = 0.0  # seconds of all


class Remaining:
    """Estimates for views, which may ask often: the last answer is kept for a while. Thread-safe."""

    def __init__(self, scheduler: Scheduler, names: Mapping[int, str], work_began: Callable[[], int]) -> None:
        """``names``: of the functions, by number; ``work_began``: see `ScheduledBackend.work_began`."""
        self._scheduler = scheduler
        self._names = names
        self._work_began = work_began
        self._lock = threading.Lock()
        self._picture: DependencyPicture | None = None
        self._pace = Pace()
        self._latest: dict[int, Latest] = {}  # by function
        self._said: TimeLeft | None = None
        self._said_at = 0.0
        self._next = 0.0  # when it is estimated again

    @property
    def paused(self) -> bool:
        """Whether nothing is sent to workers: nothing tells how long that lasts."""
        return bool(with_gil.csched_paused(self._scheduler.handle))

    def look(self, runs: Sequence[Run], workers: int) -> TimeLeft | None:
        """Return the estimate for ``workers``; None where nothing is outstanding, or where nothing tells how long it
        takes.
        """
        with self._lock:
            now = time.monotonic()
            stats = figures.stats(self._scheduler, 0)
            over = stats.done >= stats.submitted and not any(run.total != run.counts().done for run in runs)
            if over or self.paused:
                self._said, self._next = None, 0.0
                self._picture = None
                self._pace = Pace()  # a pause, or the time between pieces of work, is no pace
                return None
            if now >= self._next:
                began = time.thread_time()
                self._said, self._said_at = self._estimate(runs, workers, stats.waiting), now
                self._next = now + max(_LEAST_AGE, _COSTS * (time.thread_time() - began))
            said = self._said
            return (
                None
                if said is None
                else said
                if said.seconds is None
                else replace(said, seconds=max(0.0, said.seconds - (now - self._said_at)))
            )

    def _estimate(self, runs: Sequence[Run], workers: int, waiting: int) -> TimeLeft | None:
        running = self._running()
        backlogs = self._backlogs(running)
        for run in runs:
            if run.total is None:
                return None
            sums = accounts.sums_of(self._scheduler, run.key)
            held_back = run.total - run.counts().done - sums.outstanding
            if held_back <= 0:
                continue
            same = next((backlog for backlog in backlogs.values() if backlog.name == run.name), None)
            if same is not None:
                backlogs[-1 - run.key] = replace(same, tasks=held_back, elapsed=())
            else:
                spent = (sums.busy + sums.handling) * _NS
                backlogs[-1 - run.key] = Backlog(run.name, held_back, sums.tasks, spent)
        return time_left(backlogs, self._graph(waiting), workers, self._pace_of(running))

    def _backlogs(self, running: Mapping[int, _Running]) -> dict[int, Backlog]:
        rows = ffi.new("csched_backlog_t[]", _MOST_FUNCTIONS)
        count = with_gil.csched_backlogs(self._scheduler.handle, _MOST_FUNCTIONS, rows)
        found = {}
        self._latest = {row.function: self._latest.get(row.function, Latest()) for row in rows[0:count]}
        for row in rows[0:count]:
            now = running.get(row.function, _Running())
            ended, spent = self._latest[row.function].push(row.ran, row.spent * _NS)
            over = now.ended  # of a call with a list nothing tells how many are: as many as the mean says
            if ended and spent:
                over += sum(min(count - 1, int(seconds * ended / spent)) for seconds, count in now.lists)
            found[row.function] = Backlog(
                self._names.get(row.function, "a call").rpartition("<locals>.")[2],
                max(0, row.outstanding - over),
                ended,
                spent,
                (*now.elapsed, *(seconds / count for seconds, count in now.lists)),
            )
        return found

    def _running(self) -> dict[int, _Running]:
        """Return what runs now, by function."""
        out = ffi.new("csched_worker_info_t *")
        found: dict[int, _Running] = {}
        now, index = time.monotonic_ns(), 0
        while with_gil.csched_worker_info(self._scheduler.handle, index, out) == 0:
            index += 1
            if not out.ticket:
                continue
            of = found.setdefault(out.function, _Running())
            elapsed = max(0, now - out.since) * _NS
            of.spent += elapsed
            if out.element == NO_ELEMENT and out.count > 1:
                of.lists.append((elapsed, out.count))
            elif out.element == NO_ELEMENT:
                of.elapsed.append(elapsed)
            else:
                of.ended += out.element
        return found

    def _pace_of(self, running: Mapping[int, _Running]) -> float | None:
        sums = accounts.sums_of(self._scheduler, None)
        stats = figures.stats(self._scheduler, 0)
        spent = (sums.busy + sums.handling) * _NS + sum(of.spent for of in running.values())
        ready = stats.submitted - stats.done - stats.running - stats.waiting + figures.parked(self._scheduler)
        self._pace.push(time.monotonic(), spent, stats.workers if ready > 0 else 0)
        return self._pace.workers

    def _graph(self, waiting: int) -> Graph:
        """Return the unfinished tasks with dependencies; an empty one where none waits for an input."""
        if not waiting:
            self._picture = None
            return Graph((), (), ())
        if self._picture is None:
            self._picture = DependencyPicture(self._scheduler, self._names, self._work_began)
        self._picture.look()
        functions = memoryview(self._picture.columns()[1]).cast("I")
        states, _ = self._picture.states()
        open_nodes = [at for at, state in enumerate(states) if state < _STATES]
        if len(open_nodes) > _MOST_LINKED:
            return Graph((), (), ())
        places = {node: place for place, node in enumerate(open_nodes)}
        pairs = memoryview(self._picture.columns()[3]).cast("I")
        edges = [
            (places[pairs[at]], places[pairs[at + 1]])
            for at in range(0, len(pairs), 2)
            if pairs[at] in places and pairs[at + 1] in places
        ]
        return Graph(
            [functions[node] for node in open_nodes], [states[node] == _RUNNING for node in open_nodes], edges
        )
