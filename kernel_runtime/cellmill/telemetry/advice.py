"""What to change so that the same work takes less time, each with the time that it promises.

A promise is the schedule of the tasks that ran, on paper (`forecast`), with one thing changed. It is made only where
the same calculation without the change comes near the measured time: else something is slow that is not known. Fewer
workers are promised what an earlier run took (`earlier_runs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from statistics import median

from ..diagnostics.short_text import counted, duration_text
from ..errors import UsageError
from .earlier_runs import Earlier
from .forecast import Ran, makespan

EXPLAINED = 0.15  # share of the wall time that may remain unexplained
WORTH_IT = 5 / 6  # of the wall time: what it must come down to
LONG = 3  # times the median: a task that may be split
SLOW = 0.1  # of the time that the slowest import took: others are not worth a word
AT_ONCE = 0.05  # of the wall time: when the last task was there, if all were there at once
IN_DOUBT = 0.25  # of a promise: by more it may not be wrong
TINY = 100e-6  # seconds of a call's run time: below, sending it alone may cost more than running it
MANY = 500  # calls from which on a map is worth it
MAP_COST = 0.05  # of what a single call costs: an element of a map, measured
MAP_BEGINS = 0.002  # seconds of any map, measured


@dataclass(frozen=True, slots=True)
class Advice:
    """One change, and the wall time that it promises for the same work."""

    kind: str  # workers, fewer, split, order, preload, share, map or loop
    what: str
    seconds: float
    workers: int | None = None  # of the kinds workers and fewer: how many
    modules: tuple[str, ...] = ()  # of the kind preload: which
    act: Callable[[], object] | None = field(default=None, repr=False, compare=False)

    @property
    def can_apply(self) -> bool:
        """Whether `apply` does it; else it is a change of code."""
        return self.act is not None

    def apply(self) -> None:
        """Make the change. Raises `UsageError` where it is one of code, which is yours."""
        if self.act is None:
            raise UsageError(f"this is a change of your code, which is not made for you: {self.what}")
        self.act()

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True, slots=True)
class Load:
    """A module that a task had to import."""

    task: int  # position among the tasks
    seconds: float
    module: str


@dataclass(frozen=True, slots=True)
class Carried:
    """A large object that several calls of a function carried as an argument."""

    function: str
    argument: str  # its name among the parameters, or ""
    bytes: int
    packing: dict[
        int, float
    ]  # seconds in the kernel before the task was sent, by its position: not of the first


@dataclass(frozen=True, slots=True)
class Work:
    """A piece of work that is over."""

    wall: float
    workers: int | None  # None: their number changed meanwhile
    tasks: Sequence[
        Ran
    ]  # those that ran, in the order of their submission, or as many equal ones in their place
    name: Callable[[int], str] | None  # of the task at a position; None: others stand for them
    count: int  # how many ran
    busy: float  # worker-seconds in user code, without attempts that came to nothing
    span: float  # of the longest chain
    processors: float | None  # seconds that the processors need for what the workers computed; None: unknown
    own: float | None  # seconds that the caller took for itself; None: unknown
    unsure: float  # by how much that may be wrong
    calls: int  # single calls, if all tasks are; else 0
    wasted: float = 0.0  # worker-seconds of attempts that were retried, lost or stopped
    linked: bool = False  # some tasks take results of others
    loads: Sequence[Load] = ()
    fresh: float = 0.0  # seconds in which a new worker imports what the present ones have imported
    carried: Carried | None = None
    earlier: Earlier | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The schedule that explains the time of a piece of work."""

    tasks: Sequence[Ran]
    workers: int
    scale: float  # measured by calculated

    def promise(self, tasks: Sequence[Ran], more: int = 0, fresh: float = 0.0) -> float:
        """Return the seconds that they would take, with so many workers more that have ``fresh`` seconds of imports
        before them; the longest task has its time in any case.
        """
        longest = max(task.seconds for task in tasks)
        return max(longest, makespan(tasks, self.workers + more, more, fresh / self.scale) * self.scale)


def advise(work: Work) -> tuple[tuple[Advice, ...], bool]:
    """Return the changes that would help, best first; and whether the time is explained: if it is, and there are none,
    nothing that is known would help.
    """
    if not work.tasks or work.wall <= 0:
        return (), False
    plan = _plan(work)
    found = [_loop(work), _map(work), _fewer(work)]
    if plan is not None:
        found += [_workers(work, plan), _preload(work, plan), _share(work, plan), *_long_task(work, plan)]
    worth = [advice for advice in found if advice is not None and advice.seconds <= WORTH_IT * work.wall]
    if any(advice.kind == "fewer" for advice in worth):  # more of them made it longer
        worth = [advice for advice in worth if advice.kind != "workers"]
    return tuple(sorted(worth, key=lambda advice: advice.seconds)), plan is not None


def _plan(work: Work) -> _Plan | None:
    """Try whether workers that had all tasks at once explain the time, and with the tasks as they came.

    Single calls came when the caller made them; a map sends its elements as others end.
    """
    if work.workers is None:
        return None
    at_once = [replace(task, submitted=0.0) for task in work.tasks]
    for tasks in (work.tasks,) if work.calls else (at_once, work.tasks):
        now = makespan(tasks, work.workers)
        if abs(now - work.wall) <= EXPLAINED * work.wall:
            return _Plan(tasks, work.workers, work.wall / now)
    return None


def _about(change: str, seconds: float) -> str:
    return f"{change}: about {duration_text(seconds)}."


