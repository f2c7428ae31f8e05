"""The common part of all benchmarks: interleaved repetition, results with ratios, the table, the JSON.

A benchmark is measured in *turns*: one runtime, in a fresh process of its own (see `turn`), measuring every metric
once. Turns of the runtimes alternate A/B/C/A/B/C, so that whatever else the machine does meets all of them.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from . import machine, rivals
from . import turn as turns
from .turn import Sizes

OURS = "cellmill"


class BenchmarkError(Exception):
    """A benchmark cannot run here; the message says what is missing and how to get it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the command line. ``rivals`` None: all that are installed."""

    quick: bool = False
    repeats: int = 5
    workers: int = 2
    rivals: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """Something that is measured; ``key`` is its name in the JSON."""

    key: str
    title: str
    unit: str
    better: Literal["higher", "lower"] = "higher"


@dataclass(frozen=True, slots=True)
class Result:
    """One metric of one runtime: the values of all turns."""

    metric: Metric
    runtime: str
    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """Middle value."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """Smallest value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Largest value."""
        return max(self.values)


Prepare = Callable[[Settings, dict[str, Any], Path], None]
Finish = Callable[["Report"], None]


def _nothing_to_prepare(settings: Settings, sizes: dict[str, Any], folder: Path) -> None:
    pass


def _nothing_to_add(report: Report) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A question as data. Its module also has ``turn(runtime, workers, sizes) -> Turn``.

    ``runtimes`` are keys of `rivals.RUNTIMES`, such a key with a variant (``ppe:100``), or the benchmark's own
    contenders; ``own`` has the titles of the last two. ``prepare`` may add to the sizes and write files into a folder
    that lives as long as the run; ``finish`` may add notes and a summary. ``once``: one repetition
    is enough, because outcomes are told and not times. ``missing`` says why a contender cannot be measured here.
    """

    name: str
    module: str
    metrics: Callable[[Sizes], list[Metric]]
    runtimes: tuple[str, ...]
    full: Sizes
    quick: Sizes
    notes: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    missing: Callable[[str], str | None] = rivals.missing
    prepare: Prepare = _nothing_to_prepare
    finish: Finish = _nothing_to_add
    once: bool = False


