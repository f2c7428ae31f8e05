"""Moves tasks that wait behind long ones to remote workers that are idle."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Protocol

from ..scheduled.scheduler import Scheduler
from .engines.protocol import Engine
from .lane import Lane
from .looking import Looking
from .stopping import worker_of

SPREAD_SECONDS = 0.1  # between looks


class Lanes(Protocol):
    """The pool of lanes."""

    engine: Engine
    scheduler: Scheduler
    looking: Looking

    @property
    def members(self) -> Mapping[int, Lane]: ...


class Rebalancing:
    """Rebalances the tasks of one pool: remote workers are asked to give back tasks that have not begun."""

    def __init__(self, pool: Lanes) -> None:
        self._pool = pool

    def start(self) -> None:
        """Look from now on."""
        self._pool.looking.begin("rebalance", self._look)

    def _look(self) -> float:
        lanes = list(self._pool.members.values())
        for lane in lanes if any(lane.idle for lane in lanes) else ():
            if lane.holds_others_back(time.monotonic()):
                threading.Thread(target=lane.ask_back, name="cellmill-ask", daemon=True).start()
        return SPREAD_SECONDS

    def withdraw(self, ticket: int) -> bool:
        """Have a task that was sent come back, with all that has not begun there; False: it runs, or did."""
        number = worker_of(self._pool.scheduler.handle, ticket)
        lane = self._pool.members.get(number) if number is not None else None
        if lane is None or lane.runs(ticket):
            return False
        lane.ask_back()
        return True