def _workers(work: Work, plan: _Plan) -> Advice | None:
    """Twice as many workers, which import for themselves; not where they would share processors."""
    if work.processors is None:
        return None
    count = 2 * plan.workers
    seconds = max(work.span, work.processors, plan.promise(plan.tasks, plan.workers, work.fresh))
    return Advice("workers", _about(f"With {count} workers", seconds), seconds, workers=count)


def _preload(work: Work, plan: _Plan) -> Advice | None:
    """Imports once, before workers are forked, and not once in each of them."""
    seconds_of: dict[str, float] = {}
    for load in work.loads:
        seconds_of[load.module] = seconds_of.get(load.module, 0.0) + load.seconds
    loads = [load for load in work.loads if seconds_of[load.module] >= SLOW * max(seconds_of.values())]
    if not loads:
        return None
    tasks = list(plan.tasks)
    for load in loads:
        task = tasks[load.task]
        tasks[load.task] = replace(task, seconds=max(0.0, task.seconds - load.seconds))
    found = dict.fromkeys(load.module for load in loads)
    modules = tuple(module for module in found if not any(other.startswith(f"{module}.") for other in found))
    seconds = plan.promise(tasks)
    names = " and ".join([", ".join(modules[:-1]), modules[-1]] if len(modules) > 1 else modules)
    what = _about(f"With {names} preloaded in the workers (%cellmill preload {' '.join(modules)})", seconds)
    return Advice("preload", what, seconds, modules=modules)


def _share(work: Work, plan: _Plan) -> Advice | None:
    """A large argument is put once and not with each call: the kernel sends the tasks sooner."""
    carried = work.carried
    if carried is None or not carried.packing or plan.tasks is not work.tasks:
        return None
    saved = accumulate(carried.packing.get(at, 0.0) for at in range(len(work.tasks)))
    tasks = [
        replace(task, submitted=max(0.0, task.submitted - less))
        for task, less in zip(work.tasks, saved, strict=True)
    ]
    seconds = plan.promise(tasks)
    times = len(carried.packing) + 1
    what = f"the {carried.bytes / 1e6:,.0f} MB" + (f" of {carried.argument}" if carried.argument else "")
    call = f"{what} that {counted(times, 'call')} of {carried.function} carry"
    return Advice(
        "share", _about(f"With {call} shared once, if it does not change (cellmill.share)", seconds), seconds
    )


def _long_task(work: Work, plan: _Plan) -> Iterator[Advice]:
    """One task much longer than the others: in as many parts as there are workers, or begun first."""
    if work.name is None or work.processors is None or plan.workers < 2 or len(plan.tasks) < 3:
        return
    times = [task.seconds for task in plan.tasks]
    longest = max(range(len(times)), key=times.__getitem__)
    if times[longest] < LONG * median(times):
        return
    name, took = work.name(longest), duration_text(times[longest])
    seconds = max(work.processors, plan.promise(_split(plan.tasks, longest, plan.workers)))
    yield Advice(
        "split", _about(f"With {name}, which takes {took}, split into {plan.workers}", seconds), seconds
    )
    if not work.linked and max(task.submitted for task in plan.tasks) < AT_ONCE * work.wall:
        first = [plan.tasks[longest], *plan.tasks[:longest], *plan.tasks[longest + 1 :]]
        seconds = max(work.processors, plan.promise([replace(task, submitted=0.0) for task in first]))
        yield Advice("order", _about(f"With {name}, which takes {took}, begun first", seconds), seconds)


def _split(tasks: Sequence[Ran], at: int, parts: int) -> list[Ran]:
    """Return the tasks with as many equal parts in the place of one, which all have its inputs and go to the tasks
    that took its result.
    """
    more = parts - 1

    def moved(inputs: tuple[int, ...]) -> tuple[int, ...]:
        found: list[int] = []
        for before in inputs:
            found += range(at, at + parts) if before == at else [before + more * (before > at)]
        return tuple(found)

    whole = tasks[at]
    pieces = [replace(whole, seconds=whole.seconds / parts, inputs=moved(whole.inputs))] * parts
    after = [replace(task, inputs=moved(task.inputs)) for task in tasks[at + 1 :]]
    return [*tasks[:at], *pieces, *after]


def _map(work: Work) -> Advice | None:
    """Calls that are sent one by one as elements of a map, which travel many at a time."""
    single = work.calls == work.count >= MANY and not work.linked
    if work.own is None or work.wasted or not single or work.busy > TINY * work.count:
        return None
    sending = MAP_BEGINS + MAP_COST * max(0.0, work.wall - work.own)
    seconds = max(work.own + sending, work.busy / (work.workers or 1))
    return Advice(
        "map", _about(f"As a map, f.map(xs), and not as {work.calls:,} single calls", seconds), seconds
    )


def _fewer(work: Work) -> Advice | None:
    """As many workers as an earlier run of the same calls had."""
    if work.earlier is None:
        return None
    run, workers, seconds = work.earlier
    change = f"With {counted(workers, 'worker')}, as in run {run} of the same cell"
    return Advice("fewer", _about(change, seconds), seconds, workers=workers)


def _loop(work: Work) -> Advice | None:
    """The plain loop, where sending takes longer than it saves; not where attempts came to nothing: how long their
    calls take in a loop is not known.
    """
    if work.own is None or work.wasted:
        return None
    seconds = work.busy + work.own
    if work.unsure > IN_DOUBT * seconds:
        return None
    return Advice("loop", _about("It is too short to be worth it; as a plain loop", seconds), seconds)
