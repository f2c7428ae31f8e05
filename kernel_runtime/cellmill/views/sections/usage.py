"""Sends what workers used over time."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterable

from cellmill import run_registry
from cellmill.executor import Executor
from cellmill.process_context.cpus import available_cpus
from cellmill.process_context.machine import left_and_total
from cellmill.telemetry import schema
from cellmill.views.scope import Scope

BYTES_PER_SECOND = 40_000  # the next frame waits so long that this holds


class UsageSection:
    """Rows of what all workers used, once a second, or less often where there are many."""

    interval = 1.0

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope
        self._work = (0, 0.0) if scope is None else (scope.run, scope.began)
        self._last: object = None
        self._free_at = 0.0

    def begin(self, work: tuple[int, float]) -> None:
        if self._scope is None:
            self._work = work

    def restart(self) -> None:
        self._last, self._free_at = None, 0.0

    def frame(self, executor: Executor) -> schema.Usage | None:
        use, now = executor._backend.use, time.monotonic()
        if now < self._free_at:
            return None
        points = [] if use is None else use.points(*bounds(self._scope, self._work[1]))
        seen = (self._work, use is None, points[-1].time if points else 0.0)
        if seen == self._last:
            return None
        self._last = seen
        hosts = [] if use is None else use.hosts()
        frame: schema.Usage = {
            "cellmill": schema.VERSION,
            "kind": "usage",
            "run": None if self._scope is None else self._scope.run,
            "work": self._work[0],
            "known": use is not None,
            "cpus": sum(host.cpus for host in hosts) or available_cpus(),
            "limit": sum(host.memory for host in hosts) or left_and_total()[1],
            "start": column(point.start for point in points),
            "time": column(point.time for point in points),
            "busy": column(point.busy for point in points),
            "idle": column(point.idle for point in points),
            "memory": column(point.memory for point in points),
            "used": column(point.used for point in points),
            "cpu": column(point.cpu for point in points),
            "kernel": column(point.kernel for point in points),
        }
        self._free_at = now + 8 * len(frame["time"]) / BYTES_PER_SECOND
        return frame


def column(values: Iterable[float]) -> bytes:
    """Pack numbers as little-endian doubles."""
    return array("d", values).tobytes()


def bounds(scope: Scope | None, since: float) -> tuple[float, float]:
    """Return when a piece of work, or a run, began and ended, in monotonic seconds."""
    record = None if scope is None else run_registry.record_of(scope.run)
    over = record is not None and not record.outstanding
    return since, since + record.wall if record is not None and over else float("inf")
