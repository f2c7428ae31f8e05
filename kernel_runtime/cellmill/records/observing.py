"""Telling others of tasks as they end: callbacks, and structured records of `logging`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass

from .. import registry
from ..backends._protocol import Backend
from ..backends.scheduled.figures import STATUSES
from ..backends.scheduled.scheduler import JOURNEY, NO_WORKER
from ..diagnostics import notices
from ..diagnostics.short_text import counted, duration_text
from ..errors import UsageError, in_words
from .following import Followed, Follower

__all__ = ["TaskEnd", "log_tasks", "on_task"]

LOGGER = "cellmill.tasks"


@dataclass(frozen=True, slots=True)
class TaskEnd:
    """One task that is over, or an attempt of one that another attempt follows (``status`` "retried").

    ``run`` is the number of its run, None outside of runs. ``queued`` and ``ran`` are seconds, 0 where it did not run:
    from when it was ready, with its inputs, to its begin, and from there to its end; of one that was lost, or stopped
    with its worker, from when the worker took it to when that was noticed.
    """

    task: int
    element: int
    function: str
    run: int | None
    status: str
    worker: int | None
    attempt: int
    queued: float
    ran: float


class _Observing(Follower):
    """Calls one function for each task."""

    what = "telling of tasks"
    always = True

    def __init__(self, callback: Callable[[TaskEnd], object]) -> None:
        self._callback = callback
        self._removed = False
        super().__init__("cellmill-observer")

    def look(self) -> None:
        for executor in registry.open_executors():  # also of calls that are part of no run
            self._follow(executor._backend)

    def take(self, followed: Followed, dropped: int) -> None:
        if dropped:
            notices.give(
                ("observer", id(self)),
                f"an observer of tasks was too slow: {counted(dropped, 'task')} and maybe more ended untold",
            )
        reader, observer = followed.reader, followed.backend.observer
        if reader is None or observer is None:
            return
        for row in JOURNEY.iter_unpack(reader.rows()):
            if self._removed:
                return
            self._tell(_end(row, followed, observer.function_names.get(row[2], "?")))

    def _tell(self, task: TaskEnd) -> None:
        try:
            self._callback(task)
        except Exception as error:
            self._removed = self._over = True
            name = getattr(self._callback, "__qualname__", type(self._callback).__name__)
            notices.warn(
                f"the observer of tasks {name} was removed: it raised {in_words(error)}", self._callback
            )

    def begin(self, run: object, backend: Backend) -> None:
        """Runs are known by their journeys."""


def _end(row: tuple[int, ...], followed: Followed, function: str) -> TaskEnd:
    ticket, key, _, element, worker, status, attempt, *stamps, _, _ = row
    run, _ = followed.run_of(key, stamps[0])
    begun = stamps[4] or stamps[3]
    over = stamps[5] or stamps[7]
    ran = bool(begun and over)
    return TaskEnd(
        task=ticket >> 32,
        element=element,
        function=function.rpartition("<locals>.")[2],
        run=run.id if run is not None and run.listed else None,
        status=STATUSES[status],
        worker=None if worker == NO_WORKER else worker,
        attempt=attempt,
        queued=max(0, begun - (stamps[1] or stamps[0])) / 1e9 if ran else 0.0,
        ran=max(0, over - begun) / 1e9 if ran else 0.0,
    )


def on_task(callback: Callable[[TaskEnd], object]) -> Callable[[], None]:
    """Call ``callback(end)`` for each task that ends from now on, with a `TaskEnd`, in a thread of its own and within
    about a tenth of a second; returns what ends that, when all that has ended by then was told.

    One that raises is removed, which is said once; tasks know nothing of it. One that is slower than 262,144 tasks
    misses some, which is said, too. The inline backend tells nothing.
    """
    if not callable(callback):
        raise UsageError(f"on_task takes a function of one argument, not {callback!r}")
    return _Observing(callback).close


def log_tasks(logger: logging.Logger | str = LOGGER, level: int = logging.INFO) -> Callable[[], None]:
    """Log a record for each task that ends, what failed as a warning; returns what ends that.

    The record has the fields of `TaskEnd` as a dict, ``record.cellmill``, for handlers that write JSON.
    """
    found = logging.getLogger(logger) if isinstance(logger, str) else logger
    process = os.getpid()

    def log(task: TaskEnd) -> None:
        if os.getpid() != process:
            return
        at = level if task.status == "done" else max(level, logging.WARNING)
        if found.isEnabledFor(at):
            found.log(
                at,
                "%s #%d %s after %s",
                task.function,
                task.task,
                task.status,
                duration_text(task.ran),
                extra={"cellmill": asdict(task)},
            )

    return on_task(log)
