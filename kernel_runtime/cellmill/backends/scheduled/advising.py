"""Advice about the piece of work that is over, from what the scheduler, the workers and the callers tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple, Protocol

from ... import run_registry
from ...by_value.import_log import Loaded
from ...diagnostics.questions import number
from ...history import TimeSpent
from ...telemetry.account import Account
from ...telemetry.advice import Advice, Carried, Load, Work, advise
from ...telemetry.earlier_runs import Earlier, with_fewer_workers
from ...telemetry.forecast import Ran
from ...telemetry.idle import Idle
from ...telemetry.schema import STAGES
from . import accounts, figures
from .accounts import NS
from .carried import Same
from .dependencies import DependencyPicture
from .processor_use import CALLING, Used
from .scheduler import NO_ELEMENT, NO_WORKER, Scheduler

MOST_TASKS = 4_096  # that are scheduled again on paper: 10 ms; beyond that their sum tells as much
# Seconds that it takes to find why workers were idle, and more for each lone task, and each element of a chunk.
FINDING, FINDING_EACH, FINDING_ELEMENT = 1e-3, 1e-6, 0.005e-6
SMALL_PART = 0.02  # of a run's time: what that may take when it ends
MOSTLY_WAITS = 0.3  # of its run time: at most so much is processor time, or spent waiting for a processor


class Advised(Protocol):
    """The backend whose work the advice is about."""

    name: str
    payloads: bool

    def work_began(self) -> int: ...

    def processor_used(self) -> Used | None: ...

    def loads(self) -> Sequence[tuple[int, Loaded]]: ...

    def carried_by(self, function: int) -> Same | None: ...

    def set_workers(self, count: int) -> None: ...

    def preload(self, modules: Iterable[str]) -> None: ...

    def preloaded(self) -> Sequence[str]: ...


class _Row(NamedTuple):
    """One task that ran, or an element of a chunk; times in ns, on the monotonic clock."""

    submitted: int
    received: int
    started: int
    finished: int
    returned: int
    ticket: int
    function: int
    element: int
    worker: int
    packing: float
    position: int


_COLUMNS = (
    "ticket",
    "run",
    "function",
    "element",
    "worker",
    "status",
    "attempt",
    *STAGES,
    "packing",
    "position",
)
_of_row = itemgetter(*(_COLUMNS.index(name) for name in _Row._fields))


class Adviser:
    """Accounts of the present piece of work of one backend, with advice once that is over; calculated once."""

    def __init__(self, host: Advised, scheduler: Scheduler, names: Mapping[int, str]) -> None:
        """``names``: of the functions, by number."""
        self._host = host
        self._scheduler = scheduler
        self._names = names
        # of which state of the work: the advice and whether the time is explained; why workers were idle
        self._said: tuple[object, tuple[Advice, ...], bool] = (None, (), False)
        self._idle: tuple[object, Idle | None] = (None, None)

    def account(self, run: int | None, *, advised: bool) -> Account:
        """Return where the time went, of one run or of the whole work; ``advised``: and what would have helped, if it
        is the whole that is over.
        """
        if run is not None:
            said = self._idle_of(run)
            return accounts.account(self._scheduler, self._names, run, self._host.payloads, reasons=said)
        used = self._host.processor_used()
        sums = self._over() if advised else None
        advice, explained = ((), False) if sums is None else self._conclusions(sums, used)
        idle = None if sums is None else self._why_idle(sums)
        return accounts.account(
            self._scheduler,
            self._names,
            None,
            self._host.payloads,
            processor=None if used is None else used.workers,
            reasons=idle,
            advice=advice,
            explained=explained,
        )

    def time_spent(self, run: int, wall: float) -> TimeSpent | None:
        """Return where the time of a run of ``wall`` seconds went; why workers were idle where finding that out takes a
        small part of these.
        """
        sums = accounts.sums_of(self._scheduler, run)
        finding = FINDING + (sums.tasks - sums.chunks) * FINDING_EACH + sums.chunks * FINDING_ELEMENT
        said = self._idle_of(run) if finding <= SMALL_PART * wall else None
        return accounts.account(self._scheduler, self._names, run, self._host.payloads, reasons=said).spent()

    def _idle_of(self, run: int) -> Idle | None:
        """Return why workers were idle, where the work is nothing but this run: others' tasks kept them busy, too."""
        whole, own = accounts.sums_of(self._scheduler, None), accounts.sums_of(self._scheduler, run)
        if _state(whole) != _state(own):
            return None
        sums = self._over()
        return None if sums is None else self._why_idle(sums)

    def _over(self) -> Any:
        """Return the sums of the whole work, where that is over; else None."""
        now = figures.stats(self._scheduler, 0)
        sums = accounts.sums_of(self._scheduler, None)
        return None if now.done < now.submitted or sums.ended <= sums.began else sums

    def _conclusions(self, sums: Any, used: Used | None) -> tuple[tuple[Advice, ...], bool]:
        state = _state(sums)
        if self._said[0] != state:
            advice, explained = advise(self._work(sums, self._rows(sums), used))
            self._said = (
                state,
                tuple(map(self._with_act, advice)),
                explained and used is not None and not sums.asked,
            )
        return self._said[1:]

    def _why_idle(self, sums: Any) -> Idle | None:
        state = _state(sums)
        if self._idle[0] != state:
            self._idle = (state, accounts.why_idle(self._scheduler, sums))
        return self._idle[1]

    def _with_act(self, advice: Advice) -> Advice:
        if advice.workers is not None:
            return replace(advice, act=partial(self._host.set_workers, advice.workers))
        if advice.modules:
            return replace(advice, act=partial(self._host.preload, advice.modules))
        return advice

    def _work(self, sums: Any, rows: Sequence[_Row], used: Used | None) -> Work:
        """Put together what is known of the work."""
        wall = (sums.ended - sums.began) * NS
        caller = None if used is None else used.caller
        single = caller is not None and caller.calls == sums.tasks and not sums.chunks
        workers = _workers(sums)
        own = None if caller is None else caller.own if single else max(0.0, wall - caller.waited)
        return Work(
            wall=wall,
            workers=workers,
            tasks=self._tasks(rows) if rows else _equal_ones(sums),
            name=(lambda at: self._name(rows, at)) if rows else None,
            count=sums.tasks,
            busy=(sums.busy - sums.wasted) * NS,
            span=sums.span * NS,
            # how many tasks may run at once, whatever the workers, is not known of those that ask for resources
            processors=None if used is None or sums.asked else _processors(used, sums.busy * NS),
            own=own,
            unsure=0.0 if caller is None else caller.calls * CALLING if single else own or 0.0,
            calls=caller.calls if single and caller is not None else 0,
            wasted=sums.wasted * NS,
            linked=sums.span_tasks > 1,
            loads=self._loads(rows),
            fresh=imports_of_a_worker(self._host.loads(), self._host.preloaded()),
            carried=self._carried(rows),
            earlier=self._earlier(workers, sums.tasks, wall),
        )

    def _earlier(self, workers: int | None, tasks: int, wall: float) -> Earlier | None:
        if workers is None:
            return None
        return with_fewer_workers(run_registry.records(), self._host.name, workers, tasks, wall)

    def _rows(self, sums: Any) -> list[_Row]:
        """Return the tasks in the order of their submission; none where they are too many."""
        if sums.tasks > MOST_TASKS:
            return []
        submitted, finished, worker = map(_COLUMNS.index, ("submitted", "finished", "worker"))
        ran = [
            _Row._make(_of_row(row))
            for row in self._scheduler.latest_journeys(2 * MOST_TASKS)
            if row[submitted] >= sums.began and row[finished] and row[worker] != NO_WORKER
        ]
        return sorted(ran, key=attrgetter("position"))

    def _tasks(self, rows: Sequence[_Row]) -> list[Ran]:
        began = min(row.submitted for row in rows)
        first = {row.ticket: at for at, row in enumerate(rows) if row.element in (0, NO_ELEMENT)}
        last = {row.ticket: at for at, row in enumerate(rows)}
        inputs: dict[int, list[int]] = {}
        for before, after in self._dependencies() if len(rows) > 1 else ():
            source, target = last.get(before), first.get(after)
            if source is not None and target is not None and source < target:
                inputs.setdefault(target, []).append(source)
        found = []
        for at, row in enumerate(rows):
            start = row.received if first.get(row.ticket) == at else row.started
            end = row.returned if last[row.ticket] == at else row.finished
            found.append(
                Ran(max(0, end - start) * NS, tuple(inputs.get(at, ())), (row.submitted - began) * NS)
            )
        return found

    def _dependencies(self) -> list[tuple[int, int]]:
        """Return the tickets of each task whose result is taken, and of the task that takes it."""
        picture = DependencyPicture(self._scheduler, {}, self._host.work_began)
        picture.look()
        columns = picture.columns()
        tickets, pairs = memoryview(columns[0]).cast("Q"), memoryview(columns[3]).cast("I")
        return [(tickets[pairs[at]], tickets[pairs[at + 1]]) for at in range(0, len(pairs), 2)]

    def _function(self, function: int) -> str:
        return self._names.get(function, "a call").rpartition("<locals>.")[2]

    def _name(self, rows: Sequence[_Row], at: int) -> str:
        row = rows[at]
        several = sum(other.ticket == row.ticket for other in rows) > 1
        element = f", element {row.element}" if several else ""
        return f"{self._function(row.function)} {number(row.ticket)}{element}"

    def _loads(self, rows: Sequence[_Row]) -> list[Load]:
        """Return the imports by workers, with the tasks in which they were made."""
        of_workers: dict[int, list[int]] = {}
        for at, row in enumerate(rows):
            of_workers.setdefault(row.worker, []).append(at)
        found = []
        for worker, load in self._host.loads() if rows else ():
            for at in of_workers.get(worker, ()):
                if min(rows[at].received, rows[at].started) <= load.began <= rows[at].finished:
                    found.append(Load(at, load.seconds, load.name))
                    break
        return found

    def _carried(self, rows: Sequence[_Row]) -> Carried | None:
        """Return the object whose packing took longest."""
        found: list[Carried] = []
        for function in {row.function for row in rows}:
            same = self._host.carried_by(function)
            if same is None:
                continue
            packing = {
                at: row.packing * NS
                for at, row in enumerate(rows)
                if row.function == function and row.submitted >= same.since
            }
            packing.pop(min(packing, default=-1), None)
            if packing:
                found.append(Carried(self._function(function), same.argument, same.bytes, packing))
        return max(found, key=lambda carried: sum(carried.packing.values()), default=None)