@dataclass(slots=True)
class Report:
    """Everything a run of a benchmark found."""

    benchmark: str
    question: str
    settings: Settings
    sizes: dict[str, Any]
    metrics: list[Metric]
    titles: dict[str, str]
    results: list[Result] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    summary: str = ""  # text that is shown before the table
    turns: list[dict[str, Any]] = field(default_factory=list)
    created: str = ""
    seconds: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    commit: str | None = None

    def result(self, metric: str, runtime: str) -> Result | None:
        """The result of one runtime, if it measured this metric."""
        return next((r for r in self.results if r.metric.key == metric and r.runtime == runtime), None)

    def ratio(self, result: Result) -> float | None:
        """Return Cellmill's median over this one, or its inverse where less is better: above 1, Cellmill is better."""
        ours = self.result(result.metric.key, OURS)
        if ours is None or ours is result:
            return None
        one, other = ours.median, result.median
        if result.metric.better == "lower":
            one, other = other, one
        return one / other if other else None

    def as_json(self) -> dict[str, Any]:
        """The report in JSON values."""
        rows = []
        for r in self.results:
            row = {"metric": r.metric.key, "title": r.metric.title, "unit": r.metric.unit}
            row |= {"better": r.metric.better, "runtime": r.runtime, "name": self.titles[r.runtime]}
            figures = {"median": r.median, "min": r.low, "max": r.high, "values": list(r.values)}
            rows.append(row | figures | {"cellmill_is_better_by": self.ratio(r)})
        return {
            "format": 1,
            "benchmark": self.benchmark,
            "question": self.question,
            "created": self.created,
            "seconds": round(self.seconds, 1),
            "commit": self.commit,
            "machine": self.machine,
            "versions": self.versions,
            "settings": asdict(self.settings),
            "sizes": self.sizes,
            "results": rows,
            "skipped": self.skipped,
            "notes": self.notes,
            "summary": self.summary,
            "turns": self.turns,
        }

    def write(self, path: Path) -> None:
        """Write the JSON; folders are made."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_json(), indent=1) + "\n", encoding="utf-8")


class Progress:
    """One line on stderr about what is being measured; on a terminal it is rewritten in place."""

    def __init__(self, name: str, total: int) -> None:
        self._name = name
        self._total = total
        self._start = self._shown = time.monotonic()
        self._tty = sys.stderr.isatty()

    def show(self, done: int, what: str) -> None:
        """Say what is under way; without a terminal at most every two seconds."""
        now = time.monotonic()
        if not self._tty and now - self._shown < 2:
            return
        self._shown = now
        line = f"{self._name}: {done} of {self._total} turns, {now - self._start:.0f} s; now {what}"
        print(
            f"\r{line:<78}\x1b[K" if self._tty else line,
            end="" if self._tty else "\n",
            file=sys.stderr,
            flush=True,
        )

    def clear(self) -> None:
        """Leave the terminal as it was."""
        if self._tty:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def collect(benchmark: Benchmark, question: str, settings: Settings, sizes: Sizes | None = None) -> Report:
    """Run all turns of a benchmark, alternating between the runtimes; raises `BenchmarkError`."""
    if benchmark.once:
        settings = replace(settings, repeats=1)
    chosen = {**(benchmark.quick if settings.quick else benchmark.full), **(sizes or {})}
    titles = {key: benchmark.own.get(key) or rivals.title(key) for key in benchmark.runtimes}
    report = Report(benchmark.name, question, settings, chosen, benchmark.metrics(chosen), titles)
    report.machine = machine.describe()
    start = time.monotonic()
    alive = _contenders(benchmark, settings, report)
    progress = Progress(benchmark.name, settings.repeats * len(alive))
    with tempfile.TemporaryDirectory(prefix="cellmill-bench-") as folder:
        progress.show(0, "preparing")
        benchmark.prepare(settings, chosen, Path(folder))
        for repetition in range(settings.repeats):
            for runtime in list(alive):
                progress.show(len(report.turns), titles[runtime])
                try:
                    turn = _launch(benchmark, report, runtime, Path(folder))
                except turns.TurnError as error:
                    if not rivals.is_rival(runtime):
                        progress.clear()
                        raise BenchmarkError(f"{titles[runtime]} failed: {error}") from None
                    report.skipped[runtime] = f"failed: {error}"
                    alive.remove(runtime)
                    continue
                report.turns.append({"runtime": runtime, "repetition": repetition, **asdict(turn)})
    progress.clear()
    report.results = _results(report)
    report.seconds = time.monotonic() - start
    report.created = datetime.now(UTC).isoformat(timespec="seconds")
    report.versions = machine.versions(rivals.package(key) for key in benchmark.runtimes)
    report.commit = machine.commit()
    report.notes.extend(benchmark.notes)
    benchmark.finish(report)
    return report


def _launch(benchmark: Benchmark, report: Report, runtime: str, folder: Path) -> turns.Turn:
    """Measure one turn; one that fails is tried once more, which the report tells: clusters may fail to start."""
    order = (benchmark.module, runtime, report.settings.workers, report.sizes, folder)
    try:
        return turns.launch(*order)
    except turns.TurnError as error:
        report.notes.append(f"A turn of {report.titles[runtime]} failed and was made again: {error}")
        return turns.launch(*order)


def _contenders(benchmark: Benchmark, settings: Settings, report: Report) -> list[str]:
    """The runtimes to measure: those asked for and installed; the others are noted as skipped."""
    alive = []
    for key in benchmark.runtimes:
        if rivals.is_rival(key) and settings.rivals is not None and rivals.kind(key) not in settings.rivals:
            continue
        missing = benchmark.missing(key)
        if missing is None:
            alive.append(key)
        else:
            report.skipped[key] = missing
    return alive


def _results(report: Report) -> list[Result]:
    """Values of the turns by metric, then by runtime in the order of the benchmark."""
    results = []
    for metric in report.metrics:
        for runtime in report.titles:
            turns = [t["values"] for t in report.turns if t["runtime"] == runtime]
            values = tuple(float(v[metric.key]) for v in turns if metric.key in v)
            if values:
                results.append(Result(metric, runtime, values))
    return results


def figure(value: float) -> str:
    """A number for people: about three significant digits, thousands separated."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.3g}"


def table(report: Report) -> str:
    """The report as text: one table, then what was skipped and what is to be known."""
    rows = [("", "", "median", "min", "max", "cellmill is")]
    for metric in report.metrics:
        title = f"{metric.title}, {metric.unit}"
        for result in (r for r in report.results if r.metric == metric):
            ratio = report.ratio(result)
            by = "" if ratio is None else f"{figure(ratio)}x"
            numbers = (figure(result.median), figure(result.low), figure(result.high))
            rows.append((title, report.titles[result.runtime], *numbers, by))
            title = ""
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    lines = [report.question, ""]
    if report.summary:
        lines += [report.summary, ""]
    for row in rows:
        cells = [row[i].ljust(widths[i]) if i < 2 else row[i].rjust(widths[i]) for i in range(6)]
        lines.append("  ".join(cells).rstrip())
    lines.append("")
    settings = report.settings
    where = f"{report.machine.get('cpu', '?')}, {report.machine.get('cores', '?')} cores"
    how = f"{settings.workers} workers; median of {settings.repeats}, each runtime in fresh processes in turn; {where}."
    said = [f"{how} 'cellmill is': how many times as good Cellmill's median is."]
    said += [f"Note: {note}" for note in report.notes]
    said += [f"Skipped: {report.titles[key]}: {why}" for key, why in report.skipped.items()]
    if settings.quick:
        said.append("Quick run: small sizes, not for quoting.")
    for text in said:
        lines += textwrap.wrap(text, 110, subsequent_indent="  ", break_long_words=False)
    return "\n".join(lines)
