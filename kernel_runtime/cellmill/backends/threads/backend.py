"""Threads of the kernel process: for code that releases the GIL."""

from __future__ import annotations

import contextlib
import io
import pickle
from collections.abc import Callable, Iterable
from typing import Any

from ...cell_output.transcript import OUTPUT_LINES
from ...diagnostics.naming import InputName
from ...errors import UsageError, WorkerLostError
from ...futures import Future
from ...process_context import thread_context
from ...process_context.cpus import available_cpus
from ...runs import Run
from ...serialization.functions import FunctionTable
from ...serialization.shared import Shared
from ...task import TaskOptions, check_whole, short_arguments
from ..inline import InlineBackend
from ..map_iterator import MapIterator
from ..scheduled import outcomes
from ..scheduled.backend import ScheduledBackend
from ..scheduled.cancellations import Cancellations
from ..scheduled.failure_log import KEPT_BYTES, FailureLog
from ..scheduled.inspecting import Inspector
from ..scheduled.scheduler import with_gil
from . import task_streams
from .call import Call, ChunkCall
from .listening import ThreadListener
from .names import Names
from .pool import ThreadPool
from .resolver import ThreadsResolver
from .sender import ThreadsSender
from .stopper import ThreadStopper

__all__ = ["ThreadsBackend"]

SLOT = 2**32 - 1
ROOM = 1 << 26  # bytes of address space for payloads: there are none


class ThreadsBackend(ScheduledBackend):
    """Tasks on threads of this process; arguments, results and functions are the objects themselves."""

    name = "threads"
    sender_type = ThreadsSender
    resolver_type = ThreadsResolver
    pool: ThreadPool
    stopper: ThreadStopper
    listener: ThreadListener

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        initializer: Callable[..., Any] | None = None,
        initargs: tuple[Any, ...] = (),
        preload: Iterable[str] = (),
        label_output: bool = False,
        output_lines: int = OUTPUT_LINES,
        memory_per_worker: int | str | None = None,
        max_tasks_per_child: int | None = None,
        resources: Any = None,
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
        self.failures_type = ThreadFailures
        self.inspector_type = ThreadInspector
        self.cancellations_type = ThreadCancellations
        super().__init__(
            cpus if max_workers is None else max_workers,
            cpus,
            memory=ROOM,
            label_output=label_output,
            output_lines=output_lines,
            worker_tasks=max_tasks_per_child or 0,
            resources=resources,
        )
        self.stopper = ThreadStopper(self)
        with contextlib.ExitStack() as undo:
            undo.callback(self.resolver.stop)
            self.listener = ThreadListener(self, self.shown)
            undo.callback(self.listener.stop)
            self.pool = ThreadPool(self, initializer=initializer, initargs=initargs, preload=preload)
            undo.pop_all()
        self.open()

    def make_functions(self) -> FunctionTable:
        return Names(self._add_function, self.scheduler.drop_function)

    def share(self, shared: Shared) -> None:
        """Calls get the object itself: nothing is put anywhere."""

    def map(
        self, function: Any, iterables: tuple[Iterable[Any], ...], options: TaskOptions, run: Run, **how: Any
    ) -> MapIterator:
        task_streams.look()
        if thread_context.in_thread():  # a thread that waits for others of its kind may wait for ever
            return InlineBackend(resources=...).map(function, iterables, options, run, **how)
        return super().map(function, iterables, options, run, **how)

    def explain_end(
        self, call: Call | None, status: int, function: int, limit: float, task: str
    ) -> BaseException:
        """The error of a task, such as "#12", that was lost, or ran past its limit of so many seconds."""
        name = self.functions.names.get(function, "a task")
        arguments = shown(call)
        if status == with_gil.CSCHED_LOST:
            return WorkerLostError(
                f"the thread that ran {outcomes.with_number(f'{name}({arguments})', task)} ended",
                function=name,
                arguments=arguments,
            )
        return outcomes.error_of(status, None, outcomes.with_number(f"{name}({arguments})", task), limit)


def shown(call: Call | None) -> str:
    """Its arguments, as short text."""
    if call is None or isinstance(call, ChunkCall):
        return "..."
    try:
        if call.sources:
            return short_arguments(*call.with_inputs(tuple(map(_Given, range(len(call.sources))))))
        return short_arguments(*call.call()[1:])
    except Exception:
        return "<arguments that cannot be shown>"


class _Given:
    """Stands for an input that may not be there."""

    def __init__(self, place: int) -> None:
        self.value = InputName(place + 1)


class _Few(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + len(memoryview(data)) > KEPT_BYTES:
            raise OverflowError("too large to be kept")
        return super().write(data)


class ThreadFailures(FailureLog):
    """What is kept of a failed call is a pickle of its arguments, where they can be: the objects are let go of."""

    _backend: ThreadsBackend

    def of_task(
        self,
        future: Future,
        slot: int,
        status: int,
        error: BaseException,
        arguments: memoryview | None,
        text: str | None = None,
    ) -> None:
        call = self._backend.calls.get(slot)
        if call is not None and not isinstance(call, ChunkCall):
            text = shown(call)
            file = _Few()
            with contextlib.suppress(Exception):
                _, args, kwargs = call.call()
                pickle.Pickler(file, 5).dump([args, kwargs])
                arguments = memoryview(file.getvalue())
        super().of_task(future, slot, status, error, arguments, text)


class ThreadCancellations(Cancellations):
    """The objects are let go of: arguments are kept as text."""

    _backend: ThreadsBackend

    def arguments(self, slot: int, data: bytes | None) -> bytes | str | None:
        call = self._backend.calls.get(slot)
        return data if data is None or call is None or isinstance(call, ChunkCall) else shown(call)


class ThreadInspector(Inspector):
    """Arguments of tasks that are not over are at hand."""

    def arguments(self, task: int, element: int | None) -> str | None:
        backend = self._backend
        assert isinstance(backend, ThreadsBackend)
        ticket = self.ticket(task)
        future = (
            backend.resolver.table[ticket & SLOT]
            if ticket and ticket & SLOT < len(backend.resolver.table)
            else None
        )
        call = backend.calls.get(ticket & SLOT) if ticket else None
        if self.failure(task, element) is None and call is not None and isinstance(future, Future):
            return shown(call) if future._ticket == ticket else None
        return super().arguments(task, element)
