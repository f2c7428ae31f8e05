"""What a pool and its kernel hold at rest. Counted before and after, it tells what leaked."""

from __future__ import annotations

import gc
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from cellmill.backends.scheduled.scheduler import Scheduler, ffi, with_gil
from cellmill.bench import machine
from cellmill.executor import Executor
from cellmill.futures import Future
from cellmill.run_registry import active_runs

MB = 1 << 20
LOOKS = 35  # 20 ms apart: longer than an interrupted task has to end
PATIENCE_S = 60.0  # for workers to stand and to take back what is theirs; only a leak takes it
# What may differ between two moments of rest: allocators keep pages, and arenas their warm blocks.
RESIDENT_SLACK, ARENA_SLACK = 32 * MB, MB


@dataclass(frozen=True, slots=True)
class Census:
    """Counts of this process and of all below it, nothing being under way. Memory in bytes."""

    processes: int
    threads: int
    descriptors: int
    descriptors_below: int
    shared: int  # mappings of shared memory, of all processes together
    futures: int
    runs: int  # that are not over
    arena: int  # in blocks that are still referred to
    file: int
    resident: int  # private memory of this process; shared memory is counted by the arena
    resident_below: int  # of the largest process below


def take(pool: Executor, looks: int = LOOKS) -> Census:
    """Count, as soon as all workers stand and have taken back their blocks."""
    wait_for_rest(pool, looks)
    below = [pid for pid in machine.family() if pid != os.getpid()]
    stats = _scheduler_stats(pool)
    return Census(
        processes=len(below),
        threads=threading.active_count(),
        descriptors=_descriptors(os.getpid()),
        descriptors_below=sum(map(_descriptors, below)),
        shared=sum(map(_shared_mappings, [os.getpid(), *below])),
        futures=sum(isinstance(found, Future) for found in gc.get_objects()),
        runs=len(active_runs()),
        arena=stats.arena_used,
        file=stats.file_used,
        resident=_private(os.getpid()),
        resident_below=max(map(_private, below), default=0),
    )


def leaks(before: Census, after: Census) -> list[str]:
    """In words, what there is more of than before; nothing when all is back where it began."""
    found = []
    for name in (
        "processes",
        "threads",
        "descriptors",
        "descriptors_below",
        "shared",
        "futures",
        "runs",
        "file",
    ):
        one, other = getattr(before, name), getattr(after, name)
        # A descriptor or mapping that was about to go at the first look is no fault; a worker that is missing is one.
        if other > one or (other < one and not name.startswith(("descriptors", "shared"))):
            found.append(f"{name}: {one} before, {other} after")
    for name, slack in (
        ("arena", ARENA_SLACK),
        ("resident", RESIDENT_SLACK),
        ("resident_below", RESIDENT_SLACK),
    ):
        one, other = getattr(before, name), getattr(after, name)
        if other > one + slack:
            found.append(f"{name}: {one / MB:.1f} MB before, {other / MB:.1f} MB after")
    return found


def wait_for_rest(pool: Executor, looks: int = LOOKS) -> None:
    """Return when so many looks find the same: all workers stand, none is starting, all blocks came back.

    Workers take back what is theirs between tasks, so that a few are run.
    """
    end = time.monotonic() + PATIENCE_S
    steady, last = 0, (-1, -1, -1)
    while steady < looks and time.monotonic() < end:
        for _ in range(2 * pool.max_workers):
            pool.submit(int).result(PATIENCE_S)
        gc.collect()
        machine.trim()
        _scheduler(pool).wait(20)
        stats = _scheduler_stats(pool)
        now = (stats.ready_workers, threading.active_count(), stats.arena_used)
        standing = stats.ready_workers == pool.max_workers and not stats.file_used
        steady = steady + 1 if standing and now == last else 0
        last = now


def _scheduler(pool: Executor) -> Scheduler:
    scheduler: Scheduler = pool._backend.scheduler  # type: ignore[attr-defined]
    return scheduler


def _scheduler_stats(pool: Executor) -> ffi.CData:
    """The scheduler's csched_stats_t."""
    found = ffi.new("csched_stats_t *")
    with_gil.csched_stats(_scheduler(pool).handle, found)
    return found


def _descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def _shared_mappings(process: int) -> int:
    return Path(f"/proc/{process}/maps").read_text().count("/memfd:")


def _private(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024
