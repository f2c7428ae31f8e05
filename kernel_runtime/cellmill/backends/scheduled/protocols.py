"""What a backend with this scheduler brings: its workers, and how they are stopped and heard."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ...cell_output.origin import Origin
from ...task import WorkerInfo

if TYPE_CHECKING:
    from .worker_exit import Exit


class WorkerPool(Protocol):
    """The workers of a backend; called from any thread."""

    preloaded: list[str]
    restarts: int

    @property
    def members(self) -> Mapping[int, Any]: ...

    @property
    def exits(self) -> Mapping[int, Exit]:
        """By worker: how the last one at that place ended."""

    @property
    def world(self) -> Any: ...

    def touched(self) -> bool:
        """At a glance: whether `sync_world` has something to do."""

    def sync_world(self) -> None: ...

    def resize(self, count: int) -> None: ...

    def infos(self) -> list[WorkerInfo]: ...

    def replace(self, index: int) -> None: ...

    def kill(self, index: int, reason: str = "") -> None: ...

    def restart(self) -> None: ...

    def preload(self, modules: Iterable[str]) -> None: ...

    def call_everywhere(self, function: Callable[..., Any]) -> list[Any]: ...

    def reply(self, index: int, number: int, data: bytes) -> None: ...

    def close(self, wait: bool) -> None: ...


class TaskStopper(Protocol):
    """Ends tasks that run; called from any thread."""

    def stop_run(self, run: int, after: int = 0) -> int: ...

    def stop_task(self, ticket: int) -> bool | None: ...

    def overdue(self, ticket: int, element: int) -> None: ...


class OutputListener(Protocol):
    """Hears what tasks print."""

    def end_of_task(self, worker: int, ticket: int, run: int) -> None: ...

    def cell_of(self, ticket: int) -> Origin: ...

    def stop(self) -> None: ...

    def disown(self) -> None: ...
