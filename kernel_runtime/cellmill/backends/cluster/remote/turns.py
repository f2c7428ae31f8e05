"""Turns in a remote worker's process: tasks that need the same of it run at the same time, others after them.

A directory, an environment, a path for modules and `sys.modules` belong to a process, and threads of one process may
run tasks of several kernels. So what a kernel's tasks find there is put in force before the first of them and taken
back after the last one; meanwhile others wait, unless they would find the very same.

The kernel that has waited longest comes next. Once one waits, tasks like those that run begin only while one runs that
was there before the wait began: that one is waited for anyway. After a while in which none of them ends they may begin
all the same: one that runs may wait for one of them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from .aside import leave_place

LOOK_SECONDS = 0.05  # of one who waits: whether he still wants to
PATIENCE_SECONDS = 1.0  # in which none ends; twice as long the next time


class Guest(Protocol):
    """What tasks need of the process."""

    @property
    def owner(self) -> bytes:
        """Return the kernel's token."""

    def agrees(self, other: Any) -> bool:
        """Whether tasks of both may run at the same time."""

    def put_in(self) -> None:
        """Have the process be so."""

    def take_out(self, alone: bool) -> None:
        """Have it be as it was. ``alone``: all that ran meanwhile was the owner's."""


class Turn:
    """Of one guest, from when it asks until it leaves."""

    __slots__ = ("guest", "since")

    def __init__(self, guest: Guest, since: float) -> None:
        self.guest = guest
        self.since = since  # when it first asked, then when it began


class Turns:
    """Of one process; called from any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._held: list[Turn] = []
        self._waiting: list[Turn] = []
        self._asked: dict[
            bytes, float
        ] = {}  # owners that have not come since: those who leave keep their place
        self._force: Guest | None = None  # the one that was put in
        self._alone = True
        self._moved = 0.0  # when the last one came or went
        self._patience = PATIENCE_SECONDS

    @property
    def held(self) -> bool:
        """Whether tasks of any guest run."""
        return bool(self._held)

    def enter(self, guest: Guest, leaves: Callable[[], bool] = lambda: False) -> Turn | None:
        """Wait for this guest's turn, beside the places of the cluster; None once it does not want it any more."""
        with self._changed:
            turn = Turn(guest, self._asked.get(guest.owner, time.monotonic()))
            if self._may(turn):
                return self._begin(turn)
            self._waiting.append(turn)
            self._asked.setdefault(guest.owner, turn.since)
        try:
            leave_place()
            with self._changed:
                while not self._may(turn):
                    if leaves():
                        return None
                    self._changed.wait(LOOK_SECONDS)
                return self._begin(turn)
        finally:
            with self._changed:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                self._changed.notify_all()

    def leave(self, turn: Turn) -> None:
        """It is over; also a second time."""
        with self._changed:
            if turn not in self._held:
                return
            self._held.remove(turn)
            self._moved = time.monotonic()
            if not self._held:
                force, self._force, self._patience = self._force, None, PATIENCE_SECONDS
                if force is not None:
                    force.take_out(self._alone)
            self._changed.notify_all()

    def change(self, owner: bytes, change: Callable[[bool], None]) -> None:
        """Call it while no owner comes or goes, with whether it is only this owner's tasks that run, if any."""
        with self._changed:
            change(all(each.guest.owner == owner for each in self._held))

    def forget(self, owner: bytes) -> None:
        """The owner has gone."""
        with self._changed:
            self._asked.pop(owner, None)

    def _may(self, turn: Turn) -> bool:
        guest = turn.guest
        others = [each for each in self._waiting if each is not turn and not guest.agrees(each.guest)]
        if self._force is None:
            return all(turn.since <= each.since for each in others)
        if not guest.agrees(self._force):
            return False
        if not others:
            return True
        oldest = min(each.since for each in others)
        if any(each.since < oldest for each in self._held):
            return True
        if time.monotonic() - self._moved < self._patience:
            return False
        self._patience *= 2
        return True

    def _begin(self, turn: Turn) -> Turn:
        guest = turn.guest
        if self._force is None:
            self._alone = True
            guest.put_in()
            self._force = guest
        elif guest.owner != self._force.owner:
            self._alone = False
        self._asked.pop(guest.owner, None)
        if turn in self._waiting:
            self._waiting.remove(turn)
        turn.since = self._moved = time.monotonic()
        self._held.append(turn)
        return turn


turns = Turns()
