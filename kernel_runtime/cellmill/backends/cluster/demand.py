"""Tells a borrowed cluster's own scheduler of the tasks that wait for remote workers.

Tasks stay in the kernel until a remote worker has use for them. A cluster that grows and shrinks with its work would
see nothing to grow for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Protocol

from ..scheduled import figures
from ..scheduled.gate import Gate
from ..scheduled.observer import Observer
from ..scheduled.scheduler import Scheduler, ffi, with_gil
from .engines.protocol import Engine, RemoteWorker, Waiting
from .looking import Looking

LOOK_SECONDS = 0.2  # between looks: what begins sooner is not told of
MOST_FUNCTIONS = 256
_NS = 1e-9


class Host(Protocol):
    """The backend."""

    scheduler: Scheduler
    gate: Gate
    observer: Observer

    def follow(self, workers: int) -> None:
        """The cluster has so many remote workers now."""


class Lanes(Protocol):
    """The pool of lanes."""

    engine: Engine
    closed: bool
    size: int
    looking: Looking
    remotes: dict[Hashable, RemoteWorker]

    @property
    def lanes(self) -> Mapping[Hashable, object]: ...


class Demand:
    """Looks at what waits for the remote workers of one pool, now and then."""

    def __init__(self, pool: Lanes, host: Host) -> None:
        self._pool = pool
        self._host = host

    def start(self) -> None:
        """Look from now on."""
        self._pool.looking.begin("demand", self._look)

    def _look(self) -> float:
        pool, host = self._pool, self._host
        if not pool.closed and host.gate.broken is None:
            there = len(pool.remotes)
            host.follow(there)
            more = 0 if host.observer.paused else max(0, pool.size - len(pool.lanes))
            pool.engine.want(waiting(host.scheduler) if more else [], there, more)
        return LOOK_SECONDS


def waiting(scheduler: Scheduler) -> list[Waiting]:
    """Return what waits for a worker, by function. Elements of maps that are held back are as those that were sent."""
    queued = figures.stats(scheduler, 0).queued
    if not queued:
        return []
    rows = ffi.new("csched_backlog_t[]", MOST_FUNCTIONS)
    count = with_gil.csched_backlogs(scheduler.handle, MOST_FUNCTIONS, rows)
    outstanding = sum(row.outstanding for row in rows[0:count])
    if not outstanding:
        return [Waiting(queued, 0.0)]
    share = queued / outstanding  # of what is outstanding some runs
    return [
        Waiting(row.outstanding * share, row.spent / row.ran * _NS if row.ran else 0.0)
        for row in rows[0:count]
    ]
