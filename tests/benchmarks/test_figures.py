"""The table of figures: what is read from reports, what counts as met, and a run of every part with tiny sizes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks import figures, goals
from cellmill.bench.harness import BenchmarkError, Metric, Report, Result, Settings

SETTINGS = Settings(quick=True, repeats=1, rivals=("ppe", "pool"))


def _report(benchmark: str, metric: str, medians: dict[str, float], better: Any = "higher") -> Report:
    measured = Metric(metric, "measured", "things/s", better)
    report = Report(benchmark, "Why?", SETTINGS, {}, [measured], {who: who.upper() for who in medians})
    report.results = [Result(measured, who, (value,)) for who, value in medians.items()]
    return report


def test_goals_name_what_the_benchmarks_measure() -> None:
    measured = {
        (part.benchmark, metric.key)
        for part in figures.PARTS
        for metric in benchmarks.load(part.benchmark).metrics(
            {**benchmarks.load(part.benchmark).full, **part.full}
        )
    }
    for goal in goals.GOALS:
        assert {(benchmark, metric) for benchmark, metric, _ in goal.shown} <= measured, goal.what
    reports = [
        _report(benchmark, metric, dict.fromkeys(_contenders(benchmark), 2.0))
        for benchmark, metric in measured
    ]
    table = figures.read(SETTINGS, reports)
    empty = [row.goal.what for row in table.rows if row.value is None]
    assert empty == [], "a row reads a metric that no part measures"


def _contenders(benchmark: str) -> set[str]:
    return {who for part in figures.PARTS if part.benchmark == benchmark for who in part.runtimes}


def test_parts_are_contenders_and_sizes_of_their_benchmarks() -> None:
    for part in figures.PARTS:
        benchmark = benchmarks.load(part.benchmark)
        assert set(part.runtimes) <= set(benchmark.runtimes)
        assert {*part.full, *part.quick} <= set(benchmark.full)


def test_ratios_and_medians_are_read() -> None:
    reports = [
        _report("throughput", "submit", {"cellmill": 300.0, "ppe": 10.0}),
        _report("latency", "after_idleness_p50", {"cellmill": 100.0, "ppe": 350.0}, "lower"),
    ]
    assert goals.times("throughput", "submit", "ppe")(reports) == 30
    assert goals.times("latency", "after_idleness_p50", "ppe")(reports) == 3.5
    assert goals.median("throughput", "submit", scale=0.5)(reports) == 150
    assert goals.median("throughput", "map")(reports) is None
    assert goals.times("throughput", "submit", "ray")(reports) is None


def test_journeys_cost_their_time_over_that_of_a_task() -> None:
    reports = [
        _report("scheduler-alone", "journeys", {"cellmill": 150.0, "journeyless": 100.0}, "lower"),
        _report("throughput", "submit", {"cellmill": 400_000.0}),
    ]
    assert goals.journeys_cost(reports) == pytest.approx(2.0)  # 50 ns of 2,500
    assert goals.journeys_cost(reports[:1]) is None


@pytest.mark.parametrize(
    ("better", "value", "met"),
    [("higher", 5.0, True), ("higher", 4.9, False), ("lower", 5.0, True), ("lower", 5.1, False)],
)
def test_what_counts_as_met(better: Any, value: float, met: bool) -> None:
    goal = goals.Goal("a", "b", better, 5.0, "x", lambda reports: value)
    assert figures.Row(goal, value, "").met is met
    assert figures.Row(goal, None, "").met is None


def test_the_text_says_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = goals.Goal(
        "first", "PPE", "higher", 20, "x", goals.times("throughput", "submit", "ppe"), "bound by light",
        (("throughput", "submit", "ppe"),),
    )  # fmt: skip
    slow = replace(fast, what="second", wanted=40.0, note="", shown=())
    absent = replace(fast, what="third", reached=lambda reports: None)
    monkeypatch.setattr(figures, "GOALS", (fast, slow, absent))
    report = _report("throughput", "submit", {"cellmill": 300.0, "ppe": 10.0})
    report.skipped["ppe"] = "not installed"
    lines = figures.text(figures.read(SETTINGS, [report], {"chain": "no chain here"})).splitlines()
    assert lines[3].split() == ["1", "first", "PPE", ">=", "20.0", "x", "30.0", "x", "met"]
    assert lines[4].split()[-4:] == ["30.0", "x", "NOT", "MET"]
    assert lines[5].split()[-2:] == ["not", "measured"]
    assert "1: PPE 10.0 things/s. Bound by light." in lines
    assert "1 met, 1 not met, 1 not measured." in lines
    assert "Skipped: PPE: not installed" in lines
    assert "Not run: chain: no chain here" in lines


TINY = {
    "throughput": {"seconds": 0.01, "most": 400, "most_bare": 2000, "most_map": 2000, "most_arrays": 4},
    "memory": {"tasks": 500, "gc_seconds": 0.01, "soak_rounds": 2, "soak_tasks": 1000},
}


def test_parts_are_measured_and_one_that_cannot_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    measure = figures.collect

    def collect(benchmark: Any, question: str, settings: Settings, sizes: Any) -> Report:
        if benchmark.name == "chain":
            raise BenchmarkError("no chain here")
        return measure(benchmark, question, settings, TINY[benchmark.name])

    monkeypatch.setattr(figures, "collect", collect)
    enough = {"cellmill", "ppe", "soak"}  # the others, and memory beside a pool, have tests of their own
    parts = tuple(
        replace(part, runtimes=tuple(who for who in part.runtimes if who in enough))
        for part in figures.PARTS
        if part.benchmark in {"chain", "throughput"} or part.runtimes == ("soak",)
    )
    monkeypatch.setattr(figures, "PARTS", parts)
    found = figures.run(replace(SETTINGS, repeats=2))
    found.write(tmp_path / "deep" / "figures.json")
    written = json.loads((tmp_path / "deep" / "figures.json").read_text())
    assert (written["benchmark"], len(written["rows"])) == ("figures", len(goals.GOALS))
    assert written["failed"] == {"chain": "no chain here"}
    assert [report["settings"]["repeats"] for report in written["reports"]] == [2, 1]
    reached = {(row["what"], row["rival"]): row for row in written["rows"]}
    assert all((row["met"] is None) == (row["reached"] is None) for row in reached.values())
    assert reached["memory over ten rounds of 1 M tasks", "its first five rounds"]["reached"] >= 0
    assert reached["no-op submit, one future each", "Ray"]["reached"] is None
    submit = reached["no-op submit, one future each", "ProcessPoolExecutor"]
    throughput = written["reports"][0]["results"]
    rates = {row["runtime"]: row["median"] for row in throughput if row["metric"] == "submit"}
    assert submit["reached"] == pytest.approx(rates["cellmill"] / rates["ppe"])
    assert submit["met"] is (submit["reached"] >= 20)
    _check_page(found, tmp_path / "figures.html")


def _check_page(found: figures.Figures, path: Path) -> None:
    pytest.importorskip("bokeh")
    from benchmarks.figures_page import write_page

    write_page(found, path)
    text = path.read_text()
    assert "no-op submit, one future each" in text
    assert "<script src=" not in text
