"""The state map: one byte for each task of the present piece of work, or for some of them together."""

from __future__ import annotations

import time
from collections.abc import Callable

from cellmill import run_registry
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.scope import Scope

MOST_CELLS = 16384
MOST_SPAN = 65536
BYTES_PER_SECOND = 120_000  # of cells, which no packing makes smaller; the rest of a frame is small


class StateMapSection:
    """A picture of the map ten times a second, less often where it is large and packs badly."""

    interval = 0.1

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope
        self._bounds: Callable[[], tuple[int, int, int]] = lambda: (0, 0, 0)
        self._last: schema.StateMap | None = None
        self._due = 0.0

    def follow(self, bounds: Callable[[], tuple[int, int, int]]) -> None:
        """See `FollowsWork`."""
        self._bounds = bounds

    def restart(self) -> None:
        self._last = None
        self._due = 0.0

    def frame(self, executor: Executor) -> schema.StateMap | None:
        observer = executor._backend.observer
        now = time.monotonic()
        if observer is None or now < self._due:
            return None
        scope, key = self._scope, None
        if scope is None:
            work, origin, total = self._bounds()
            end = observer.next_position
        else:
            work, origin, key = scope.run, 0, scope.key
            end, total = observer.positions_of(key), expected_of(scope)
        total = max(total, end - origin)
        span = span_for(total)
        picture = observer.state_map(origin, end, span, MOST_CELLS, key)
        frame: schema.StateMap = {
            "cellmill": schema.VERSION,
            "kind": "state-map",
            "run": None if scope is None else scope.run,
            "work": work,
            "origin": origin,
            "start": picture.first,
            "end": picture.last,
            "total": total,
            "span": span,
            "counts": counts_of(picture.counts),
            "cells": picture.cells,
        }
        if frame == self._last:
            return None
        self._last = frame
        self._due = now + len(picture.cells) / BYTES_PER_SECOND
        return frame


def expected_of(scope: Scope) -> int:
    """Return how many tasks a run will have, as far as that is known."""
    going = any(run.id == scope.run for run in run_registry.active_runs())
    return scope.expected if going and scope.expected is not None else 0


def span_for(tasks: int) -> int:
    """Tasks a cell, so that so many of them fit into one picture."""
    span = 1
    while tasks > span * MOST_CELLS and span < MOST_SPAN:
        span *= 2
    return span


def counts_of(by_state: tuple[int, ...]) -> schema.MapCounts:
    """A picture's counts, by name."""
    _, waiting, queued, running, done, failed, cancelled, lost = by_state
    return {
        "waiting": waiting,
        "queued": queued,
        "running": running,
        "done": done,
        "failed": failed,
        "cancelled": cancelled,
        "lost": lost,
    }
