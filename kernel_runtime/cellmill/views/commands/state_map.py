"""A closer look at the state map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellmill.errors import UsageError
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.scope import asked_scope
from cellmill.views.sections.state_map import MOST_CELLS, counts_of, span_for

MOST_POSITION = 1 << 53  # as far as whole numbers go on a page


def zoom_map(executor: Executor, command: Mapping[str, Any]) -> schema.MapPart:
    """The part from one position up to another, one cell a task where it is small enough."""
    request, start, end = (command.get(name) for name in ("request", "start", "end"))
    if type(request) is not int or type(start) is not int or type(end) is not int:
        raise UsageError("a part of the map is asked for by whole numbers")
    if not 0 <= start < end <= MOST_POSITION:
        raise UsageError(f"there is no part of the map from {start} up to {end}")
    observer = executor._backend.observer
    if observer is None:
        raise UsageError(f"the {executor.backend} backend keeps no state map")
    scope = asked_scope(executor, command.get("run"))
    span = span_for(end - start)
    picture = observer.state_map(start, end, span, MOST_CELLS, None if scope is None else scope.key)
    return {
        "cellmill": schema.VERSION,
        "kind": "map-part",
        "request": request,
        "run": None if scope is None else scope.run,
        "start": picture.first,
        "end": picture.last,
        "span": span,
        "counts": counts_of(picture.counts),
        "cells": picture.cells,
    }
