"""Two runs, or the runs of two cells, beside each other: what changed, and what is no more than chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

from ..diagnostics.short_text import counted, duration_text
from ..history import Moved, RunFigures, RunRecord, Stages
from ..task import size_text
from .alike import alike, same_code
from .run_times import LEAST_ALIKE, Ratio, TaskTimes, noise_of, ratio_of

__all__ = ["Comparison", "Side", "Table", "compare"]

LEAST_CHANGE = 1.1
"""Of single runs nothing tells how much they differ by chance: smaller changes are not called changes."""
MOST_FUNCTIONS = 24  # in a table
_STAGES = {
    "waited": "wait for inputs per task",
    "queued": "queue per task",
    "delivered": "deliver per task",
    "unpacked": "unpack in all",
    "packed": "pack in all",
    "pickled": "pickle in all",
}
_EACH = ("waited", "queued", "delivered")  # elements of a chunk wait together: their sum tells nothing
_QUANTILES = {"median time": 0.5, "10 % are below": 0.1, "90 % are below": 0.9}
Row = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Table:
    """One part of a comparison: of all, or of one function."""

    title: str
    rows: tuple[Row, ...]  # what, before, after, change


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: a run, or all runs of a cell."""

    label: str  # such as "In [3]", or "run 7 (dock)"
    runs: tuple[RunRecord, ...]

    @property
    def wall(self) -> float:
        """Seconds from the first run's begin to the last one's end."""
        began = min(run.began for run in self.runs)
        return max((run.began - began).total_seconds() + run.wall for run in self.runs)

    def functions(self) -> dict[str, list[RunRecord]]:
        """Return its runs by function, in the order of their begin."""
        found: dict[str, list[RunRecord]] = {}
        for run in self.runs:
            found.setdefault(run.name, []).append(run)
        return found

    @property
    def figures(self) -> list[RunFigures]:
        """Figures of the runs that have some."""
        return [run.figures for run in self.runs if run.figures is not None]


@dataclass(frozen=True, slots=True)
class Change:
    """How the time per task of one function changed."""

    name: str
    before: TaskTimes
    after: TaskTimes
    ratio: Ratio | None  # None: too few tasks to tell
    noise: float  # factor within which nothing is called a change
    repeated: bool  # whether `noise` comes from runs alike
    same_code: bool | None  # None: not known

    @property
    def changed(self) -> bool:
        """Whether the difference exceeds the noise."""
        ratio = self.ratio
        beyond = max(self.noise, 1.0)
        return ratio is not None and ratio.exceeds(1.0) and not 1 / beyond <= ratio.value <= beyond

    @property
    def verdict(self) -> str:
        """In a few words, such as "2.0x faster"."""
        if self.ratio is None:
            return "too few tasks"
        if not self.changed:
            return "unchanged"
        return f"{_factor(self.ratio.value)} {'slower' if self.ratio.value > 1 else 'faster'}"

    @property
    def words(self) -> str:
        """The verdict with its interval: "2.0x faster per task (95 % interval 1.8–2.2)"."""
        if self.ratio is None or not self.changed:
            return self.verdict
        return f"{self.verdict} per task (95 % interval {_interval(self.ratio, as_factor=True)})"


