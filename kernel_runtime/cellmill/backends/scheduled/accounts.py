"""Where the time of tasks went: the scheduler's sums, and their longest chain."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from ...history import Moved, RunFigures, Stages
from ...telemetry.account import Account, chain_of
from ...telemetry.idle import Idle, explained
from .scheduler import Scheduler, check, ffi, nogil, nogil_ffi, with_gil

NS = 1e-9
EVERY_RUN = -1
IDLE_REASONS = int(with_gil.CSCHED_IDLE_REASONS)
RUN_STEPS = int(with_gil.CSCHED_RUN_STEPS)
STEP_BYTES = int(ffi.sizeof("csched_run_step_t"))
MOST_CHAIN = 65_536  # csched remembers no more tasks that have ended


def account(
    scheduler: Scheduler, names: Mapping[int, str], run: int | None, payloads: bool, **more: Any
) -> Account:
    """Return where the time went of one run, or of the present piece of work. ``payloads``: whether arguments and
    results are packed; ``more``: further fields.
    """
    sums = sums_of(scheduler, run)
    wall = sums.ended - sums.began
    capacity, handling = _capacity_and_handling(sums)
    idle = capacity - sums.busy - handling
    # where handling is told late, as on clusters, it covers a part of the time before and after tasks, too
    known = sums.head + sums.tail + sums.unused
    fit = NS * (min(1.0, idle / known) if known else 1.0)
    functions, whole = _chain(scheduler, names, sums)
    return Account(
        began=sums.began * NS,
        wall=wall * NS,
        workers=capacity / wall if wall else 0.0,
        busy=sums.busy * NS,
        overhead=handling * NS,
        idle=idle * NS,
        head=sums.head * fit,
        tail=sums.tail * fit,
        unused=sums.unused * fit,
        wasted=sums.wasted * NS,
        span=sums.span * NS,
        chain=chain_of(functions),
        whole_chain=whole,
        longest=sums.longest * NS,
        tasks=sums.tasks,
        sent=sums.sent if payloads else None,
        received=sums.received if payloads else None,
        **more,
    )


def _capacity_and_handling(sums: Any) -> tuple[int, int]:
    """The time of the workers, and how much of it they handled arguments and results.

    Results of a pack on a cluster are there when its reply is, while the worker runs the next tasks: what is told of
    handling beyond the time that there was is time of these.
    """
    capacity = max(sums.capacity - sums.others, sums.busy)
    return capacity, min(sums.handling, capacity - sums.busy)


def moved_by(scheduler: Scheduler, function: int) -> Moved:
    """Return what tasks of this function moved in the present piece of work."""
    sent, received = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    with_gil.csched_account_moved(scheduler.handle, function, sent, received)
    return Moved(sent[0], received[0])


def moved_in(scheduler: Scheduler, run: int) -> Moved:
    """Return what the tasks of a run moved that have ended."""
    sums = sums_of(scheduler, run)
    return Moved(sums.sent, sums.received)


def busy_share(scheduler: Scheduler, run: int) -> float | None:
    """Return the share of the workers' time in user code during a run, without what other runs used.

    None before a task has ended.
    """
    sums = sums_of(scheduler, run)
    capacity, _ = _capacity_and_handling(sums)
    return sums.busy / capacity if capacity else None


def sums_of(scheduler: Scheduler, run: int | None) -> Any:
    """Return the scheduler's sums (csched_account_t) for one run, or for the present piece of work."""
    sums = ffi.new("csched_account_t *")
    number = EVERY_RUN if run is None else run
    check(with_gil.csched_account(scheduler.handle, number, sums), "an account of a run")
    return sums


def why_idle(scheduler: Scheduler, sums: Any) -> Idle | None:
    """Return why workers were idle in the present piece of work, which is over; None where that is not known exactly:
    some attempts have left no stamps.
    """
    found = nogil_ffi.new("uint64_t[]", IDLE_REASONS)
    if nogil.csched_idle(scheduler.nogil_handle, sums.began, sums.ended, found) < 0:
        return None
    idle = max(0, sums.capacity - sums.busy - sums.handling)
    return explained(Idle(*(each * NS for each in found)), idle * NS, sums.capacity * NS)


def _chain(scheduler: Scheduler, names: Mapping[int, str], sums: Any) -> tuple[list[str], bool]:
    """Return the functions of the longest chain, in order, and whether these are all of them."""
    most = min(sums.span_tasks, MOST_CHAIN)
    tickets, functions = ffi.new("uint64_t[]", most or 1), ffi.new("uint32_t[]", most or 1)
    found = with_gil.csched_account_chain(scheduler.handle, sums.span_ticket, most, tickets, functions)
    words = [names.get(number, "a call").rpartition("<locals>.")[2] for number in functions[0:found]]
    return words[::-1], found == sums.span_tasks and not sums.partial


def run_figures(scheduler: Scheduler, run: int, backend: str, size: int) -> RunFigures:
    """Return what is kept of a run to compare it with others; of a run that is not closed."""
    sums, steps = ffi.new("csched_run_times_t *"), ffi.new("csched_run_step_t[]", RUN_STEPS)
    count = with_gil.csched_run_times(scheduler.handle, run, sums, steps)
    account = sums_of(scheduler, run)
    wall = account.ended - account.began
    capacity, _ = _capacity_and_handling(account)
    numbers = array("Q")
    numbers.frombytes(ffi.buffer(steps, count * STEP_BYTES))
    waits = (sums.waited, sums.queued, sums.delivered, sums.unpacked, sums.packed, sums.pickled)
    return RunFigures(
        backend,
        size,
        capacity / wall if wall else 0.0,
        account.busy * NS,
        sums.tasks,
        Stages(*(each * NS for each in waits)),
        numbers,
    )
