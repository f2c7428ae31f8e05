"""Threads of the kernel process: for code that releases the GIL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from ...errors import UsageError
from ...process_context import thread_context
from ...process_context.cpus import available_cpus
from ...run_registry import Run
from ...serialization.functions import FunctionTable
from ...serialization.shared import Shared
from ...task import TaskOptions, check_whole
from ..common_options import DEFAULTS, CommonOptions
from ..inline import InlineBackend
from ..map_iterator import MapIterator
from ..map_options import MapOptions
from ..scheduled.backend import ScheduledBackend
from ..scheduled.outcomes import TOLD
from ..scheduled.resource_use import ResourceUse
from . import task_streams
from .call import Call
from .listening import ThreadListener
from .measuring import ThreadGauge
from .names import Names
from .pool import ThreadPool
from .profiling import ThreadProfiling
from .records import ThreadCancellations, ThreadFailures, ThreadInspector
from .results import ThreadResults
from .sender import ThreadsSender
from .stopper import ThreadStopper

__all__ = ["ThreadsBackend"]

SLOT = 2**32 - 1
ROOM = 1 << 26  # bytes of address space for payloads: there are none


class ThreadsBackend(ScheduledBackend):
    """Tasks on threads of this process; arguments, results and functions are the objects themselves."""

    name = "threads"
    payloads = False
    stopped = TOLD
    pool: ThreadPool
    stopper: ThreadStopper
    listener: ThreadListener

    def __init__(
        self,
        max_workers: int | None = None,
        options: CommonOptions = DEFAULTS,
        *,
        memory_per_worker: int | str | None = None,
        max_tasks_per_child: int | None = None,
    ) -> None:
        if memory_per_worker is not None:
            raise UsageError(
                "memory_per_worker: threads share the memory of the kernel, which cannot be told apart by task. Use "
                'backend="local" to limit it.'
            )
        if max_tasks_per_child is not None:
            check_whole("max_tasks_per_child", max_tasks_per_child, range(1, 1 << 62))
        cpus = available_cpus()
        self.calls: dict[int, Call] = {}  # by the slot of the task
        super().__init__(
            cpus if max_workers is None else max_workers,
            cpus,
            memory=ROOM,
            options=options,
            worker_tasks=max_tasks_per_child or 0,
        )
        self.stopper = ThreadStopper(self.scheduler, self.gate)
        with contextlib.ExitStack() as undo:
            undo.callback(self.resolver.stop)
            self.listener = ThreadListener(
                self, self.scheduler, self.slots, self.functions, self.shown, self.report
            )
            undo.callback(self.listener.stop)
            self.pool = ThreadPool(
                self,
                self.listener,
                self.calls,
                options,
            )
            self.stopper.pool = self.pool
            self.listener.members = self.pool.members
            self.profiling = ThreadProfiling(self.pool.members, self.functions.names)
            undo.pop_all()
        gauge = ThreadGauge(self.pool)
        self.use = ResourceUse(self, gauge)
        gauge.start(self.use)

    def make_failures(self) -> ThreadFailures:
        return ThreadFailures(self.scheduler, self.functions, self.sharing.refer, self.calls)

    def make_cancellations(self) -> ThreadCancellations:
        return ThreadCancellations(self, self.scheduler, self.functions, self.calls)

    def make_results(self) -> ThreadResults:
        return ThreadResults(self.scheduler, self.slots, self.failures, self.functions.names, self.calls)

    def make_inspector(self) -> ThreadInspector:
        return ThreadInspector(self, self.slots, self.calls)

    def make_sender(self) -> ThreadsSender:
        return ThreadsSender(self, self.slots, self.calls)

    def make_functions(self) -> FunctionTable:
        return Names(self._add_function, self.scheduler.drop_function)

    def share(self, shared: Shared) -> None:
        """Calls get the object itself: nothing is put anywhere."""

    def map(
        self,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        how: MapOptions,
    ) -> MapIterator:
        task_streams.look()
        if thread_context.in_thread():  # a thread that waits for others of its kind may wait for ever
            return InlineBackend(options=CommonOptions(resources=...)).map(
                function, iterables, options, run, how
            )
        return super().map(function, iterables, options, run, how)
