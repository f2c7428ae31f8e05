"""What an executor asks of a backend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

from ..cell_output.transcript import Settings
from ..futures import Future
from ..runs import Run
from ..serialization.shared import Shared
from ..task import RunCounts, Stats, TaskOptions, WorkerEnd, WorkerInfo
from .map_iterator import MapIterator
from .resources import Resources


class Picture(Protocol):
    """Tasks with inputs or dependents, as they stand. Columns are native integers and floats, one after another."""

    tasks: int
    dependencies: int
    partial: bool  # the oldest dependencies are not kept any more
    structure: int  # another number when there are other tasks or dependencies
    changes: int  # another number when the state of one changed, too

    def look(self) -> None:
        """Bring it up to date."""

    def columns(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Of each task: ticket (8 bytes), function, depth (4 each); and of each dependency: two positions (4 each)."""

    def states(self) -> tuple[bytes, bytes]:
        """Of each task: state (1 byte, see CSCHED_DAG_WAITING and those after it), seconds it ran (a float)."""

    def fold(self, most: int) -> tuple[bytes, bytes, int]:
        """Groups, at most so many: function, depth, seconds (a float), 0, tasks by state (8), of 4 bytes each; what
        hangs on what among them: two positions, how often (4 each); depths of a group.
        """

    def name(self, function: int) -> str | None:
        """A function's name; None: not known, or several."""


class Backend(Protocol):
    """Runs tasks; every method may be called from any thread."""

    name: str
    max_workers: int
    shown: Settings  # how the output of tasks is shown
    forks: bool  # whether a forked child can use it as its parent does
    needs_threads: bool  # whether it needs thread pools, which end before the program's own threads
    resources: Resources  # what tasks may ask for beside a worker

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
        prefetch: int | None = None,
        star: bool,
    ) -> MapIterator: ...

    def open_run(self) -> int: ...

    def run_counts(self, run: int) -> RunCounts: ...

    def running_in_run(self, run: int) -> int: ...

    def cancel_run(self, run: int) -> int: ...

    def stop_run(self, run: int) -> int: ...

    def cancel_everything(self) -> int: ...

    def close_run(self, run: int) -> None: ...

    def stats(self) -> Stats: ...

    def journey_rows(self) -> Iterator[dict[str, Any]]: ...

    def workers(self) -> list[WorkerInfo]: ...

    def worker_ends(self) -> list[WorkerEnd]: ...

    def replace_worker(self, index: int) -> None: ...

    def dependencies(self) -> Picture | None: ...

    def set_workers(self, count: int) -> None: ...

    def run_on_workers(self, function: Callable[..., Any]) -> list[Any]: ...

    def preload(self, modules: Iterable[str]) -> None: ...

    def share(self, shared: Shared) -> None: ...

    def pause(self, on: bool) -> None: ...

    def restart(self) -> None: ...

    def work_off(self) -> None: ...

    def shutdown(self, wait: bool, cancel_futures: bool) -> None: ...
