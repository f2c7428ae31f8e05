"""Figures of one scheduler: its tasks now, its runs, its journeys, and how its workers ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import describe_exit
from ...task import RunCounts, Stats, WorkerEnd
from ...telemetry.account import Account, chain_of
from ...telemetry.schema import STAGES
from .scheduler import NO_WORKER, Scheduler, check, ffi, with_gil
from .worker_exit import Exit

NS = 1e-9
EVERY_RUN = -1
MOST_CHAIN = 65_536  # csched remembers no more tasks that have ended

# of a journey, by CSCHED_ code
STATUSES = ("done", "done", "failed", "lost", "cancelled", "dependency", "timeout", "failed", "retried")


def stats(scheduler: Scheduler, workers: int) -> Stats:
    """Tasks by state; completions are drained first while fewer than so many workers are ready."""
    s = ffi.new("csched_stats_t *")
    with_gil.csched_stats(scheduler.handle, s)
    if s.ready_workers < workers:
        scheduler.poll()  # learns of workers that have become ready, also while nothing runs
        with_gil.csched_stats(scheduler.handle, s)
    over = s.succeeded + s.failed + s.cancelled
    return Stats(
        time.monotonic_ns(),
        s.ready_workers,
        s.submitted,
        s.waiting,
        max(0, s.submitted - over - s.running - s.waiting),
        s.running,
        s.succeeded,
        s.failed,
        s.cancelled,
        s.stopping,
    )


def run_counts(scheduler: Scheduler, run: int) -> RunCounts:
    """Tasks of one run."""
    counts = ffi.new("csched_run_t *")
    with_gil.csched_run_counts(scheduler.handle, run, counts)
    return RunCounts(counts.submitted, counts.succeeded, counts.failed, counts.cancelled, counts.stopping)


def journey_rows(scheduler: Scheduler, names: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """The journeys that are kept, oldest first; ``names`` are those of the functions, by number."""
    for row in scheduler.journeys():
        ticket, run, function, element, worker, status, attempt, *stamps, pack_ns, position = row
        yield {
            "task": ticket,
            "run": run,
            "function": names.get(function, "?"),
            "element": element,
            "worker": worker if worker != NO_WORKER else None,
            "status": STATUSES[status],
            "attempt": attempt,
            "pack_ns": int(pack_ns),
            "position": position,
            **{stage: stamp or None for stage, stamp in zip(STAGES, stamps, strict=True)},
        }


def account(scheduler: Scheduler, names: Mapping[int, str], run: int | None) -> Account:
    """Return where the time went of one run, or of the present piece of work."""
    sums = ffi.new("csched_account_t *")
    number = EVERY_RUN if run is None else run
    check(with_gil.csched_account(scheduler.handle, number, sums), "an account of a run")
    wall = sums.ended - sums.began
    capacity = max(sums.capacity - sums.others, sums.busy + sums.handling)
    functions, whole = _chain(scheduler, names, sums)
    return Account(
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
    )


def _chain(scheduler: Scheduler, names: Mapping[int, str], sums: Any) -> tuple[list[str], bool]:
    """The functions of the longest chain, in order; whether they are all."""
    most = min(sums.span_tasks, MOST_CHAIN)
    tickets, functions = ffi.new("uint64_t[]", most or 1), ffi.new("uint32_t[]", most or 1)
    found = with_gil.csched_account_chain(scheduler.handle, sums.span_ticket, most, tickets, functions)
    words = [names.get(number, "a call").rpartition("<locals>.")[2] for number in functions[0:found]]
    return words[::-1], found == sums.span_tasks and not sums.partial


def worker_ends(exits: Mapping[int, Exit]) -> list[WorkerEnd]:
    """Return the ends of workers that were not asked to end, oldest first."""
    return [
        WorkerEnd(index, end.reason or describe_exit(end.signal, end.exitcode), end.peak_rss)
        for index, end in list(exits.items())
        if end.exitcode != 0 or end.task is not None
    ]