@dataclass(frozen=True)
class Comparison:
    """What `cellmill.compare` found: ``sentence`` is its conclusion, ``changes`` the functions' times, ``tables`` all
    figures, ``notes`` what they do not tell. Shows itself as text, and in notebooks as tables.
    """

    before: Side
    after: Side
    changes: tuple[Change, ...]  # of functions that both have
    wall_noise: float | None  # factor within which the wall times of single runs differ; None: nothing tells

    @cached_property
    def sentence(self) -> str:
        """The conclusion."""
        parts = [self._of_times(), self._of_functions(), *self._of_workers()]
        return ": ".join(part for part in (parts[0], ", ".join(part for part in parts[1:] if part)) if part)

    def _of_times(self) -> str:
        before, after = self.before.wall, self.after.wall
        first = f"{self.after.label} took {duration_text(after)}"
        other = f"{self.before.label} ({duration_text(before)})"
        ratio = after / before if before > 0 else 1.0
        if self.wall_noise is not None and 1 / self.wall_noise <= ratio <= self.wall_noise:
            return f"{first}, no different from {other} but for chance"
        if 1 / LEAST_CHANGE <= ratio <= LEAST_CHANGE:
            return f"{first}, about as long as {other}"
        return f"{first}, {_factor(ratio)} {'more' if ratio > 1 else 'less'} than {other}"

    def _of_functions(self) -> str:
        told = [change for change in self.changes if change.changed]
        few = [change for change in self.changes if change.ratio is None]
        rest = len(self.changes) - len(told) - len(few)
        parts = [f"{change.name} {change.words}" for change in told[:4]]
        parts += [f"{counted(len(told) - 4, 'more function')} changed"] if len(told) > 4 else []
        if rest:
            name = "the rest " if told or few else f"{self.changes[0].name} " if rest == 1 else ""
            parts.append(f"{name}unchanged" if told else f"{name}unchanged per task")
        if few:
            parts.append(f"too few tasks to tell of {_names(change.name for change in few)}")
        before, after = set(self.before.functions()), set(self.after.functions())
        parts += [f"{_names(sorted(after - before))} only in {self.after.label}"] if after - before else []
        parts += [f"{_names(sorted(before - after))} only in {self.before.label}"] if before - after else []
        return ", ".join(parts)

    def _of_workers(self) -> Iterator[str]:
        before, after = _backends(self.before), _backends(self.after)
        if before and after and before != after:
            yield f"with {after} instead of {before}"
        sizes = _sizes(self.before), _sizes(self.after)
        first, second = _workers(self.before), _workers(self.after)
        if sizes[0] != sizes[1] and all(sizes):
            yield f"with {counted(sizes[1], 'worker')} instead of {sizes[0]:,}"
        elif first and second and not 0.9 < second / first < 1.1:
            yield f"with {_number(second)} workers on average instead of {_number(first)}"
        # those that ran to an end: cancelled ones took none of the time
        few, many = (
            sum(run.succeeded + run.failed for run in side.runs) for side in (self.before, self.after)
        )
        if few != many:
            yield f"with {counted(many, 'task')} instead of {few:,}"

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What has to be known of the figures."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[str]:
        if self.wall_noise is None:
            yield (
                f"One run each: how much the wall time differs by chance is not known; {LEAST_ALIKE} or more runs of "
                "the same code on as many workers would tell."
            )
        else:
            yield (
                f"Wall times of runs like these differ by a factor of up to {self.wall_noise:.2f} by chance, by the "
                "runs alike that are remembered."
            )
        told = [change for change in self.changes if change.ratio is not None]
        if told:
            single = f"{100 * (LEAST_CHANGE - 1):.0f} %" if not all(each.repeated for each in told) else ""
            alike = "what runs alike differ by" if any(each.repeated for each in told) else ""
            yield (
                "The intervals are of the tasks of these runs. A change is called one where its interval does not "
                f"contain 1 and it exceeds {' or '.join(filter(None, (alike, single)))}."
            )
        failed = sum(run.failed for side in (self.before, self.after) for run in side.runs)
        if failed:
            yield "Tasks that failed with an error count among the times; their last attempt only."
        open_ones = [
            (side.label, run.ends)
            for side in (self.before, self.after)
            for run in side.runs
            if not run.finished
        ]
        if going := [label for label, ends in open_ones if not ends]:
            yield f"{_names(dict.fromkeys(going))} may still get tasks: the figures are those of now."
        if partial := [label for label, ends in open_ones if ends]:
            names = _names(dict.fromkeys(partial))
            yield f"The record of {names} ends before its run did: the figures are those up to there."
        silent = [
            side.label for side in (self.before, self.after) for run in side.runs if run.figures is None
        ]
        if silent:
            yield f"Of {_names(dict.fromkeys(silent))} the times of single tasks are not kept."

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """All figures: of both as a whole, then by function."""
        first = Table("", tuple(_whole(self.before, self.after)))
        before, after = self.before.functions(), self.after.functions()
        changes = {change.name: change for change in self.changes}
        names = list(dict.fromkeys([*before, *after]))
        names.sort(key=lambda name: name not in changes or not changes[name].changed)
        return (
            first,
            *(
                Table(name, tuple(_of_function(before.get(name, []), after.get(name, []), changes.get(name))))
                for name in names[:MOST_FUNCTIONS]
            ),
        )

    def __repr__(self) -> str:
        heads = ("", self.before.label, self.after.label, "")
        rows = [row for table in self.tables for row in table.rows]
        widths = [max(len(row[at]) for row in (heads, *rows)) for at in range(4)]

        def line(row: Sequence[str]) -> str:
            first, *others = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            return "  ".join([first.lstrip().ljust(widths[0]), *others[:-1], row[3]]).rstrip()

        blocks = [self.sentence + "."]
        for table in self.tables:
            head = [table.title] if table.title else []
            blocks.append("\n".join([*head, *map(line, (heads, *table.rows))]))
        return "\n\n".join([*blocks, "\n".join(self.notes)])

    def _repr_html_(self) -> str:
        tables = "".join(
            _html(table, self.before.label, self.after.label) for table in self.tables if table.rows
        )
        notes = "".join(f"<p><small>{escape(note)}</small></p>" for note in self.notes)
        return f"<p><b>{escape(self.sentence)}.</b></p>{tables}{notes}"


