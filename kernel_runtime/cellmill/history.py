"""The runs of this process as records: what was called where, how long it took, and how it ended."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from html import escape
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, Protocol

from .diagnostics.short_text import duration_text
from .errors import OWN_FOLDER
from .task import RunCounts, size_text

__all__ = ["RunCounter", "RunFigures", "RunRecord", "Runs", "Stages", "TimeSpent", "code_of"]

LEAST_TOLD = 0.005  # a share below half a percent is not told

_COLUMNS = (
    "run",
    "cell",
    "name",
    "began",
    "wall",
    "succeeded",
    "failed",
    "cancelled",
    "your code",
    "idle",
    "peak memory",
    "arguments",
    "results",
)


class Moved(NamedTuple):
    """Bytes that tasks moved which ended by themselves, also with an error: their packed arguments, without results of
    other tasks that they take, and their packed results. Functions, with what they refer to, and what is shared
    (`cellmill.share`) are not part of them. A retried task counts once.
    """

    sent: int
    received: int


class TimeSpent(NamedTuple):
    """Where the time of a run went, as `cellmill.account` told when it ended."""

    sentence: str
    idle: float  # share of the workers' time without a task, 0 to 1
    reasons: tuple[
        tuple[str, str, float], ...
    ] = ()  # name, what they were then, share of their time; (): not known

    def idle_text(self) -> str:
        """The share and its main reason in a few words; "" below half a percent."""
        if self.idle < LEAST_TOLD:
            return ""
        main = max(self.reasons, key=lambda each: each[2], default=("", "", 0.0))[1].removeprefix("idle ")
        several = sum(share >= LEAST_TOLD for *_, share in self.reasons) > 1
        return f"{100 * self.idle:.0f} %{', mostly' if several else ''} {main}".rstrip()


class Stages(NamedTuple):
    """Seconds that the tasks of a run spent outside of user code, in sum.

    The first three count each element of a chunk, which wait together; the others are those of the kernel and the
    workers, once for a chunk.
    """

    waited: float  # for inputs
    queued: float  # for a worker
    delivered: float  # on the way there, and behind others
    unpacked: float  # the worker loads the arguments
    packed: float  # the worker pickles the result
    pickled: float  # the kernel pickles the arguments


@dataclass(frozen=True, slots=True)
class RunFigures:
    """What is kept of a run to compare it with others: the figures of its tasks that ended by themselves, also with an
    error. At most 16 kB, however many tasks there were.
    """

    backend: str
    size: int  # workers that there were to be at its end
    workers: float  # on average, without the part that other runs took; 0: no task has ended
    work: float  # seconds of workers in user code, with attempts that came to nothing
    tasks: int  # those that the next two are of
    stages: Stages
    steps: array[int]  # how many tasks ran how long: see `telemetry.run_times.TaskTimes`


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run: a map, a cell's calls of one function, or a ``%%task``."""

    id: int  # the number that `cellmill.cancel` and `cellmill.account` take
    name: str  # of the function
    cell: str  # such as "In[3]"; "" outside of notebooks
    began: datetime  # local time
    wall: float  # seconds from its begin to its end, or to now
    finished: bool  # all its tasks are over, and it gets no more
    submitted: int
    succeeded: int
    failed: int
    cancelled: int
    busy: (
        float | None
    )  # share of the workers' time in user code, without what other runs used; None: not known
    memory: (
        int | None
    )  # bytes: the most of its own that a worker had at a sample while it ran a task of this; None: not known
    moved: Moved | None = None  # bytes of arguments and results; None: not known, or nothing is packed
    figures: RunFigures | None = field(default=None, repr=False, compare=False)  # for `cellmill.compare`
    code: CodeType | None = field(default=None, repr=False, compare=False)  # of the function; None: not known
    label: str = ""  # the name that its record was given
    path: Path | None = None  # of its record, where it was read from one; its number is negative then
    lost: int = 0  # of the failed ones, those whose worker ended
    hits: int = 0  # results that came from the cache, beside the tasks
    spent: TimeSpent | None = field(default=None, repr=False, compare=False)  # None: not known
    ends: str = ""  # "cut off" or "stopped early": its record ends before the run did, and gets no more
    source: int = field(
        default=0, repr=False, compare=False
    )  # the same for cells with the same text; 0: not known

    @property
    def outstanding(self) -> int:
        """Number of tasks that are not over."""
        return max(0, self.submitted - self.succeeded - self.failed - self.cancelled)


