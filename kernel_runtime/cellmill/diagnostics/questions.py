"""Questions of views about single tasks and their answers: rows of a table, why a task waits, how one failed."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = (
    "waiting",
    "delayed",
    "queued",
    "sent",
    "running",
    "stopping",
    "done",
    "failed",
    "lost",
    "cancelled",
    "not-run",
    "retried",
)  # of a row, in the order of the scheduler's bits
ORDERS = ("news", "newest", "oldest", "run", "queue", "attempts")  # of rows, in the scheduler's order
MOST_ROWS = 500  # that are given at once
MOST_OFFSET = 100_000  # rows that may be skipped


@dataclass(frozen=True, slots=True)
class Row:
    """A task that is not over (``count`` elements of a map in one), or one attempt at a task or an element that is.

    ``stamps`` as in `schema.STAGES`, in nanoseconds of the monotonic clock, 0 where they are not known.
    """

    task: int
    run: int
    function: str
    element: int | None
    count: int
    kind: str
    worker: int | None
    attempt: int
    priority: int | None
    pack_ns: int
    stamps: tuple[int, ...]
    position: int  # in the state map


@dataclass(frozen=True, slots=True)
class SlowTask:
    """One of the tasks, or elements of maps, that ran longest."""

    task: int
    element: int | None
    function: str
    seconds: float  # in user code
    failed: bool
    arguments: str | None  # as short text; None: not kept, or larger than 64 kB


@dataclass(frozen=True, slots=True)
class Waits:
    """Why a task waits, as the scheduler tells it. Times in nanoseconds, 0 where there is none."""

    reason: str  # over, running, stopping, inputs, delayed, paused, no-worker, queued, sent, resource, ended
    function: str = ""
    run: int = 0
    in_run: bool = True  # False: a call by `Executor.submit`
    count: int = 1
    priority: int = 0
    worker: int | None = None
    inputs: int = 0
    missing: int = 0
    waits_for: tuple[tuple[int, str], ...] = ()  # task and function of some of those that are missing
    attempt: int = 0
    retries: int = 0
    workers: int = 0
    ready: int = 0
    asked: bool = False
    higher: int = 0
    same: int = 0
    others: int = 0
    ahead: int = 0
    moves: bool = False  # to a worker that has nothing to do
    runs_there: tuple[int, str] | None = None
    since_ns: int = 0  # how long ago
    until_ns: int = 0  # from now
    resource: str = ""  # that it waits for; how much it asks for, is in use, and is there, as people write it
    wanted: str = ""
    used: str = ""
    total: str = ""
    holders: tuple[tuple[int, str], ...] = ()  # some of those that have it,
    all_holders: int = 0  # of so many
    first: tuple[int, str] | None = None  # the task that gets some before it, and how much it asks for
    first_wanted: str = ""
    memory: str = (
        ""  # that its worker had, and that it declared, where this came near that; as people write it
    )
    declared: str = ""
    cluster: str = ""  # whose workers are used, as people call it; "" where they are Cellmill's own

    @property
    def waiting(self) -> bool:
        """It has not begun and is not over."""
        return self.reason not in ("over", "running", "stopping", "ended")

    def __str__(self) -> str:
        return _WORDS[self.reason](self) + self.near_text

    @property
    def near_text(self) -> str:
        """A sentence on a task whose worker came near the memory that it declared; "" for others."""
        if not self.declared:
            return ""
        return f" Its worker had {self.memory} of memory while it ran; the task declares {self.declared}."


def number(task: int) -> str:
    """A task as people name it: by its serial number."""
    return f"#{task >> 32}" if task >> 32 else f"#{task}"


_SPANS = (("min", 60e9, 59.5e9), ("s", 1e9, 999.5e6), ("ms", 1e6, 999.5e3), ("us", 1e3, 999.5))


def span(nanoseconds: float) -> str:
    """A duration as people read it."""
    for unit, size, least in _SPANS:
        if nanoseconds >= least:  # what is rounded to one of the unit is told in it
            value = nanoseconds / size
            return f"{value:,.1f} {unit}" if value < 9.95 else f"{value:,.0f} {unit}"
    return f"{nanoseconds:.0f} ns"


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count:,} tasks"


def _inputs(waits: Waits) -> str:
    named = ", ".join(f"{function} {number(task)}" for task, function in waits.waits_for)
    rest = waits.missing - len(waits.waits_for)
    if named and rest > 0:
        named += f" and {rest:,} more"
    which = f": {named}" if named else ""
    came = waits.inputs - waits.missing
    others = f" {came:,} other{' has' if came == 1 else 's have'} come since its call." if came else ""
    return f"It waits for the results of {_tasks(waits.missing)}{which}.{others}"


def _delayed(waits: Waits) -> str:
    if waits.asked:
        return (
            "Its last attempt failed, and its retry rule is being asked whether and when the next one begins."
        )
    again = (
        f"attempt {waits.attempt + 1} of {waits.retries + 1} begins" if waits.attempt else "it is made ready"
    )
    return f"It is kept back: {again} in {span(max(0, waits.until_ns))}."


def _queued(waits: Waits) -> str:
    before = waits.higher + waits.same + waits.others
    own, next_one = "of its own run", "the next one of its run"
    if not waits.in_run:
        own, next_one = "that came earlier", "the next one of the calls that are in no run"
    if not before:
        return f"It is the next one: a worker takes it as soon as one of the {waits.ready:,} has room."
    parts = []
    if waits.higher:
        parts.append(f"{_tasks(waits.higher)} of a higher priority")
    if waits.same:
        parts.append(f"{_tasks(waits.same)} {own}")
    words = f"It is queued behind {' and '.join(parts)}" if parts else f"It is {next_one}"
    if waits.others:
        words += f"{',' if parts else ', and'} takes turns with {_tasks(waits.others)} of other runs"
    return f"{words}. To have it run sooner, raise its priority (it is {waits.priority}) or add workers."


def _sent(waits: Waits) -> str:
    heard = ", as far as has been heard" if waits.cluster else ""  # outcomes of a pack come together
    if waits.runs_there is None:
        behind = f", behind {_tasks(waits.ahead)}" if waits.ahead else " and takes it next"
        return f"Worker {waits.worker} has it{behind}{heard}."
    task, function = waits.runs_there
    between = waits.ahead - 1
    more = f" and {_tasks(between)} more" if between > 0 else ""
    moves = " If that takes long, the next worker with nothing to do takes it over." if waits.moves else ""
    return (
        f"Worker {waits.worker} has it, behind {function} {number(task)}, which has run for {span(waits.since_ns)}"
        f"{more}{heard}.{moves}"
    )


def _no_worker(waits: Waits) -> str:
    if waits.cluster and waits.workers:
        return f"No worker of {waits.cluster} has answered yet: they are starting, or busy with other work there."
    if waits.cluster:
        return (
            f"{waits.cluster[:1].upper()}{waits.cluster[1:]} has no worker: the task begins as soon as one comes. "
            "Scale the cluster by its own means, or look at what keeps its jobs from starting."
        )
    if waits.workers:
        return "No worker is ready yet: they are starting."
    return "There is no worker at this moment: one is being started. If none comes, `%cellmill restart` tries again."


def _before(waits: Waits) -> str:
    before = waits.same + waits.higher
    return f" {_tasks(before)} {'is' if before == 1 else 'are'} before it." if before else ""


def _resource(waits: Waits) -> str:
    what, of = waits.resource, "of memory" if waits.resource == "memory" else waits.resource
    holders = ", ".join(f"{function} {number(task)}" for task, function in waits.holders)
    if waits.all_holders > len(waits.holders) > 0:
        holders += f" and {waits.all_holders - len(waits.holders):,} more"
    words = f"It waits for {waits.wanted} {of}: {waits.used} of {waits.total} are in use"
    words += f" by {holders}." if holders else "."
    if waits.first is not None:
        task, function = waits.first
        words += (
            f" What comes free is kept for {function} {number(task)}, which asks for {waits.first_wanted}."
        )
    words += _before(waits)
    return (
        f"{words} Where there is more than the executor knows of: `%cellmill resources {what}="
        f"{'64GB' if what == 'memory' else 'N'}`."
    )


_WORDS = {
    "over": lambda waits: "It is over, or there has been no such task: nothing to wait for.",
    "running": lambda waits: (
        f"It does not wait: {'as far as has been heard, ' if waits.cluster else ''}it has run for "
        f"{span(waits.since_ns)} on worker {waits.worker}."
    ),
    "ended": lambda waits: (
        f"It does not wait: it has run on worker {waits.worker}, and its outcome is on its way."
    ),
    "stopping": lambda waits: (
        f"It was cancelled while it ran on worker {waits.worker}, and is stopping: a task that has not stopped after "
        "half a second loses its worker."
    ),
    "inputs": _inputs,
    "delayed": _delayed,
    "paused": lambda waits: (
        "The workers are paused: `%cellmill resume`, or Resume in the panel, goes on." + _before(waits)
    ),
    "no-worker": _no_worker,
    "queued": _queued,
    "sent": _sent,
    "resource": _resource,
}
