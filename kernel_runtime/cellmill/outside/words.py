"""What a kernel tells of itself in words: names of runs and functions, arguments of tasks."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from ..backends._protocol import Backend
from ..history import RunRecord
from ..run_registry import Run, numbered

__all__ = ["of_ended", "of_workers", "text_of"]

MOST_RUNS = 256
MOST_FUNCTIONS = 500
MOST_ARGUMENTS = 64  # workers whose task's arguments are told
MOST_NAME = 80


def of_ended(record: RunRecord) -> dict[str, Any]:
    """Return a run that is over."""
    return {
        "id": record.id,
        "name": record.name[:MOST_NAME],
        "cell": record.cell,
        "total": record.submitted,
        "submitted": record.submitted,
        "succeeded": record.succeeded,
        "failed": record.failed,
        "cancelled": record.cancelled,
        "lost": record.lost,
        "running": 0,
        "outstanding": 0,
        "wall": record.wall,
        "busy": record.busy,
        "finished": True,
    }


def _of_open(run: Run) -> dict[str, Any]:
    counts = run.counts()
    resting = run.open_ended and 0 < counts.submitted == counts.done  # single calls that are over so far
    return {
        "id": run.id,
        "key": run.key,
        "started": run.started_ns,
        "name": run.name[:MOST_NAME],
        "cell": run.cell,
        "total": None if run.open_ended else run.expected,
        "open_ended": run.open_ended,
        "closed": run.finished,  # single calls of an earlier cell: it gets no more
        "rests": [counts.submitted, run.record().wall] if resting else None,
    }


def text_of(
    backend: Backend, ended: Iterable[dict[str, Any]], of_workers: dict[str, Any], most: int
) -> bytes:
    """Return the text of an executor, of at most so many bytes; ``of_workers``: see `of_workers`."""
    observer = backend.observer
    names = observer.function_names if observer is not None else {}
    told: dict[str, Any] = {
        "at": time.monotonic_ns(),
        "runs": [_of_open(run) for run in numbered(backend)[-MOST_RUNS:]],
        "ended": list(ended),
        "functions": {number: name[:MOST_NAME] for number, name in list(names.items())[-MOST_FUNCTIONS:]},
        **of_workers,
    }
    text = json.dumps(told).encode()
    if len(text) <= most:
        return text
    return json.dumps({"at": told["at"], "runs": told["runs"][-20:], "ended": told["ended"][-20:]}).encode()


def of_workers(backend: Backend) -> dict[str, Any]:
    """Return what is told of the workers: their processes, and the arguments of the tasks that run now."""
    observer = backend.observer
    workers = backend.workers()
    arguments = {}
    for worker in [each for each in workers if each.task][:MOST_ARGUMENTS]:
        shown = observer.tasks.arguments(worker.task, worker.element) if observer and worker.task else None
        if shown:
            arguments[worker.task] = shown[:200]
    return {"pids": {worker.index: worker.pid for worker in workers}, "arguments": arguments}