class Runs(list[RunRecord]):
    """Records of runs, oldest first; a notebook shows them as a table."""

    def __repr__(self) -> str:
        rows = self._table()
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        lines = (
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
        )
        return "\n".join(line.rstrip() for line in lines) if self else "no runs"

    def _repr_html_(self) -> str:
        if not self:
            return "<p>no runs</p>"
        heads, *rows = self._table()
        body = "".join(map(_row, rows))
        return f"<table><thead>{_row(heads, 'th')}</thead><tbody>{body}</tbody></table>"

    def _table(self) -> list[tuple[str, ...]]:
        """The heads, and a row for each run; those of records begin with their day and end with name and file."""
        if not any(record.path for record in self):
            return [_COLUMNS, *map(_cells, self)]
        rows = [(*_cells(record), record.label, record.path.name if record.path else "") for record in self]
        days = [f"{record.began:%Y-%m-%d}" for record in self]
        return [
            ("day", *_COLUMNS[1:], "name of record", "file"),
            *((day, *row[1:]) for day, row in zip(days, rows, strict=True)),
        ]


def _cells(record: RunRecord) -> tuple[str, ...]:
    failed = f"{record.failed:,} ({record.lost:,} lost)" if record.lost else _number(record.failed)
    return (
        str(record.id),
        record.cell,
        record.name,
        f"{record.began:%H:%M:%S}",
        _wall(record),
        f"{_number(record.succeeded)} (+{record.hits:,} from the cache)".lstrip()
        if record.hits
        else _number(record.succeeded),
        failed,
        _number(record.cancelled),
        "" if record.busy is None else f"{100 * record.busy:.0f} %",
        "" if record.spent is None else record.spent.idle_text(),
        "" if record.memory is None else f"{record.memory / 1e6:,.0f} MB",
        *(("", "") if record.moved is None else map(size_text, record.moved)),
    )


def _wall(record: RunRecord) -> str:
    more = "" if record.finished else record.ends or _to_go(record.outstanding)
    return ", ".join(filter(None, (duration_text(record.wall), more)))


def _to_go(outstanding: int) -> str:
    """What is left of a run that may still get tasks; "" where all that it has are over."""
    return f"{outstanding:,} to go" if outstanding else ""


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


def _row(cells: Iterable[str], tag: str = "td") -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


class RunCounter(Protocol):
    """What a run asks of its backend."""

    def run_counts(self, run: int) -> RunCounts: ...

    def running_in_run(self, run: int) -> int: ...

    def busy_share(self, run: int) -> float | None:
        """Return the share of the workers' time in user code, 0 to 1; None where it is not known."""

    def peak_memory(self, run: int) -> int | None:
        """Return the most memory of its own that a worker had while it ran a task of a run; None: not known."""

    def moved(self, run: int) -> Moved | None:
        """Return the bytes of arguments and results of the tasks that have ended; None: nothing is packed."""

    def last_end(self, run: int) -> int | None:
        """Return when the last task of a run ended on its worker, in monotonic nanoseconds; None: not known."""

    def run_figures(self, run: int) -> RunFigures | None:
        """Return what its tasks took; None where it is not known. Before `close_run`."""

    def time_spent(self, run: int, wall: float) -> TimeSpent | None:
        """Return where its time went; None where it is not known. ``wall``: its seconds, of which finding reasons may
        take a part that does no harm. Before `close_run`.
        """

    def cancel_run(self, run: int) -> int: ...

    def stop_run(self, run: int) -> int: ...

    def set_run_priority(self, run: int, priority: int) -> int | None:
        """Set the priority; return how many tasks of the run waited, or None where the backend has no priorities."""

    def close_run(self, run: int) -> None: ...


def code_of(function: Any) -> CodeType | None:
    """Return the code that a call of the function runs first; None for what is not written in Python, and for
    Cellmill's own.
    """
    while type(function) is partial:
        function = function.func
    code = getattr(function, "__code__", None) or getattr(function, "code", None)  # of a cell as a body
    known = isinstance(code, CodeType) and not code.co_filename.startswith(OWN_FOLDER)
    return code if known else None