def _state(sums: Any) -> tuple[int, int, int]:
    return sums.began, sums.ended, sums.tasks


def _workers(sums: Any) -> int | None:
    """Return how many workers there were; None where their number changed."""
    mean = sums.capacity / (sums.ended - sums.began)
    return round(mean) if round(mean) >= 1 and abs(mean - round(mean)) <= 0.05 else None


def imports_of_a_worker(loads: Sequence[tuple[int, Loaded]], preloaded: Sequence[str]) -> float:
    """Return the seconds of imports that each new worker has before it: as many as the worker with the most had."""
    latest = {(worker, load.name): load for worker, load in loads}
    seconds: dict[int, float] = {}
    ended: dict[int, float] = {}  # when the last import ended: those it made in turn began before
    for (worker, name), load in sorted(latest.items(), key=lambda item: item[1].began):
        if load.began >= ended.get(worker, 0.0):
            ended[worker] = load.began + load.seconds / NS
            here = any(name == each or name.startswith(f"{each}.") for each in preloaded)
            seconds[worker] = seconds.get(worker, 0.0) + (0.0 if here else load.seconds)
    return max(seconds.values(), default=0.0)


def _equal_ones(sums: Any) -> list[Ran]:
    """Return equal tasks that stand for so many that they are not scheduled one by one."""
    return [Ran((sums.busy + sums.handling) * NS / MOST_TASKS)] * MOST_TASKS


def _processors(used: Used, busy: float) -> float:
    """Return the seconds that the processors need for what the workers computed.

    Tasks that wait for most of their time need little of a processor, and get it on a machine that is full, too.
    """
    waits = used.without is not None and used.workers + used.without < MOSTLY_WAITS * busy
    return used.workers / max(1.0 if waits else 0.0, used.processors)
