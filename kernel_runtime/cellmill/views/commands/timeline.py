"""Commands that ask for the timeline in detail."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cellmill.errors import UsageError
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.scope import asked_scope
from cellmill.views.sections.work_fold import functions_in, named

MOST_TASKS = 4000
_LONGEST = 2.0**62 / 1e9  # seconds that fit into the clock


def zoom(executor: Executor, command: Mapping[str, Any]) -> schema.TimelineDetail:
    """The tasks that ran between two moments; raises `UsageError` when they make no sense."""
    request = command.get("request")
    if type(request) is not int or request < 0:
        raise UsageError(f"a question's number is a whole number of at least 0, not {request!r}")
    start, end = (_seconds(command.get(key)) for key in ("start", "end"))
    if start > end:
        raise UsageError("a part of the timeline does not end before it starts")
    observer = executor._backend.observer
    if observer is None:
        raise UsageError(f"the {executor.backend} backend does not tell when its tasks ran")
    scope = asked_scope(executor, command.get("run"))
    key = None if scope is None else scope.key
    spans, found = observer.spans_between(int(start * 1e9), int(end * 1e9), MOST_TASKS, key)
    names = observer.function_names
    return {
        "cellmill": schema.VERSION,
        "kind": "timeline-detail",
        "run": None if scope is None else scope.run,
        "request": request,
        "start": start,
        "end": end,
        "found": found,
        "names": named(names, functions_in(spans)),
        "spans": spans,
    }


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UsageError(f"a part of the timeline has a start and an end in seconds, not {value!r}")
    return min(max(0.0, float(value)), _LONGEST)