_CELL = 'style="text-align:right;padding:1px 0 1px 12px"'
_HEAD = 'style="text-align:left;padding:1px 12px 1px 0"'
_TEXT = 'style="text-align:left;padding:1px 0 1px 12px"'


def _html(table: Table, before: str, after: str) -> str:
    title = f"<caption {_HEAD}>{escape(table.title)}</caption>" if table.title else ""
    heads = f"<th scope=col {_CELL}>{escape(before)}</th><th scope=col {_CELL}>{escape(after)}</th>"
    rows = "".join(
        f"<tr><th scope=row {_HEAD}>{escape(what)}</th><td {_CELL}>{escape(first)}</td>"
        f"<td {_CELL}>{escape(second)}</td><td {_TEXT}>{escape(change)}</td></tr>"
        for what, first, second, change in table.rows
    )
    return f"<table>{title}<tr><td></td>{heads}<td></td></tr>{rows}</table>"


# -- rows


def _whole(before: Side, after: Side) -> Iterator[Row]:
    yield "wall time", duration_text(before.wall), duration_text(after.wall), _times(before.wall, after.wall)
    yield "backend", _backends(before) or "–", _backends(after) or "–", ""
    yield "workers", _number(_sizes(before)), _number(_sizes(after)), ""
    means = [_number(_workers(side)) for side in (before, after)]
    if means != [_number(_sizes(side)) for side in (before, after)]:
        yield "workers on average", means[0], means[1], ""
    shares = [_busy(side) for side in (before, after)]
    texts = ["–" if share is None else f"{100 * share:.0f} %" for share in shares]
    yield "workers busy", texts[0], texts[1], ""
    works = [sum(each.work for each in side.figures) for side in (before, after)]
    known = bool(before.figures), bool(after.figures)
    yield "time in your code", *_durations(works[0], works[1], known)
    sums = [_stages(side) for side in (before, after)]
    tasks = [sum(each.tasks for each in side.figures) for side in (before, after)]
    for name, words in _STAGES.items():
        first, second = (getattr(each, name) for each in sums)
        if name in _EACH:
            first, second = first / (tasks[0] or 1), second / (tasks[1] or 1)
        if first or second:
            yield words, *_durations(first, second, known)
    moved = [_moved(side) for side in (before, after)]
    for at, words in enumerate(("arguments", "results")):
        sizes = [None if each is None else each[at] for each in moved]
        if any(sizes):
            texts = ["–" if size is None else size_text(size) for size in sizes]
            yield words, texts[0], texts[1], _times(*(size or 0 for size in sizes)) if all(sizes) else ""


def _of_function(before: list[RunRecord], after: list[RunRecord], change: Change | None) -> Iterator[Row]:
    for what, field in (("done", "succeeded"), ("failed", "failed"), ("cancelled", "cancelled")):
        first, second = (sum(getattr(run, field) for run in runs) for runs in (before, after))
        if what == "done" or first or second:
            yield f"tasks {what}", _count(before, first), _count(after, second), ""
    times = [_task_times(before), _task_times(after)]
    for what, share in _QUANTILES.items():
        texts = [duration_text(each.quantile(share)) if each.count else "–" for each in times]
        yield what, texts[0], texts[1], change.verdict if change is not None and share == 0.5 else ""
    if change is not None and change.ratio is not None:
        what = "95 % interval of that" if change.changed else "95 % interval of the ratio"
        yield what, "", "", _interval(change.ratio, as_factor=change.changed)
    if change is not None and change.same_code is not None:
        yield "its code", "", "", "same" if change.same_code else "differs"


