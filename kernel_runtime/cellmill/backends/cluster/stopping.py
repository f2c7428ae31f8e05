"""Ending tasks that run elsewhere: the remote worker hears of it first, and is ended when they go on."""

from __future__ import annotations

import contextlib
import pickle
import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

from ...task import NO_RUN
from ..scheduled.gate import Gate
from ..scheduled.scheduler import Scheduler, ffi, with_gil
from . import clocks
from .engines.protocol import Engine
from .lane import Lane
from .pack import INTERRUPT

GRACE_SECONDS = 0.5
LOOK_SECONDS = 0.02
SLICE_SECONDS = 0.1  # of a wait for a task's time to be up
MOST_TARGETS = 1 << 16


def worker_of(handle: Any, ticket: int) -> int | None:
    """The lane that has taken a task, or has it in its ring."""
    place = _place_of(handle, ticket)
    return place[0] if place is not None else None


def _place_of(handle: Any, ticket: int) -> tuple[int, int] | None:
    """That lane, and which attempt of the task it has."""
    why = ffi.new("csched_why_t *")
    with_gil.csched_why(handle, ticket, why)
    return (int(why.worker), int(why.attempt)) if why.worker != NO_RUN else None


class LanePool(Protocol):
    """The pool of lanes."""

    engine: Engine
    token: bytes

    @property
    def members(self) -> Mapping[int, Lane]: ...

    def kill(self, index: int, reason: str = "") -> None: ...


class RemoteStopper:
    """Ends tasks of one backend, in threads of its own that last as long as there is something to end."""

    def __init__(self, scheduler: Scheduler, gate: Gate) -> None:
        self._handle = scheduler.handle
        self._gate = gate
        self.pool: LanePool  # set once there is one

    def stop_run(self, run: int, after: int = 0) -> int:
        """Cancel the tasks of a run (those later than the serial number) and stop those that run; how many."""
        found = ffi.new("csched_target_t[]", MOST_TARGETS)
        cancelled = ffi.new("uint32_t *")
        count = with_gil.csched_stop_run(self._handle, run, after, found, MOST_TARGETS, cancelled)
        self._end([found[i] for i in range(count)])
        return int(cancelled[0] + count)

    def stop_task(self, ticket: int) -> bool | None:
        """True: it had not begun and is cancelled; False: it is stopped; None: it is over."""
        found = ffi.new("csched_target_t *")
        rc = with_gil.csched_stop_task(self._handle, ticket, found)
        if rc == 2:
            self._end([found])
        return None if rc == 0 else rc == 1

    def overdue(self, ticket: int, element: int, limit_ns: int) -> None:
        """A task was sent to a remote worker longer ago than its time limit: it is ended once it has run so long. One
        that only waits there, behind others or for its turn, is called back.
        """
        threading.Thread(
            target=self._limit, args=(ticket, element, limit_ns), name="cellmill-limit", daemon=True
        ).start()

    def _limit(self, ticket: int, element: int, limit_ns: int) -> None:
        place = _place_of(self._handle, ticket)
        lane = self.pool.members.get(place[0]) if place is not None else None
        while lane is not None and lane.page.known and not self._gate.foreign:
            begun = lane.page.since(ticket)
            left = (begun + limit_ns - clocks.now()) / 1e9 if begun else LOOK_SECONDS
            if begun and left <= 0:
                break
            if not begun:
                lane.ask_back()
            time.sleep(min(left, SLICE_SECONDS))
            if _place_of(self._handle, ticket) != place:
                return
        found = ffi.new("csched_target_t *")
        if with_gil.csched_interrupt(self._handle, ticket, element, found):
            self._end([found])

    def _end(self, found: list[Any]) -> None:
        """See to these targets (csched_target_t)."""
        targets = [(int(one.ticket), (int(one.worker), int(one.attempt))) for one in found]
        if targets:
            threading.Thread(
                target=self._see_to, args=(targets,), name="cellmill-stopper", daemon=True
            ).start()

    def _see_to(self, targets: list[tuple[int, tuple[int, int]]]) -> None:
        """End tasks, each given with its place: the lane and the attempt."""
        by_worker: dict[int, list[int]] = {}
        for ticket, (worker, _) in targets:
            by_worker.setdefault(worker, []).append(ticket)
        places = dict(targets)
        pool = self.pool
        for worker, tickets in by_worker.items():
            lane = pool.members.get(worker)
            if lane is not None:
                with contextlib.suppress(
                    Exception
                ):  # a remote worker that is going; else its grace will be over soon
                    pool.engine.tell(
                        lane.remote.key, pickle.dumps((INTERRUPT, pool.token, lane.number, tickets))
                    )
        end = time.monotonic() + GRACE_SECONDS
        while by_worker and not self._gate.foreign:
            for worker, tickets in by_worker.copy().items():
                if not any(_place_of(self._handle, ticket) == places[ticket] for ticket in tickets):
                    del by_worker[worker]
                elif time.monotonic() > end:
                    del by_worker[worker]
                    pool.kill(worker, "a task there did not hear that it was stopped")
            time.sleep(LOOK_SECONDS)
