"""A run as spans of OpenTelemetry: one for the run, one for each task in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..backends.scheduled.figures import STATUSES
from ..backends.scheduled.scheduler import NO_WORKER
from ..diagnostics.short_text import counted
from ..errors import BackendError, UsageError
from .catalogue import What, open_record, or_latest
from .record import Record
from .thinning import chosen, sentence, tasks_in

MOST_SPANS = 10_000


@dataclass(frozen=True, slots=True)
class ExportedSpans:
    """Spans that were handed to a provider."""

    tasks: int
    note: str  # what was left out; "": nothing

    def __repr__(self) -> str:
        return " ".join(part for part in (f"spans of {counted(self.tasks, 'task')}.", self.note) if part)


def export_spans(run: What = None, *, provider: Any = None, most: int = MOST_SPANS) -> ExportedSpans:
    """Hand a run to OpenTelemetry: a run, its number, a record or its file; without one the latest run.

    ``provider``: the tracer provider, if not the one that is set. The run is a span, with one below it for each task
    that ran, at most so many. Times are those of the wall clock. Raises `BackendError` without OpenTelemetry's SDK.
    """
    try:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
    except ImportError as error:
        raise BackendError("spans need OpenTelemetry's SDK: pip install 'cellmill[export]'") from error
    found = trace.get_tracer_provider() if provider is None else provider
    if not isinstance(found, TracerProvider):
        raise UsageError(
            "no tracer provider of OpenTelemetry's SDK is set, so spans would go nowhere: set one "
            "(opentelemetry.trace.set_tracer_provider), or pass provider="
        )
    if not isinstance(most, int) or most < 1:
        raise UsageError(f"most is a number of spans, at least 1, not {most!r}")
    record = open_record(or_latest(run))
    rows = [row for row in chosen(record, most) if row[11] and row[12]]
    _export(record, rows, found.get_tracer("cellmill", str(record.head.get("release", ""))), trace)
    return ExportedSpans(tasks_in(rows), sentence(record, len(rows)) if len(record) > most else "")


def _export(record: Record, rows: list[tuple[int, ...]], tracer: Any, trace: Any) -> None:
    shift = int(record.head.get("wall_clock_ns", 0)) - record.began_ns
    run = record.run
    whole = tracer.start_span(
        f"run {run.name}",
        start_time=record.began_ns + shift,
        attributes={
            "cellmill.tasks": run.submitted,
            "cellmill.failed": run.failed,
            "cellmill.backend": str(record.head.get("backend", "")),
            "host.name": str(record.head.get("host", "")),
        },
    )
    inside = trace.set_span_in_context(whole)
    for ticket, _, function, element, worker, status, attempt, *stamps, _, _ in rows:
        span = tracer.start_span(
            record.names.get(function, run.name),
            context=inside,
            start_time=stamps[4] + shift,
            attributes={
                "cellmill.task": ticket >> 32,
                "cellmill.element": element,
                "cellmill.worker": -1 if worker == NO_WORKER else worker,
                "cellmill.attempt": attempt,
                "cellmill.queued_ns": max(0, stamps[4] - stamps[0]),
            },
        )
        if STATUSES[status] != "done":
            span.set_status(trace.Status(trace.StatusCode.ERROR, STATUSES[status]))
        span.end(stamps[5] + shift)
    whole.end(int(record.began_ns + run.wall * 1e9) + shift)