def _durations(before: float, after: float, known: tuple[bool, bool] = (True, True)) -> tuple[str, str, str]:
    """Both in words and their ratio; of a side that keeps no times none."""
    texts = (duration_text(before) if known[0] else "–", duration_text(after) if known[1] else "–")
    return *texts, _times(before, after) if all(known) else ""


def _times(before: float, after: float) -> str:
    ratio = after / before if before > 0 else 0.0
    return f"×{ratio:.{2 if ratio < 9.995 else 1 if ratio < 99.95 else 0}f}" if ratio else ""


def _factor(ratio: float) -> str:
    factor = max(ratio, 1 / ratio) if ratio > 0 else 1.0
    return f"{factor:.{0 if factor >= 9.95 else 1 if factor >= 1.45 else 2}f}x"


def _interval(ratio: Ratio, *, as_factor: bool) -> str:
    """The interval of a ratio; ``as_factor``: of how much faster or slower."""
    turned = as_factor and ratio.value < 1
    ends = (1 / ratio.high, 1 / max(ratio.low, 1e-9)) if turned else (ratio.low, ratio.high)
    digits = 0 if ends[0] >= 9.95 else 1 if ends[0] >= 1.45 else 2
    return "–".join(f"{end:.{digits}f}" for end in ends)


def _count(runs: list[RunRecord], count: int) -> str:
    return f"{count:,}" if runs else "–"


def _names(names: Iterable[str]) -> str:
    *most, last = list(names)
    if len(most) > 3:
        return f"{', '.join(most[:3])} and {len(most) - 2} more"
    return f"{', '.join(most)} and {last}" if most else last


# -- figures of a side


def _backends(side: Side) -> str:
    return ", ".join(dict.fromkeys(each.backend for each in side.figures))


def _sizes(side: Side) -> int:
    """Workers that there were to be."""
    return max((each.size for each in side.figures), default=0)


def _workers(side: Side) -> float:
    """Workers on average; runs beside each other share them."""
    return max((each.workers for each in side.figures), default=0.0)


def _number(workers: float) -> str:
    if not workers:
        return "–"
    if workers < 0.1:
        return "less than 0.1"
    whole = abs(workers - round(workers)) <= 0.1 and round(workers)
    return f"{workers:.0f}" if whole else f"{workers:.1f}"


def _busy(side: Side) -> float | None:
    """Share of the workers' time in user code; of several runs only where one has it."""
    known = [(run.busy, run.figures.work) for run in side.runs if run.busy and run.figures is not None]
    capacity = sum(work / busy for busy, work in known)
    return sum(work for _, work in known) / capacity if capacity else None


def _moved(side: Side) -> Moved | None:
    """Bytes of arguments and results; None where they are not known of a run."""
    known = [run.moved for run in side.runs if run.moved is not None]
    return Moved(*map(sum, zip(*known, strict=True))) if len(known) == len(side.runs) else None


def _stages(side: Side) -> Stages:
    return (
        Stages(*map(sum, zip(*(each.stages for each in side.figures), strict=True))) if side.figures else NONE
    )


NONE = Stages(*[0.0] * len(Stages._fields))


def _task_times(runs: Iterable[RunRecord]) -> TaskTimes:
    times = TaskTimes(())
    for run in runs:
        if run.figures is not None:
            times = times.together(TaskTimes(run.figures.steps))
    return times


# -- making one


def compare(before: Side, after: Side, history: Iterable[RunRecord]) -> Comparison:
    """Compare two sides; ``history``: runs among which those may be that are alike."""
    past = [run for run in history if run.finished and run.figures is not None]
    firsts, seconds = before.functions(), after.functions()
    changes = tuple(_change(name, firsts[name], seconds[name], past) for name in firsts if name in seconds)
    alone = len(before.runs) == len(after.runs) == 1
    walls = [[run.wall for run in group] for group in alike(before.runs + after.runs, past)] if alone else []
    return Comparison(before, after, changes, noise_of(walls))


def _change(name: str, before: list[RunRecord], after: list[RunRecord], past: list[RunRecord]) -> Change:
    times = _task_times(before), _task_times(after)
    groups = [[_task_times([run]).median for run in group] for group in alike((before[-1], after[-1]), past)]
    noise = noise_of(groups)
    codes = {run.code for run in before}, {run.code for run in after}
    return Change(
        name,
        *times,
        ratio_of(*times),
        LEAST_CHANGE if noise is None else noise,
        noise is not None,
        same_code(*codes),
    )
