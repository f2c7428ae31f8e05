"""What an executor asks of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from ..futures import Future
from ..runs import Run
from ..task import RunCounts, Stats, TaskOptions, WorkerInfo
from ..transcript import Settings


class Backend(Protocol):
    """Runs tasks; every method may be called from any thread."""

    name: str
    max_workers: int
    shown: Settings  # how the output of tasks is shown
    forks: bool  # whether a forked child can use it as its parent does

    def submit_plain(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Future: ...

    def submit(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions, run: int
    ) -> Future: ...

    def map(
        self,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        *,
        chunksize: int | None,
        timeout: float | None,
        ordered: bool,
        return_exceptions: bool,
    ) -> Iterator[Any]: ...

    def open_run(self) -> int: ...

    def run_counts(self, run: int) -> RunCounts: ...

    def cancel_run(self, run: int) -> int: ...

    def stop_run(self, run: int) -> int: ...

    def cancel_everything(self) -> int: ...

    def close_run(self, run: int) -> None: ...

    def stats(self) -> Stats: ...

    def journey_rows(self) -> Iterator[dict[str, Any]]: ...

    def workers(self) -> list[WorkerInfo]: ...

    def set_workers(self, count: int) -> None: ...

    def run_on_workers(self, function: Callable[..., Any]) -> list[Any]: ...

    def preload(self, modules: Iterable[str]) -> None: ...

    def pause(self, on: bool) -> None: ...

    def restart(self) -> None: ...

    def shutdown(self, wait: bool, cancel_futures: bool) -> None: ...
