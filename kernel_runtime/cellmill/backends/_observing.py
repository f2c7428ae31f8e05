"""What views ask of a backend that has its tasks in the C scheduler: their states, journeys, inputs and failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from ..cell_output.recent import Recent
from ..diagnostics.questions import Row, SlowTask, Waits
from ..futures import Future
from ..history import Moved
from ..run_registry import Run
from ..telemetry.account import Account
from ..telemetry.time_left import TimeLeft


class Picture(Protocol):
    """Tasks with inputs or dependents, and their states. Columns are native integers and floats, one after another."""

    tasks: int
    own: int  # of these, tasks of the run that it shows; the others are their inputs and dependents
    dependencies: int
    partial: bool  # the oldest dependencies are not kept any more
    structure: int  # another number when there are other tasks or dependencies
    changes: int  # another number when the state of one changed, too

    def look(self) -> None:
        """Bring it up to date."""

    def columns(self) -> tuple[bytes, bytes, bytes, bytes]:
        """Packed columns: for each task ticket (8 bytes), function, depth (4 each); for each dependency two
        positions (4 each).
        """

    def states(self) -> tuple[bytes, bytes]:
        """Packed columns: for each task its state (1 byte, see CSCHED_DAG_WAITING), and the seconds that it ran (a
        float).
        """

    def fold(self, most: int) -> tuple[bytes, bytes, int]:
        """Groups, at most so many: function, depth, seconds (a float), 0, tasks by state (8), of 4 bytes each; what
        hangs on what among them: two positions, how often (4 each); depths of a group.
        """

    def name(self, function: int) -> str | None:
        """A function's name; None: not known, or several."""


class MapPart(Protocol):
    """A part of the state map; see csched.h for its cells."""

    @property
    def first(self) -> int: ...

    @property
    def last(self) -> int: ...

    @property
    def counts(self) -> tuple[int, ...]:
        """Tasks by state."""

    @property
    def cells(self) -> bytes: ...


class Timeline(Protocol):
    """The journeys of one backend, folded; one thread at a time."""

    def begin(self, since_ns: int, run: int = ...) -> None:
        """Start anew, with the tasks submitted since then (monotonic nanoseconds), of one run or of all."""

    def fold(self) -> Any:
        """Read what came since; the state (csched_timeline_state_t), valid until the next call."""

    def spans(self, after: int | None) -> bytes:
        """The spans (csched_span_t) that changed after that fold; None: all of them."""

    def figures(self) -> list[Any]:
        """Return the durations of each function's tasks (`FunctionFigures`)."""

    def running(self) -> bytes:
        """A span for each task that runs now."""

    @property
    def overwritten(self) -> bool:
        """Whether the oldest journeys, of whatever run, have made room for later ones."""


class Part(Protocol):
    """Journeys of one run among those of a look of a `RowReader`."""

    @property
    def count(self) -> int: ...

    @property
    def functions(self) -> tuple[int, ...] | None:
        """Numbers of their functions; None: too many to tell."""

    @property
    def data(self) -> bytes:
        """The rows, packed."""


class RowReader(Protocol):
    """Reads journeys as tasks end; see `scheduled.packed_rows`. One thread at a time."""

    count: int

    @property
    def at(self) -> int: ...

    def written(self) -> int: ...

    def from_the_oldest(self) -> RowReader: ...

    def look(self) -> int: ...

    def first(self) -> tuple[int, int] | None: ...

    def take(self, run: int, since: int, until: int = ...) -> Part: ...

    def leave(self, run: int, since: int, until: int = ...) -> None: ...

    def rows(self) -> bytes: ...


class FailureFold(Protocol):
    """Failures of one type with one traceback."""

    id: int
    type: str
    function: str
    message: str
    traceback: str
    count: int


class RerunRecord(Protocol):
    """A later run of a failed call."""

    task: int
    state: str  # running, or how it ended: done, failed, cancelled


class FailureRecord(Protocol):
    """One task or element that failed for good."""

    task: int
    element: int
    function: str
    message: str
    at: float  # when it was noted, in monotonic seconds

    @property
    def again(self) -> Sequence[RerunRecord]: ...

    @property
    def arguments(self) -> str: ...

    @property
    def is_kept(self) -> bool: ...

    def source(self) -> tuple[str, str] | None: ...

    def call(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]: ...


