"""What views are told of an executor: its counters, its runs, and the time that is left."""

from __future__ import annotations

from cellmill import run_registry
from cellmill.diagnostics.lasting_ids import lasting_id
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.telemetry.progress import RunSample, Sample


def take_sample(executor: Executor) -> Sample:
    """An executor's counters."""
    stats = executor.stats()
    return Sample(
        executor=lasting_id(executor),
        time=stats.time_ns / 1e9,
        backend=executor.backend,
        workers=stats.workers,
        wanted=executor.max_workers,
        paused=executor.paused,
        submitted=stats.submitted,
        running=stats.running,
        succeeded=stats.succeeded,
        failed=stats.failed,
        cancelled=stats.cancelled,
        lost=stats.lost,
        position=observer.next_position if (observer := executor._backend.observer) else 0,
        span=observer.work_span() if observer else (0.0, 0.0),
    )


def left_of(executor: Executor) -> schema.TimeLeft | None:
    """Return the estimate of the time that the outstanding tasks still take; None where there is none."""
    backend = executor._backend
    if backend.observer is None:
        return None
    left = backend.observer.time_left(run_registry.runs_of(backend), executor.max_workers)
    if left is None:
        return None
    seconds = None if left.seconds is None else round(left.seconds, 3)
    return {"seconds": seconds, "unknown": list(left.unknown), "late": list(left.late)}


def take_run_samples(executor: Executor) -> list[RunSample]:
    """The counters of this executor's runs in progress, oldest first."""
    samples = []
    for run in run_registry.runs_of(executor._backend):
        counts = run.counts()
        if not run.listed or (counts.hits and not counts.submitted):  # nothing of it runs
            continue
        done = counts.succeeded + counts.failed + counts.cancelled
        sample = RunSample(
            run.id,
            run.name,
            run.total,
            counts.submitted,
            done,
            counts.failed,
            counts.cancelled,
            run.priority,
            run.running(),
            counts.lost,
        )
        samples.append(sample)
    return samples
