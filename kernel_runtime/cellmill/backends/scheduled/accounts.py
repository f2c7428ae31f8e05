"""Where the time of tasks went: the scheduler's sums, their longest chain, and what more workers would change."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...telemetry.account import Account, chain_of
from ...telemetry.forecast import Forecast, Ran, with_more_workers
from ...telemetry.schema import STAGES
from .dependencies import DependencyPicture
from .processor_use import Used
from .scheduler import NO_ELEMENT, NO_WORKER, Scheduler, check, ffi, with_gil

NS = 1e-9
EVERY_RUN = -1
MOST_CHAIN = 65_536  # csched remembers no more tasks that have ended
MOST_FORECAST = 4_096  # tasks that are scheduled again on paper: 10 ms; beyond that their sum tells as much

_STAMPS = 7  # fields of a journey before the stamps
_SUBMITTED, _STARTED, _FINISHED = (
    _STAMPS + STAGES.index(stage) for stage in ("submitted", "started", "finished")
)
_POSITION = _STAMPS + len(STAGES) + 1


def account(scheduler: Scheduler, names: Mapping[int, str], run: int | None, **more: Any) -> Account:
    """Return where the time went of one run, or of the present piece of work; ``more``: further fields."""
    sums = sums_of(scheduler, run)
    wall = sums.ended - sums.began
    capacity = max(sums.capacity - sums.others, sums.busy + sums.handling)
    functions, whole = _chain(scheduler, names, sums)
    return Account(
        began=sums.began * NS,
        wall=wall * NS,
        workers=capacity / wall if wall else 0.0,
        busy=sums.busy * NS,
        overhead=sums.handling * NS,
        idle=(capacity - sums.busy - sums.handling) * NS,
        head=sums.head * NS,
        tail=sums.tail * NS,
        unused=sums.unused * NS,
        wasted=sums.wasted * NS,
        span=sums.span * NS,
        chain=chain_of(functions),
        whole_chain=whole,
        longest=sums.longest * NS,
        tasks=sums.tasks,
        **more,
    )


def busy_share(scheduler: Scheduler, run: int) -> float | None:
    """Return the share of the workers' time in user code during a run, without what other runs used.

    None before a task has ended.
    """
    sums = sums_of(scheduler, run)
    capacity = max(sums.capacity - sums.others, sums.busy + sums.handling)
    return sums.busy / capacity if capacity else None


def sums_of(scheduler: Scheduler, run: int | None) -> Any:
    """Return the scheduler's sums (csched_account_t) for one run, or for the present piece of work."""
    sums = ffi.new("csched_account_t *")
    number = EVERY_RUN if run is None else run
    check(with_gil.csched_account(scheduler.handle, number, sums), "an account of a run")
    return sums


def _chain(scheduler: Scheduler, names: Mapping[int, str], sums: Any) -> tuple[list[str], bool]:
    """Return the functions of the longest chain, in order, and whether these are all of them."""
    most = min(sums.span_tasks, MOST_CHAIN)
    tickets, functions = ffi.new("uint64_t[]", most or 1), ffi.new("uint32_t[]", most or 1)
    found = with_gil.csched_account_chain(scheduler.handle, sums.span_ticket, most, tickets, functions)
    words = [names.get(number, "a call").rpartition("<locals>.")[2] for number in functions[0:found]]
    return words[::-1], found == sums.span_tasks and not sums.partial


def forecast(
    scheduler: Scheduler, work_began: Callable[[], int], sums: Any, used: Used | None
) -> Forecast | None:
    """Return what twice as many workers would change for the present piece of work, which is over.

    Nothing is promised where the processor time that the workers ``used`` is unknown: tasks that compute gain nothing
    from more workers than there are processors.
    """
    wall = (sums.ended - sums.began) * NS
    if used is None or wall <= 0:
        return None
    workers = sums.capacity * NS / wall
    # their number changed meanwhile, or there was none for nearly all of that time
    if abs(workers - round(workers)) > 0.05 or round(workers) < 1:
        return None
    least = max(sums.span * NS, used.workers / used.processors)
    return with_more_workers(_ran(scheduler, work_began, sums), wall, round(workers), least)


def _ran(scheduler: Scheduler, work_began: Callable[[], int], sums: Any) -> list[Ran]:
    """Return the tasks of the present work in the order of their submission.

    Where they are more than `MOST_FORECAST`, as many equal ones stand for them.
    """
    if sums.tasks > MOST_FORECAST:
        return [Ran((sums.busy + sums.handling) * NS / MOST_FORECAST)] * MOST_FORECAST
    rows = [
        row
        for row in scheduler.latest_journeys(2 * MOST_FORECAST)
        if row[_SUBMITTED] >= sums.began and row[_FINISHED] and row[4] != NO_WORKER
    ]
    rows.sort(key=lambda row: row[_POSITION])
    handling = sums.handling * NS / max(1, len(rows))
    positions = {row[0]: at for at, row in enumerate(rows) if row[3] in (0, NO_ELEMENT)}
    inputs: dict[int, list[int]] = {}
    if sums.span_tasks > 1:
        for before, after in _dependencies(scheduler, work_began):
            first, then = positions.get(before), positions.get(after)
            if first is not None and then is not None and first < then:
                inputs.setdefault(then, []).append(first)
    return [
        Ran((row[_FINISHED] - row[_STARTED]) * NS + handling, tuple(inputs.get(at, ())))
        for at, row in enumerate(rows)
    ]


def _dependencies(scheduler: Scheduler, work_began: Callable[[], int]) -> list[tuple[int, int]]:
    """Return the tickets of each task whose result is taken, and of the task that takes it."""
    picture = DependencyPicture(scheduler, {}, work_began)
    picture.look()
    columns = picture.columns()
    tickets, pairs = memoryview(columns[0]).cast("Q"), memoryview(columns[3]).cast("I")
    return [(tickets[pairs[at]], tickets[pairs[at + 1]]) for at in range(0, len(pairs), 2)]
