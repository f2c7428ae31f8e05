"""The end of a run whose tasks are submitted one by one."""

from __future__ import annotations

import threading

from ..run_registry import Run


class Rest:
    """How much of a run is not over; with the last of it the run is finished."""

    def __init__(self, run: Run, runs: list[Run]) -> None:
        self._run, self._runs = run, runs
        runs.append(run)
        self._count = 1  # the loop that submits
        self._lock = threading.Lock()

    def more(self) -> None:
        """Another task was submitted."""
        with self._lock:
            self._count += 1

    def less(self) -> None:
        """A task is over, or all are submitted."""
        with self._lock:
            self._count -= 1
            over = self._count == 0
        if over:
            self._run.finish()
            self._runs.remove(self._run)
