"""`%journeys`: where the time of finished tasks went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import cellmill
from cellmill import run_registry
from cellmill.diagnostics.short_text import duration_text
from cellmill.magics.lines import Line, UsageError, did_you_mean
from cellmill.task import size_text
from cellmill.telemetry import schema
from cellmill.telemetry.account import Account
from cellmill.views.sections.work_fold import INTERVALS, fold_all, journeys_of, moved_by

USAGE = "%journeys [RUN]"

HELP = """Show where the time of finished tasks went: how long each interval of their journeys took.

    %journeys            of the tasks whose journeys are kept (the newest 262,144), by function
    %journeys RUN        of one run: its number, or the name of a function for its latest run

The first line says where the workers' time went: of that run, or of the latest piece of work; of this also what would
have made it shorter. Then come the intervals, from the call to the result:

    wait-for-inputs      until the results it takes were there
    queue                ready, but not sent to a worker yet
    deliver              in a worker's ring, behind the tasks sent to it before
    unpack               the worker loads the arguments
    run                  your code
    pack                 the worker pickles the result
    collect              the result waits until the kernel takes it
    pickle               the kernel pickles the arguments: beside the journey, before the call returns
    beside               waiting for others of the same chunk of a map

median, p95 and p99: that share of the tasks took no longer; within about 6 %. mean: of the tasks that tell it.
"""

_CELL = 'style="text-align:right;padding:1px 0 1px 12px"'
_HEAD = 'style="text-align:left;padding:1px 12px 1px 0"'
_COLUMNS = ("mean", "median", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Journeys:
    """Figures of each function's intervals; draws itself as text and as HTML."""

    what: str
    functions: tuple[schema.FunctionJourney, ...]
    account: Account | None = None
    kept: int = 0  # tasks and attempts that the figures are of
    ended: int = 0  # those of all that have ended: more than are kept, maybe
    part: bool = False  # rows of some of them were overwritten
    hits: Mapping[str, int] = field(default_factory=dict)  # results that came from the cache, by function

    @property
    def _part(self) -> str:
        """What part of the tasks the figures are of; "" where it is all."""
        return (
            f"The newest {self.kept:,} of {self.ended:,} tasks:"
            if self.part and self.kept < self.ended
            else ""
        )

    @property
    def _spent(self) -> str:
        """Where the workers' time went, and in which of the tasks where it is not all; "" where that is not known."""
        if self.account is None or not self.account.tasks:
            return ""
        return f"The latest work: {self.account}" if self.account.tasks < self.ended else str(self.account)

    @property
    def _found(self) -> str:
        """What came from the cache; "" where nothing did."""
        if not self.hits:
            return ""
        each = ", ".join(f"{name} {count:,}" for name, count in self.hits.items())
        return f"From the cache, without a task: {each}."

    def _rows(self, journey: schema.FunctionJourney) -> list[tuple[str, ...]]:
        rows = []
        for name, part in zip(INTERVALS, journey["intervals"], strict=True):
            if part["known"]:
                mean = part["total"] / part["known"]
                values = (mean, part["median"], part["p95"], part["p99"])
                rows.append((name, *map(duration_text, values)))
            elif name != "beside":  # no task came in a chunk
                rows.append((name, "unknown", *["–"] * 3))
        return rows

    @staticmethod
    def _title(journey: schema.FunctionJourney) -> str:
        tasks = journey["tasks"]
        parts = [f"{tasks:,} task{'s' if tasks != 1 else ''}"]
        parts += [f"{journey['failed']:,} failed"] if journey["failed"] else []
        lost = journey["lost"] or 0
        parts += [f"{journey['cut'] - lost:,} cancelled"] if journey["cut"] > lost else []
        parts += [f"{lost:,} lost"] if lost else []
        memory = journey["memory"]
        parts += [f"a worker had up to {size_text(memory)} of memory"] if memory is not None else []
        sent, received = journey["sent"], journey["received"]
        if sent is not None and received is not None:
            parts += [f"{size_text(sent)} of arguments", f"{size_text(received)} of results"]
        return f"{journey['name']}: {', '.join(parts)}"

    def __repr__(self) -> str:
        if not self.functions:
            return ". ".join(part for part in (f"no journeys of {self.what}", self._found) if part)
        blocks = [part for part in (self._spent, self._found, self._part) if part]
        for journey in self.functions:
            lines = [self._title(journey), f"{'':16}" + "".join(f"{name:>10}" for name in _COLUMNS)]
            lines += [
                f"{name:16}" + "".join(f"{v:>10}" for v in values) for name, *values in self._rows(journey)
            ]
            blocks.append("\n".join(lines))
        return "\n\n".join(blocks)

    def _repr_html_(self) -> str:
        if not self.functions:
            return f"<p>{escape(repr(self))}</p>"
        parts = (self._spent, self._found, self._part)
        first = "".join(f"<p>{escape(each)}</p>" for each in parts if each)
        return first + "".join(self._table(journey) for journey in self.functions)

    def _table(self, journey: schema.FunctionJourney) -> str:
        heads = "".join(f"<th scope=col {_CELL}>{name}</th>" for name in _COLUMNS)
        rows = "".join(
            f"<tr><th scope=row {_HEAD}>{escape(name)}</th>"
            + "".join(f"<td {_CELL}>{escape(value)}</td>" for value in values)
            + "</tr>"
            for name, *values in self._rows(journey)
        )
        title = f"<caption {_HEAD}>{escape(self._title(journey))}</caption>"
        return f"<table>{title}<tr><th></th>{heads}</tr>{rows}</table>"


