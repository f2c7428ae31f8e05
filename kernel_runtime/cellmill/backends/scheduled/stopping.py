"""Ending tasks that run, whatever they run on: which ones, and a thread that sees to it."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from .gate import Gate
from .scheduler import NO_ELEMENT, Scheduler, ffi, with_gil

GRACE_SECONDS = 0.5
LOOK_SECONDS = 0.02
MOST_SECONDS = 5.0  # after the grace, for a task that is about to begin or to end
MOST_TARGETS = 4096


@dataclass(slots=True)
class Target:
    """An attempt of a task, or an element of a chunk, that runs and shall end. Times in nanoseconds of the monotonic
    clock.
    """

    ticket: int
    attempt: int
    since: int
    worker: int
    element: int = NO_ELEMENT  # of a chunk, if only that is meant
    pid: int = 0
    children: list[int] = field(default_factory=list)  # descriptors
    signalled: float = 0.0


class Targets:
    """Finds the tasks to end; a subclass ends them, in a thread of its own."""

    def __init__(self, scheduler: Scheduler, gate: Gate) -> None:
        self._handle = scheduler.handle
        self._gate = gate

    def _see_to(self, targets: list[Target]) -> None:
        raise NotImplementedError

    def stop_run(self, run: int, after: int = 0) -> int:
        """Cancel the tasks of a run (those later than the serial number) and stop those that run; how many."""
        found = ffi.new("csched_target_t[]", MOST_TARGETS)  # more than there are workers
        cancelled = ffi.new("uint32_t *")
        count = with_gil.csched_stop_run(self._handle, run, after, found, MOST_TARGETS, cancelled)
        self._end([_target(found[i]) for i in range(count)])
        return int(cancelled[0] + count)

    def stop_task(self, ticket: int) -> bool | None:
        """True: it had not begun and is cancelled; False: it is stopped; None: it is over."""
        found = ffi.new("csched_target_t *")
        rc = with_gil.csched_stop_task(self._handle, ticket, found)
        if rc == 2:
            self._end([_target(found)])
        return None if rc == 0 else rc == 1

    def overdue(self, ticket: int, element: int, limit_ns: int) -> None:
        """A task ran past its time limit, or this element of a chunk."""
        found = ffi.new("csched_target_t *")
        if with_gil.csched_interrupt(self._handle, ticket, element, found):
            self._end([_target(found)])

    def _end(self, targets: list[Target]) -> None:
        if targets:
            threading.Thread(
                target=self._see_to, args=(targets,), name="cellmill-stopper", daemon=True
            ).start()


def _target(found: Any) -> Target:
    return Target(
        int(found.ticket),
        int(found.attempt),
        int(found.since),
        int(found.worker),
        int(found.element),
    )
