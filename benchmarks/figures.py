"""Every figure that Cellmill wants to reach, in one table: wanted, reached, met or not, and what bounds it.

Measures what it needs of the other benchmarks (or takes what they just measured), rivals side by side with Cellmill.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cellmill.bench.command import Summary
from cellmill.bench.harness import OURS, BenchmarkError, Settings, collect, figure
from cellmill.bench.turn import Sizes

from . import INDEX, load
from .goals import GOALS, Goal, Reports, result

NAME = "figures"
QUESTION = "Every figure that Cellmill wants to reach: wanted, reached, and what bounds it"
_WIDTH = 110


@dataclass(frozen=True, slots=True)
class Part:
    """What is needed of one benchmark: contenders, sizes other than its own, repetitions other than asked for."""

    benchmark: str
    runtimes: tuple[str, ...]
    full: Sizes = field(default_factory=dict)
    quick: Sizes = field(default_factory=dict)
    repeats: int | None = None


_NO_GRAPHS: Sizes = {"graphs": [], "workers": [1], "rounds": 1}
PARTS = (
    Part(
        "throughput", (OURS, "bare-ring", "csched", "ppe", "pool", "dask", "ray", "parsl"), {"seconds": 0.5}
    ),
    Part(
        "latency",
        (OURS, "bare-pipe", "ppe"),
        {"seconds": 0.5, "idle_trips": 3, "watch_s": 1.0},
        {"idle_trips": 1},
    ),
    Part(
        "payload",
        (OURS, "bare-copy", "ppe", "joblib"),
        {"bytes": [10**8], "seconds": 0.4, "least": 3, "read_tasks": 0},
        {"bytes": [10**6]},
    ),
    Part(
        "granularity",
        (OURS,),
        {"durations_us": [100, 1000, 10_000], "seconds": 0.3, "sweep": []},
        {"sweep": []},
    ),
    Part(
        "granularity",
        (OURS, "bare-ring", "ppe", "dask", "ray"),
        {"durations_us": [], "sweep_seconds": 0.15},
        {"durations_us": []},
    ),
    Part("memory", (OURS, "ppe"), {"tasks": 50_000, "gc_seconds": 0.01}, {"tasks": 5000}),
    Part("memory", ("soak",), repeats=1),
    Part("workers", (OURS,)),
    Part("scheduler-alone", (OURS, "journeyless"), _NO_GRAPHS, _NO_GRAPHS),
    Part(
        "scheduler-alone",
        (OURS, "python"),
        {**_NO_GRAPHS, "tasks": 200_000, "depth": 17, "width": 300, "steps": 700},
        _NO_GRAPHS,
    ),
    Part("chain", (OURS, "dask", "ray")),
)
"""In this order: a figure that two parts measure is read from the first."""


@dataclass(frozen=True, slots=True)
class Row:
    """A goal and what was reached; None: not measured."""

    goal: Goal
    value: float | None
    beside: str

    @property
    def met(self) -> bool | None:
        """Whether it is good enough; None when it was not measured."""
        return None if self.value is None else self.goal.met(self.value)


@dataclass(frozen=True, slots=True)
class Figures:
    """All rows, and the reports they were read from."""

    settings: Settings
    rows: list[Row]
    reports: Reports
    failed: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """The rows, and the JSON of every report."""
        rows = []
        for row in self.rows:
            goal = row.goal
            found = {"what": goal.what, "rival": goal.rival, "better": goal.better, "wanted": goal.wanted}
            found |= {"unit": goal.unit, "reached": row.value, "met": row.met, "note": goal.note}
            rows.append(found | {"beside": row.beside})
        return {
            "format": 1,
            "benchmark": NAME,
            "question": QUESTION,
            "settings": asdict(self.settings),
            "rows": rows,
            "failed": self.failed,
            "reports": [report.as_json() for report in self.reports],
        }

    def write(self, path: Path) -> None:
        """Write the JSON; folders are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")


