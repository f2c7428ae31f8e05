"""The end of a run whose tasks are submitted one by one."""

from __future__ import annotations

import threading

from ..process_context.interrupts import uninterrupted
from ..run_registry import Run


class Rest:
    """How much of a run is not over; with the last of it the run is finished."""

    def __init__(self, runs: list[Run]) -> None:
        self._runs = runs
        self._run: Run | None = None
        self._count = 1  # the loop that submits
        self._lock = threading.Lock()

    def of(self, run: Run) -> None:
        """This is the run, which has begun."""
        self._run = run
        self._runs.append(run)

    def more(self) -> None:
        """Another task was submitted."""
        with self._lock:
            self._count += 1

    def less(self) -> None:
        """A task is over, or all are submitted."""
        with uninterrupted():
            with self._lock:
                self._count -= 1
                over = self._count == 0
            if over and self._run is not None:
                self._run.finish()
                self._runs.remove(self._run)
