"""Ending tasks that run: KeyboardInterrupt first, and what does not hear it in time is killed.

What a task has started (a program, a pool of its own) is interrupted with it, as by Ctrl-C in a terminal, and killed
with it: whatever came to life below the worker since the task began. Linux tells when a process began in clock ticks
(10 ms): what an earlier task has left running and started within the tick before counts as this task's.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from typing import Protocol

from ...process_context.process_tree import descendants
from ..scheduled.gate import Gate
from ..scheduled.scheduler import Scheduler, with_gil
from ..scheduled.stopping import GRACE_SECONDS, LOOK_SECONDS, MOST_SECONDS, Target, Targets
from . import zygote_client
from .children import Member

AGAIN_SECONDS = 0.06  # a signal that was not heard is sent again
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


class Processes(Protocol):
    """The pool of workers."""

    @property
    def members(self) -> Mapping[int, Member]: ...

    def process_of(self, member: Member) -> int: ...

    def kill(self, index: int, reason: str = "") -> None: ...


class Stopper(Targets):
    """Ends tasks of one backend, in threads of its own that last as long as there is something to end."""

    def __init__(self, scheduler: Scheduler, gate: Gate) -> None:
        super().__init__(scheduler, gate)
        self.pool: Processes  # set once there is one

    def _see_to(self, targets: list[Target]) -> None:
        start = time.monotonic()
        for target in targets:
            self._signal(target)
        for target in targets:
            self._find_children(target)
        pending = targets
        while pending and not self._gate.foreign:
            time.sleep(LOOK_SECONDS)
            late = time.monotonic() - start - GRACE_SECONDS
            pending = [target for target in pending if not self._is_over(target, late)]

    def _is_over(self, target: Target, late: float) -> bool:
        """Whether nothing is left of it; after the grace, see to that."""
        task = target.ticket, target.attempt, target.element
        unheard = int(with_gil.csched_unheard(self._handle, *task))
        runs = unheard >= 0
        if late < 0:
            if unheard == 1 and time.monotonic() - target.signalled > AGAIN_SECONDS:
                self._signal(target)
            if runs or any(map(_lives, target.children)):
                return False
        elif runs and late < MOST_SECONDS:
            if not with_gil.csched_worker_condemn(self._handle, target.worker, *task):
                return False
            self.pool.kill(target.worker)
        for child in target.children:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGKILL)
            os.close(child)
        return True

    def _signal(self, target: Target) -> None:
        member = self.pool.members.get(target.worker)
        if member is not None and self.pool.process_of(member):
            target.signalled = time.monotonic()
            target.pid = member.pid
            zygote_client.shared().signal(member.pid, signal.SIGINT)

    def _find_children(self, target: Target) -> None:
        """Record the processes that the task has started so far; they are interrupted too."""
        if not target.pid:
            return
        zygote = zygote_client.shared().process.pid
        for pid in _family(target.pid, zygote):
            try:
                child = os.pidfd_open(pid)
            except OSError:
                continue
            if started_ns(pid) < target.since:
                os.close(child)
                continue
            target.children.append(child)
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(child, signal.SIGINT)


def _family(worker: int, zygote: int) -> Iterator[int]:
    """Return all descendants of a worker, also orphans, which the zygote adopts and whose process group identifies
    them.
    """
    below = descendants(worker)
    yield from below
    for pid in set(descendants(zygote)) - {worker, *below}:
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == worker:
                yield pid


def started_ns(pid: int) -> int:
    """The latest moment at which a process may have started; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0
    asleep = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()
    return (ticks + 1) * TICK_NS - asleep


def _lives(child: int) -> bool:
    try:
        signal.pidfd_send_signal(child, 0)
    except ProcessLookupError:
        return False
    return True