def run(settings: Settings) -> Figures:
    """Measure all parts, then read the rows; a part that cannot run here is named and its rows stay empty."""
    reports, failed = [], {}
    for part in PARTS:
        benchmark = replace(load(part.benchmark), runtimes=part.runtimes)
        how = replace(settings, repeats=min(part.repeats or settings.repeats, settings.repeats))
        sizes = part.quick if settings.quick else part.full
        try:
            reports.append(collect(benchmark, INDEX[part.benchmark], how, sizes))
        except BenchmarkError as error:
            failed[part.benchmark] = str(error)
    return read(settings, reports, failed)


def read(settings: Settings, reports: Reports, failed: dict[str, str] | None = None) -> Figures:
    """The rows that these reports tell."""
    rows = [Row(goal, goal.reached(reports), _beside(goal, reports)) for goal in GOALS]
    return Figures(settings, rows, reports, failed or {})


def _beside(goal: Goal, reports: Reports) -> str:
    """Figures of the same run to hold the row against."""
    said = []
    for benchmark, metric, runtime in goal.shown:
        found = result(reports, benchmark, metric, runtime)
        if found is not None:
            titles = next(r.titles for r in reports if found in r.results)
            unit = f"{found.metric.unit}, {metric}" if runtime == OURS else found.metric.unit
            said.append(f"{titles[runtime]} {figure(found.median)} {unit}")
    return "; ".join(said)


def text(figures: Figures) -> str:
    """One table, then the notes by number, then what was skipped and how it was measured."""
    rows: list[tuple[str, ...]] = [("", "", "against", "wanted", "reached", "")]
    for number, row in enumerate(figures.rows, 1):
        goal = row.goal
        sign = ">=" if goal.better == "higher" else "<="
        wanted = f"{sign} {figure(goal.wanted)} {goal.unit}"
        reached = "not measured" if row.value is None else f"{figure(row.value)} {goal.unit}"
        verdict = {True: "met", False: "NOT MET", None: ""}[row.met]
        rows.append((str(number), goal.what, goal.rival, wanted, reached, verdict))
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    lines = [QUESTION, ""]
    for cells in rows:
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())
    lines.append("")
    for number, row in enumerate(figures.rows, 1):
        note = row.goal.note[:1].upper() + row.goal.note[1:]
        said = [part for part in (row.beside, note) if part]
        if said and row.value is not None:
            lines += _wrapped(f"{number}: {'. '.join(said)}.")
    lines.append("")
    for sentence in _how(figures):
        lines += _wrapped(sentence)
    return "\n".join(lines)


def _how(figures: Figures) -> list[str]:
    """How it was measured, on what, and what is missing."""
    settings = figures.settings
    met = [row.met for row in figures.rows]
    said = [f"{met.count(True)} met, {met.count(False)} not met, {met.count(None)} not measured."]
    if figures.reports:
        about = figures.reports[0]
        load_before = about.machine.get("load_before")
        said.append(
            f"{settings.workers} workers; median of {settings.repeats}, each runtime in fresh processes in turn; "
            f"{about.machine.get('cpu', '?')}, {about.machine.get('cores', '?')} cores, load before "
            f"{'?' if load_before is None else figure(load_before)}; commit {about.commit or 'unknown'}."
        )
    skipped = {report.titles[key]: why for report in figures.reports for key, why in report.skipped.items()}
    said += [f"Skipped: {name}: {why}" for name, why in skipped.items()]
    said += [f"Not run: {name}: {why}" for name, why in figures.failed.items()]
    if settings.quick:
        said.append("Quick run: small sizes, not for quoting.")
    return said


def _wrapped(sentence: str) -> Sequence[str]:
    return textwrap.wrap(sentence, _WIDTH, subsequent_indent="  ", break_long_words=False)


def _make(settings: Settings, reports: Reports) -> Figures:
    return read(settings, reports) if reports else run(settings)


SUMMARY = Summary(f"{QUESTION}, in minutes", _make, text, f"{__package__}.figures_page")
