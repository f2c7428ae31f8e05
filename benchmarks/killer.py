"""Kills the workers of this process at random moments: at once, or stopped first."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time

from cellmill.backends.local import zygote_client
from cellmill.process_context.process_tree import descendants

PATIENCE_S = 120.0  # for a kill that is due; only a pool that makes no progress takes it
AHEAD = 2  # kills that the tasks may be ahead of


class Killer(threading.Thread):
    """So many kills over a course of ``steps``, of which `keep_pace` tells how many are gone."""

    def __init__(self, kills: int, steps: int, seed: int) -> None:
        super().__init__(name="killer", daemon=True)
        self.kills = 0
        self._random = random.Random(seed)
        last = max(steps - steps // 20, 1)  # so that there is work left for the last kills
        self._due = sorted(self._random.randrange(last) for _ in range(kills))
        self._at = 0
        self._moved = threading.Condition()
        self._over = False

    def run(self) -> None:
        """Until all kills are done, or `stop`."""
        for due in self._due:
            with self._moved:
                self._moved.wait_for(lambda due=due: self._over or self._at >= due)  # type: ignore[misc]
            while not self._over and not self._kill_one():
                time.sleep(0.001)  # no worker runs
            if self._over:
                return
            with self._moved:
                self.kills += 1
                self._moved.notify_all()

    def keep_pace(self, at: int) -> None:
        """The work has come to step ``at``: what is due may begin, and what is overdue is waited for."""
        with self._moved:
            self._at = at
            self._moved.notify_all()
            least = sum(due <= at for due in self._due[: self.kills + AHEAD + 1]) - AHEAD
            if not self._moved.wait_for(lambda: self.kills >= least or self._over, PATIENCE_S):
                raise TimeoutError(f"no worker could be killed for {PATIENCE_S:.0f} s: none was started")

    def finish(self) -> None:
        """The work is over: what is left of the kills meets an idle pool."""
        with self._moved:
            self._at = self._due[-1] if self._due else 0
            self._moved.notify_all()
        self.join(PATIENCE_S)

    def stop(self) -> None:
        """No more kills; returns when the thread is gone."""
        with self._moved:
            self._over = True
            self._moved.notify_all()
        self.join(PATIENCE_S)

    def _kill_one(self) -> bool:
        """Kill one worker a moment from now; False when there was none."""
        parent = zygote_client.shared().process.pid
        pids = descendants(parent)
        if not pids:
            return False
        time.sleep(self._random.random() * 0.002)
        pid = self._random.choice(pids)
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(pid)
            try:
                if pid not in descendants(parent):  # its number may be another's now
                    return False
                if self._random.random() < 0.25:
                    signal.pidfd_send_signal(handle, signal.SIGSTOP)
                    time.sleep(self._random.random() * 0.01)
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                return True
            finally:
                os.close(handle)
        return False
