"""Figures of one scheduler: its tasks now, its runs, its journeys, and how its workers ended."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import describe_exit
from ...task import RunCounts, Stats, WorkerEnd
from ...telemetry.schema import STAGES
from .scheduler import NO_WORKER, Scheduler, ffi, with_gil
from .worker_exit import Exit

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
        s.lost,
    )


def parked(scheduler: Scheduler) -> int:
    """Tasks that are ready and wait for resources; in `stats` they are among those that wait."""
    s = ffi.new("csched_stats_t *")
    with_gil.csched_stats(scheduler.handle, s)
    return int(s.parked)


def run_counts(scheduler: Scheduler, run: int) -> RunCounts:
    """Tasks of one run."""
    counts = ffi.new("csched_run_t *")
    with_gil.csched_run_counts(scheduler.handle, run, counts)
    return RunCounts(
        counts.submitted, counts.succeeded, counts.failed, counts.cancelled, counts.stopping, counts.lost
    )


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


def worker_ends(exits: Mapping[int, Exit]) -> list[WorkerEnd]:
    """Return the ends of workers that were not asked to end, oldest first."""
    return [
        WorkerEnd(index, end.reason or describe_exit(end.signal, end.exitcode), end.peak_rss)
        for index, end in list(exits.items())
        if end.exitcode != 0 or end.task is not None
    ]
