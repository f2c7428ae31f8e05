"""The runs of this kernel: the list of the latest ones, and the counters of one."""

from __future__ import annotations

from cellmill import run_registry
from cellmill.executor import Executor
from cellmill.history import RunRecord
from cellmill.telemetry import schema
from cellmill.views.samples import left_of, take_sample
from cellmill.views.scope import Scope


class RunsSection:
    """The records of the latest runs, once a second: all at first, then those that changed."""

    interval = 1.0

    def __init__(self) -> None:
        self._told: dict[int, schema.RunRecord] = {}

    def restart(self) -> None:
        self._told = {}

    def frame(self, executor: Executor) -> schema.Runs | None:
        kept = {run.id for run in run_registry.recent_runs() if run.backend() is executor._backend}
        now = {record.id: told(record, record.id in kept) for record in run_registry.records()}
        changed = [record for number, record in now.items() if record != self._told.get(number)]
        self._told = now
        return {"cellmill": schema.VERSION, "kind": "runs", "runs": changed} if changed else None


def told(record: RunRecord, kept: bool) -> schema.RunRecord:
    """Convert a record to the schema's form."""
    return {
        "id": record.id,
        "cell": record.cell,
        "name": record.name,
        "began": record.began.timestamp(),
        "wall": None if record.outstanding or not (record.submitted or record.hits) else record.wall,
        "submitted": record.submitted,
        "succeeded": record.succeeded,
        "failed": record.failed,
        "lost": record.lost,
        "cancelled": record.cancelled,
        "hits": record.hits,
        "busy": None if record.busy is None else round(record.busy, 4),
        "kept": kept,
    }


class CountersSection:
    """The counters of one run, as often as those of all."""

    interval = 0.1

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._last: schema.Snapshot | None = None

    def restart(self) -> None:
        self._last = None

    def frame(self, executor: Executor) -> schema.Snapshot | None:
        frame, last = counters(executor, self._scope), self._last
        if frame is None or (last is not None and _lasting(frame) == _lasting(last)):
            return None
        self._last = frame
        return frame


def _lasting(frame: schema.Snapshot) -> schema.Snapshot:
    """What of it is news: not its time, and what follows from that."""
    return {**frame, "time": 0.0, "elapsed": 0.0, "left": None}


def counters(executor: Executor, scope: Scope) -> schema.Snapshot | None:
    """Return the present counters of a run; None where it is not among the last ones."""
    record = run_registry.record_of(scope.run)
    if record is None:
        return None
    sample = take_sample(executor)
    run = next((run for run in run_registry.active_runs() if run.id == scope.run), None)
    done = record.succeeded + record.failed + record.cancelled
    running = min(run.running() if run is not None else 0, record.outstanding)
    expected = scope.expected if run is not None and scope.expected is not None else 0
    total = max(record.submitted, expected)
    alone = sample.submitted - sample.done == record.outstanding  # else others take part of the workers
    return {
        "cellmill": schema.VERSION,
        "kind": "snapshot",
        "run": scope.run,
        "time": sample.time,
        "work": scope.run,
        "began": scope.began,
        "elapsed": record.wall,
        "backend": sample.backend,
        "workers": sample.workers,
        "wanted": sample.wanted,
        "paused": sample.paused,
        "left": left_of(executor) if record.outstanding and alone else None,
        "counts": {
            "total": total,
            "done": done,
            "failed": record.failed,
            "lost": record.lost,
            "cancelled": record.cancelled,
            "running": running,
            "queued": record.outstanding - running,
        },
        "runs": [
            {
                "id": scope.run,
                "name": record.name,
                "total": run.total,
                "done": done,
                "failed": record.failed,
                "lost": record.lost,
                "cancelled": record.cancelled,
                "priority": run.priority,
            }
        ]
        if run is not None
        else [],
    }
