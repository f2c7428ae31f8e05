"""Events of tasks other than results, and their listeners."""

from __future__ import annotations

from ...diagnostics import notices
from ...futures import Future
from ...run_registry import note_failure
from ...serialization.functions import FunctionTable
from . import changes
from .cancellations import Cancellations
from .failure_log import FailureLog
from .protocols import OutputListener, TaskStopper, WorkerPool
from .scheduler import Completion, Scheduler, with_gil

CAME_WITH_ARGUMENTS = (with_gil.CSCHED_LOST, with_gil.CSCHED_TIMEOUT)


class Events:
    """The `TaskEvents` of one backend."""

    def __init__(
        self,
        owner: object,
        scheduler: Scheduler,
        functions: FunctionTable,
        failures: FailureLog,
        cancellations: Cancellations,
    ) -> None:
        """``owner``: the backend whose runs these tasks belong to."""
        self._owner = owner
        self._scheduler = scheduler
        self._functions = functions
        self._failures = failures
        self._cancellations = cancellations
        # set once they exist, which is before there are workers
        self.listener: OutputListener
        self.stopper: TaskStopper
        self.pool: WorkerPool

    def cancelled(self, future: Future, done: Completion) -> None:
        self._cancellations.explain(future, done.slot, done.run)

    def failed(self, future: Future, done: Completion, error: BaseException) -> None:
        note_failure(done.run, self._owner, error)
        came = done.status in CAME_WITH_ARGUMENTS and done.size
        arguments = self._scheduler.view(done.address, done.size) if came else None
        self._failures.of_task(future, done.slot, done.status, error, arguments)

    def output_ended(self, worker: int, ticket: int, run: int) -> None:
        self.listener.end_of_task(worker, ticket, run)

    def reply(self, worker: int, number: int, data: bytes) -> None:
        self.pool.reply(worker, number, data)

    def changed(self, data: bytes) -> None:
        changes.hear(data, self._functions.by_name)

    def overdue(self, ticket: int, element: int, limit_ns: int) -> None:
        self.stopper.overdue(ticket, element, limit_ns)

    def corrupt(self, worker: int) -> None:
        self.pool.kill(worker)

    def report(self, error: BaseException) -> None:
        """Tell of an error of Cellmill's own in one of its threads; it is never fatal."""
        notices.warn(f"{type(error).__name__}: {error}; please report this")
