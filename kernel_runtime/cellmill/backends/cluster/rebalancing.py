"""Moves tasks that wait behind long ones to remote workers that are idle."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Protocol

from ..scheduled.scheduler import Scheduler
from .engines.protocol import Engine
from .lane import Lane
from .stopping import worker_of

SPREAD_SECONDS = 0.1  # between looks


class Lanes(Protocol):
    """The pool of lanes."""

    engine: Engine
    scheduler: Scheduler
    closed: bool

    @property
    def members(self) -> Mapping[int, Lane]: ...


class Rebalancing:
    """Rebalances the tasks of one pool: remote workers are asked to give back tasks that have not begun."""

    def __init__(self, pool: Lanes) -> None:
        self._pool = pool

    def start(self) -> None:
        """Look from now on, in a thread of its own."""
        threading.Thread(target=self._look, name="cellmill-rebalance", daemon=True).start()

    def _look(self) -> None:
        while not self._pool.closed:
            time.sleep(SPREAD_SECONDS)
            lanes = list(self._pool.members.values())
            if not any(lane.idle for lane in lanes):
                continue
            for lane in lanes:
                if lane.holds_others_back(time.monotonic()):
                    threading.Thread(target=lane.ask_back, name="cellmill-ask", daemon=True).start()

    def withdraw(self, ticket: int) -> bool:
        """Have a task that was sent come back, with all that has not begun there; False: it runs, or did."""
        number = worker_of(self._pool.scheduler.handle, ticket)
        lane = self._pool.members.get(number) if number is not None else None
        if lane is None or lane.runs(ticket):
            return False
        lane.ask_back()
        return True
