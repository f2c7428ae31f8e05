"""Interfaces between the parts of a backend over the scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from ...by_value.import_log import Loaded
from ...cell_output.origin import Origin
from ...cell_output.recent import Recent
from ...errors import CellmillError
from ...futures import Future
from ...process_context.settings import Settings as ProcessSettings
from ...serialization.functions import FunctionTable
from ...serialization.packer import Packer
from ...task import TaskOptions, WorkerInfo
from .failure_log import FailureLog
from .gate import Gate
from .scheduler import Completion, Scheduler
from .sizes import Paces
from .state_map import States
from .worker_exit import Exit


class WorkerPool(Protocol):
    """The workers of a backend; called from any thread."""

    preloaded: list[str]
    restarts: Counter[int]  # by worker: processes that ended unasked

    @property
    def loads(self) -> Sequence[tuple[int, Loaded]]:
        """The latest imports by workers that took a while, each behind the worker's number."""

    @property
    def members(self) -> Mapping[int, Any]: ...

    @property
    def exits(self) -> Mapping[int, Exit]:
        """How the last process of each worker ended, by worker."""

    @property
    def context(self) -> Any: ...

    def touched(self) -> bool:
        """Return whether `sync_context` may have something to do; a cheap check."""

    def sync_context(self) -> None: ...

    def resize(self, count: int) -> None: ...

    def infos(self) -> list[WorkerInfo]: ...

    def processor_seconds(self) -> dict[int, float]:
        """Return the processor time of each worker process, by process id; empty where it cannot be read."""

    def replace(self, index: int) -> None: ...

    def kill(self, index: int, reason: str = "") -> None: ...

    def restart(self) -> None: ...

    def preload(self, modules: Iterable[str]) -> None: ...

    def call_everywhere(self, function: Callable[..., Any]) -> list[Any]: ...

    def reply(self, index: int, number: int, data: bytes) -> None: ...

    def close(self, wait: bool) -> None: ...


class PoolHost(Protocol):
    """Interface of a backend to its pool of workers."""

    scheduler: Scheduler
    gate: Gate
    functions: FunctionTable
    max_workers: int
    worker_spin_us: int

    def resolve(self) -> bool:
        """Settle what is over; False when another thread does it right now."""

    def break_down(self, error: CellmillError) -> None:
        """No worker can be had: everything outstanding fails with the reason."""

    def report(self, error: BaseException) -> None:
        """An error of Cellmill's own in one of its threads."""


class TaskStopper(Protocol):
    """Ends tasks that run; called from any thread."""

    def stop_run(self, run: int, after: int = 0) -> int: ...

    def stop_task(self, ticket: int) -> bool | None: ...

    def overdue(self, ticket: int, element: int, limit_ns: int) -> None: ...


class OutputListener(Protocol):
    """Receives the output of tasks."""

    recent: Recent

    def end_of_task(self, worker: int, ticket: int, run: int) -> None: ...

    def cell_of(self, ticket: int) -> Origin: ...

    def stop(self) -> None: ...

    def disown(self) -> None: ...


class Receiver(Protocol):
    """Whom a stream's elements come back to."""

    def receive(self, keys: Sequence[Any], values: list[Any], size: int = 0) -> None:
        """Values of so many elements, in the order of their keys, and the bytes they hold."""

    def receive_error(self, key: Any, error: BaseException) -> None:
        """Receive the error of one element that failed or was cancelled."""

    def receive_cancelled(self, keys: Sequence[Any]) -> None:
        """So many elements, which may be very many, were cancelled before they were sent."""


class StreamHost(Protocol):
    """Interface of a backend to a stream of elements and to a map; it also owns their futures."""

    limits_elements: bool  # whether the elements of a chunk can be stopped one by one
    ahead: int  # chunks per worker that are sent
    stopped: str  # how a task ended that ran past its limit, in words
    scheduler: Scheduler
    gate: Gate
    functions: FunctionTable
    states: States
    paces: Paces
    failures: FailureLog
    max_workers: int

    @property
    def crowding(self) -> float:
        """Workers per CPU."""

    def map_settings(self) -> ProcessSettings | None:
        """Under which a map or batch that begins now is to run; None: under those of the process."""

    def packer(self, name: str, *, star: bool) -> Callable[[bool], Packer] | None:
        """Return what packs a map's elements when they are taken; None where they are kept unpacked."""

    def submit_chunk(
        self, function: Any, body: dict[str, Any], chunk: Any, options: TaskOptions, run: int
    ) -> None:
        """Send one `Chunk`. Raises `PayloadError` when an element cannot be pickled, `AwaitedInput` when an input has
        to come to an end first.
        """

    def receiver(self, receiver: Receiver, run: Any, function: Any) -> Receiver:
        """Return whom the elements of a map of a function come back to: this one, or what passes on to it."""

    def exit_of(self, worker: int) -> Exit | None:
        """Return how the last process with this worker's number ended."""

    def cancel_sent(self, run: int) -> int:
        """Cancel tasks of a run that are in the scheduler; how many those were."""

    def resolve(self, patience: float = 0.0) -> bool:
        """Settle what is over; False when another thread does it right now, which is waited for so many seconds."""

    def call_back(self, future: Future) -> None:
        """Have the done-callbacks of a future run that was settled."""

    def wait(self, future: Future, timeout: float | None) -> None: ...

    def waited(self, since: int) -> None:
        """A caller has been given results that it waited for; ``since``: on the monotonic clock, in ns."""


class TaskEvents(Protocol):
    """Receives the resolver's events on tasks, beside their results."""

    def cancelled(self, future: Future, done: Completion) -> None:
        """The task was cancelled; its future is settled next."""

    def failed(self, future: Future, done: Completion, error: BaseException) -> None:
        """The task failed for good; its future is settled next."""

    def output_ended(self, worker: int, ticket: int, run: int) -> None:
        """The task's output is complete; its result comes next."""

    def reply(self, worker: int, number: int, data: bytes) -> None:
        """A worker answered a request."""

    def changed(self, data: bytes) -> None:
        """A task changed what it captured, or an argument; see `changes`."""

    def overdue(self, ticket: int, element: int, limit_ns: int) -> None:
        """The task, or this element of it, ran past its time limit."""

    def corrupt(self, worker: int) -> None:
        """The worker's memory does not hold what it must."""

    def report(self, error: BaseException) -> None:
        """An error of Cellmill's own in one of its threads."""