def names() -> list[str]:
    """Possible values of RUN."""
    executor = cellmill.peek_default_executor()
    return [run.name for run in _runs_of(executor)] if executor is not None else []


def run_journeys(text: str) -> Journeys:
    """The magic: `text` is the rest of its line; the table is returned to be displayed."""
    line = Line("%journeys", text, USAGE)
    words = line.words()
    if len(words) > 1:
        raise line.at("%journeys takes one run only", words[1])
    executor = cellmill.default_executor()
    observer = executor._backend.observer
    if observer is None:
        raise line.error(f"the {executor.backend} backend does not tell what its tasks went through")
    run = _find(line, executor) if words else None
    timeline = observer.timeline()
    if run is None:
        timeline.begin(0)
    else:
        timeline.begin(0, run.key)
    kept, part = int(fold_all(timeline).tasks), timeline.overwritten
    use = executor._backend.use
    peaks = {} if use is None else use.peaks(None if run is None else run.key)
    figures = timeline.figures()
    moved = {} if run is None else moved_by(executor, figures, run.key)  # else of the present work alone
    functions = journeys_of(figures, observer.function_names, peaks, moved)
    account = observer.account(None if run is None else run.key, advice=True)
    if run is not None:
        hits = run_registry.hits_of(executor._backend, run=run.id)
        return Journeys(
            f"run {run.id}, {run.name}", tuple(functions), account, kept, account.tasks, part, hits
        )
    stats = executor.stats()
    hits = run_registry.hits_of(executor._backend)
    ended = stats.succeeded + stats.failed
    return Journeys("any task", tuple(functions), account, kept, ended, part, hits)


def _runs_of(executor: cellmill.Executor) -> list[run_registry.Known]:
    return [run for run in run_registry.recent_runs() if run.backend() is executor._backend]


def _find(line: Line, executor: cellmill.Executor) -> run_registry.Known:
    word = line.words()[0]
    known = _runs_of(executor)
    for run in reversed(known):
        if word.text in (str(run.id), run.name):
            return run
    raise _unknown(line, known)


def _unknown(line: Line, known: list[run_registry.Known]) -> UsageError:
    word = line.words()[0]
    near = did_you_mean(word.text, {run.name for run in known})
    return line.at(f"there is no run {word.text!r}{near}", word)