class TaskQuestions(Protocol):
    """Questions about single tasks, and what may be done to one. Tasks are named by ticket or serial number."""

    def find(
        self,
        *,
        kinds: tuple[str, ...] = ...,
        run: int | None = None,
        text: str = "",
        task: int | None = None,
        failure: int | None = None,
        order: str = "news",
        offset: int = 0,
        most: int = 100,
    ) -> tuple[list[Row], int]: ...

    def at(self, position: int) -> tuple[int, int | None] | None: ...

    def ticket(self, task: int) -> int: ...

    def why(self, task: int) -> Waits: ...

    def failure(self, task: int, element: int | None = None) -> Any: ...

    def latest_failure(self) -> Any: ...

    def failures(self, most: int, run: int | None = None) -> list[Any]: ...

    def failed_calls(
        self, group: int, run: int | None = None
    ) -> tuple[FailureFold, Sequence[FailureRecord]] | None: ...

    def arguments(self, task: int, element: int | None) -> str | None: ...

    def kept_arguments(self, task: int) -> str | None: ...

    def output(self, task: int, element: int | None) -> str: ...

    def set_priority(self, task: int, priority: int) -> bool: ...

    def set_run_priority(self, run: int, priority: int) -> int: ...

    def cancel(self, task: int) -> bool: ...

    def again(self, task: int, element: int | None = None) -> Future: ...

    def call_again(self, found: Any) -> Future: ...

    def result(self, task: int) -> Future | None: ...


class SharedPage(Protocol):
    """Where other processes see a backend, and give it commands, in shared memory."""

    descriptor: int  # to be passed on; stays open
    most_text: int  # bytes

    def tell(self, text: bytes) -> None:
        """Replace what the page says in words; one thread at a time."""


class Observer(Protocol):
    """The interface of views to a backend that keeps records of its tasks. Thread-safe."""

    @property
    def tasks(self) -> TaskQuestions: ...

    @property
    def paused(self) -> bool:
        """Whether tasks are held back from workers."""

    @property
    def function_names(self) -> Mapping[int, str]:
        """Names of the functions by number."""

    @property
    def recent_output(self) -> Recent:
        """The newest output of all tasks."""

    @property
    def next_position(self) -> int:
        """Position of the next task in the state map."""

    def state_map(self, start: int, end: int, span: int, most: int, run: int | None = None) -> MapPart:
        """The part from one position up to another, ``span`` tasks a cell, at most so many cells; of one run, both
        count its own tasks.
        """

    def positions_of(self, run: int) -> int:
        """Return how many tasks of a run are in the state map, or were."""

    def position_in(self, run: int, place: int) -> int | None:
        """Return a task's position by its place among the run's tasks; None: not known any more."""

    def account(self, run: int | None, *, advice: bool = False) -> Account:
        """Return where the time of a run (by its number here) went; None: of the present piece of work.
        ``advice``: also what would have helped, if the work is over.
        """

    def work_span(self) -> tuple[float, float]:
        """Return when the first task of the present piece of work was submitted, and when its last one ended so far:
        seconds on the monotonic clock, 0 without one.
        """

    def moved_by(self, functions: Iterable[int]) -> Mapping[int, Moved]:
        """Return the bytes that tasks of these functions moved in the present piece of work; empty where nothing is
        packed.
        """

    def slowest(self) -> list[SlowTask]:
        """Return the tasks of the present piece of work that ran longest, at most ten, the longest first."""

    def time_left(self, runs: Iterable[Run], workers: int) -> TimeLeft | None:
        """Return what all outstanding tasks still take, with what these runs, all that are not over, hold back; None
        where nothing is outstanding, or where nothing tells how long it takes.
        """

    def timeline(self) -> Timeline:
        """A new fold of the journeys, which does not keep the backend alive."""

    def shared_page(self) -> SharedPage:
        """Return the page on which other processes see this backend, made by the first call."""

    def row_reader(self) -> RowReader:
        """A new reader of the journeys from now on, which keeps them alive, but no workers."""

    def spans_between(
        self, start_ns: int, end_ns: int, most: int, run: int | None = None
    ) -> tuple[bytes, int]:
        """A span for each task, of one run or of all, that ran between these times, or for an even choice of them; how
        many did.
        """

    def dependencies(self, run: int | None = None) -> Picture:
        """A new picture of what hangs on what, for one thread at a time; ``run``: its tasks with their inputs and
        dependents, instead of the present piece of work.
        """
