"""Records of runs of this process, without a file: the journeys that are kept of them, the newest 262,144 of all."""

from __future__ import annotations

from typing import Any, cast

from .. import run_registry
from ..backends._observing import Observer
from ..backends._protocol import Backend
from ..backends.scheduled import packed_rows
from ..history import RunRecord
from . import machine
from .record import GOING, WHOLE, Record

__all__ = ["of_run"]


def of_run(record: RunRecord) -> Record:
    """The record of a run of this process, as far as it is kept."""
    known = run_registry.known(record.id)
    backend = cast("Backend | None", known.backend() if known is not None else None)
    began_ns = known.started_ns if known is not None else 0
    head: dict[str, Any] = {
        "id": record.id,
        "name": record.name,
        "cell": record.cell,
        "began": record.began.isoformat(),
        "began_ns": began_ns,
        "wall_clock_ns": machine.wall_clock_ns(began_ns),
        **machine.here(),
    }
    state = WHOLE if record.finished else GOING
    if known is None or backend is None or backend.observer is None:
        return Record(None, head, record, state)
    head |= {"backend": backend.name, "cluster": backend.cluster, "workers": backend.max_workers}
    rows = _rows_of(backend.observer, known)
    run = run_registry.find(known.key, backend)
    failures = run.failures() if run is not None and run.id == record.id else _failures_of(known, backend)
    account = backend.observer.account(known.key) if run is not None and run.id == record.id else None
    told: dict[str, Any] = {}
    if account is not None:
        told = {"sentence": account.where, "workers": account.workers}
    elif record.spent is not None:
        told = {"sentence": record.spent.sentence}
    names = dict(backend.observer.function_names)
    found = Record(None, head, record, state, rows, names, [], failures, told)
    found.missing = found.without_journey
    return found


def _rows_of(observer: Observer, known: run_registry.Known) -> bytes:
    """The journeys of a run that are kept. Numbers of runs are used again: until when this one's was its own tells
    them apart. Other executors have the same numbers at the same time.
    """
    backend = known.backend()
    later = [
        other.started_ns
        for other in run_registry.recent_runs()
        if other.key == known.key and other.backend() is backend
    ]
    until = min((start for start in later if start > known.started_ns), default=2**64 - 1)
    reader = observer.row_reader().from_the_oldest()
    parts: list[bytes] = []
    while True:
        reader.look()
        if not reader.count:
            return b"".join(parts)
        while (first := reader.first()) is not None:
            run, submitted = first
            if run == known.key and known.started_ns <= submitted < until:
                part = reader.take(run, known.started_ns, until)
                parts.append(packed_rows.unpack(part.count, part.data, run))
            elif run == known.key and submitted < until:
                reader.leave(run, 0, known.started_ns)
            else:
                reader.leave(run, submitted if run == known.key else 0)


def _failures_of(known: run_registry.Known, backend: Backend) -> list[Any]:
    run = run_registry.find_ended(known.key, backend)
    return run.failures() if run is not None and run.id == known.id else []
