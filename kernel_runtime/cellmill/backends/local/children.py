"""Worker processes as the kernel holds them: by their pidfds, which outlive the zygote that forked them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable

from ...diagnostics import notices
from ...process_context.process_tree import kill_tree
from ..scheduled.worker_exit import Exit

OnExit = Callable[["Exit"], None]


class Child:
    """One worker process."""

    def __init__(self, pid: int, pidfd: int, on_exit: OnExit) -> None:
        self.pid = pid
        self.pidfd = pidfd  # -1 when no descriptor was left for it
        self.condemned = False  # its zygote was asked to kill it, and may have died over it
        self._on_exit = on_exit
        self._lock = threading.Lock()  # a closed descriptor's number is soon another's

    def signal(self, number: int) -> None:
        """Signal it alone; one that has ended is no error."""
        with self._lock, contextlib.suppress(OSError):
            if self.pidfd >= 0:
                signal.pidfd_send_signal(self.pidfd, number)

    def kill(self) -> None:
        """End it and what it started, when no zygote does."""
        with contextlib.suppress(OSError):  # of no descriptor for /proc
            kill_tree(self.pid)
        self.signal(signal.SIGKILL)

    def ended(self, how: Exit) -> None:
        """It is gone: say so to whom it belonged."""
        with self._lock:
            if self.pidfd >= 0:
                os.close(self.pidfd)
            self.pidfd = -1
        try:
            self._on_exit(how)
        except Exception as error:
            notices.warn(f"after a worker's end: {error!r}")


class Member:
    """One slot of the pool and its present process."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.pid = 0
        self.retiring = False
        self.doom = ""  # why we ended it
        self.known = threading.Event()  # the process id is, or there is no process
        self.gone = threading.Event()
        self.started = time.monotonic()


_orphans: dict[int, Child] = {}


def orphan(pid: int) -> Child | None:
    """The worker whose zygote is dead, if it is one."""
    return _orphans.get(pid)


def watch_orphans(children: dict[int, Child]) -> None:
    """Workers that lost their zygote go on; return when the last has ended, each end having been told.

    No process of ours may wait for them: what their exit status was stays unknown.
    """
    _orphans.update(children)
    poller = select.poll()
    standing: dict[int, Child] = {}
    for child in children.values():
        if child.pidfd < 0:  # it could not be told from a later process with its number
            child.kill()
            _bury(child)
            continue
        standing[child.pidfd] = child
        poller.register(child.pidfd, select.POLLIN)
        if child.condemned:
            child.kill()
    while standing:
        for pidfd, _ in poller.poll():
            poller.unregister(pidfd)
            _bury(standing.pop(pidfd))


def disown(children: Iterable[Child]) -> None:
    """Forget all processes in a forked child: they belong to the parent, and its threads may have held the locks."""
    for child in [*children, *_orphans.values()]:
        pidfd, child.pidfd = child.pidfd, -1
        if pidfd >= 0:
            with contextlib.suppress(OSError):
                os.close(pidfd)
    _orphans.clear()


def _bury(child: Child) -> None:
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)  # what it started and left behind
    _orphans.pop(child.pid, None)
    child.ended(Exit(None, None))
