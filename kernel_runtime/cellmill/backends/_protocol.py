"""The interface of an executor to its backend."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ..cell_output.transcript import Settings
from ..futures import Future
from ..history import Moved, RunFigures, TimeSpent
from ..run_registry import Run
from ..serialization.shared import Shared
from ..task import RunCounts, Stats, TaskOptions, WorkerEnd, WorkerInfo
from ..telemetry.profile import Flame
from ..telemetry.usage import Point
from ._observing import Observer
from .map_iterator import MapIterator
from .map_options import MapOptions
from .resources import Resources


class Profiling(Protocol):
    """Samples of what workers execute, taken while it is switched on. Thread-safe."""

    @property
    def note(self) -> str:
        """What a reader of the profile has to know of how its samples are taken; "" for nothing."""

    @property
    def on(self) -> bool:
        """Whether samples are taken."""

    def switch(self, on: bool) -> None:
        """Take samples from now on, beginning a new profile; or no more."""

    def flame(self, most: int, least: float) -> Flame:
        """Return the profile: at most so many bars, of at least this share of all time."""

    def settle(self, seconds: float) -> bool:
        """Return when all samples are here that were taken before the switch was turned off, or this time is over:
        whether they are.
        """


class Measured(Protocol):
    """What the process of a worker uses at one moment."""

    @property
    def process(self) -> Hashable:
        """Equal for workers that share a process, and what it uses."""

    @property
    def at(self) -> float:
        """That moment, in seconds of a clock of its own."""

    @property
    def memory(self) -> int:
        """Bytes of its own."""

    @property
    def seconds(self) -> float | None:
        """Processor time so far."""

    @property
    def resident(self) -> int | None:
        """Bytes that its limit counts."""

    @property
    def limit(self) -> int | None:
        """Bytes that it may have; None: not known, or no limit of its own."""

    @property
    def shared(self) -> bool:
        """Whether other workers are in the same process."""


class Host(Protocol):
    """A machine, or control group, with workers; memory in bytes."""

    @property
    def name(self) -> str: ...

    @property
    def here(self) -> bool:
        """Whether the kernel is there, too."""

    @property
    def cpus(self) -> int: ...

    @property
    def memory(self) -> int: ...

    @property
    def free(self) -> int: ...


class ResourceUse(Protocol):
    """What workers use, sampled while tasks run. Thread-safe."""

    def measured(self, index: int) -> Measured | None:
        """Return what a worker's process uses now; None: not known."""

    def hosts(self) -> Sequence[Host]:
        """Return the machines of the workers, as far as they are known."""

    def points(self, since: float, until: float = ...) -> list[Point]:
        """Return what was used in that time, in monotonic seconds."""

    def peaks(self, run: int | None) -> Mapping[int, int]:
        """Return the most memory of its own that a worker had while it ran a task, by function: of a run (by its number
        here), or of the present piece of work.
        """

    def near(self, ticket: int) -> Near | None:
        """Return what is known of a task that came near the memory that it declared."""


class Near(Protocol):
    """A task whose worker came near the memory that the task declared, in bytes."""

    @property
    def memory(self) -> int: ...

    @property
    def declared(self) -> int: ...


class Backend(Protocol):
    """Runs tasks; every method may be called from any thread."""

    name: str
    max_workers: int
    shown: Settings  # how the output of tasks is shown
    forks: bool  # whether a forked child can use it as its parent does
    needs_threads: bool  # whether it needs thread pools, which end before the program's own threads
    resources: Resources  # what tasks may ask for beside a worker
    policy: str  # how workers are chosen; "none": there are no ways

    def open(self) -> None:
        """Ask for the workers, and take part in what happens around; once, before the first task."""

    @property
    def cluster(self) -> str:
        """Whose workers run the tasks, as people call it; "" where they are Cellmill's own."""

    @property
    def borrowed(self) -> bool:
        """Whether the processes of its workers are not Cellmill's to end."""

    @property
    def dashboard(self) -> str:
        """The address of the dashboard that the cluster of its workers has itself; "" without one."""

    @property
    def observer(self) -> Observer | None:
        """None where single tasks cannot be watched."""

    @property
    def use(self) -> ResourceUse | None:
        """None where the memory of workers cannot be read."""

    @property
    def profiling(self) -> Profiling | None:
        """None where workers cannot be sampled."""

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
        how: MapOptions,
    ) -> MapIterator: ...

    def open_run(self) -> int: ...

    def run_counts(self, run: int) -> RunCounts: ...

    def running_in_run(self, run: int) -> int: ...

    def busy_share(self, run: int) -> float | None:
        """Return the share of the workers' time in user code, 0 to 1; None where it is not known."""

    def peak_memory(self, run: int) -> int | None:
        """Return the most memory of its own, in bytes, that a worker had while it ran a task of the run, of what was
        sampled; None: not known.
        """

    def moved(self, run: int) -> Moved | None:
        """Return the bytes of arguments and results of the tasks of a run that have ended; None: nothing is packed."""

    def last_end(self, run: int) -> int | None:
        """Return when the last task of a run ended on its worker, in monotonic nanoseconds; None: not known."""

    def run_figures(self, run: int) -> RunFigures | None:
        """Return what the tasks of a run took that is not closed; None where it is not known."""

    def time_spent(self, run: int, wall: float) -> TimeSpent | None:
        """Return where the time of a run went that took ``wall`` seconds and is not closed; None: not known."""

    def cancel_run(self, run: int) -> int: ...

    def stop_run(self, run: int) -> int: ...

    def cancel_everything(self) -> int: ...

    def set_run_priority(self, run: int, priority: int) -> int | None: ...

    def close_run(self, run: int) -> None: ...

    def stats(self) -> Stats: ...

    def journey_rows(self) -> Iterator[dict[str, Any]]: ...

    def workers(self) -> list[WorkerInfo]: ...

    def worker_ends(self) -> list[WorkerEnd]: ...

    @property
    def restarts(self) -> int:
        """How many workers were replaced that had ended and were not asked to."""

    def replace_worker(self, index: int) -> None: ...

    def set_workers(self, count: int) -> None: ...

    def run_on_workers(self, function: Callable[..., Any]) -> list[Any]: ...

    def preload(self, modules: Iterable[str]) -> None: ...

    def preloaded(self) -> list[str]: ...

    def set_policy(self, name: str) -> None: ...

    def settle(self, seconds: float) -> None:
        """Settle what is over; return when the callbacks of that have run, or the time is over."""

    def listen(self) -> None:
        """Settle what is over, or will be within a moment: for a thread that waits for any of several tasks."""

    def share(self, shared: Shared) -> None: ...

    def pause(self, on: bool) -> None: ...

    def restart(self) -> None: ...

    def work_off(self) -> None: ...

    def shutdown(self, wait: bool, cancel_futures: bool) -> None: ...
