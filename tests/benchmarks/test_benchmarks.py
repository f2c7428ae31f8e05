"""Every benchmark of the laboratory runs with tiny sizes and yields the rows it promises, ceilings among them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import benchmarks
from benchmarks import gil_graphs, queues, scheduler_alone
from tests.bench import tiny
from tests.bench.tiny import Tiny

SIZES = {
    **tiny.TINY,
    "throughput": {**tiny.TINY["throughput"], "most_bare": 2000},
    "scheduler-alone": {
        "tasks": 3000,
        "depth": 5,
        "width": 5,
        "steps": 5,
        "graphs": [],
        "workers": [2],
        "merge": 100,
    },
    "chain": {"links": 20, "computing_seconds": 0.05, "chains": 1},
    "graphs": {"tasks": 40, "durations_us": [500], "threads": [2], "rounds": 1, "graph_threads": 2},
    "queues": {"workers": [3], "seconds": 0.01, "most": 400, "uneven_tasks": 40},
    "advice": {"times": 1, "runs": ["two tasks on two workers"]},
    "taps": {"matrix": 40, "block": 20, "files": 2, "words": 50, "start": 4, "rounds": 1, "batch": 1},
    "joblib-calls": {"calls": 40, "alone": 20, "few": 4, "arrays": 2, "rounds": 1},
    "dask-workers": {"merge": 20, "answering": [1, 2], "milliseconds": [1], "sleeping": [2]},
    "parsl-time": {"apps": 20, "alone": 3},
    "dask-graphs": {"replay": ["merge-20", "tree-3"], "empty": ["merge-10"], "program": ["bag-2", "numpy-4"]},
    "parsl-apps": {"apps": 10, "links": 2, "rounds": 1},
    "memo-hits": {"hits": 3},
    "checkpoints": {"elements": 20, "tasks": 4},
    "records": {"tasks": 300, "pairs": 1},
    "screens": {"workers": 2, "per_round": 4, "rounds": 1, "library": 40, "seconds": 0.02},
    "producers": {"values": 2, "bytes": 2_000_000},
    "tagging": {"tasks": 100, "single_tasks": 50},
    "watching": {"looks": 2, "seconds": 0.2, "start_seconds": 0.2},
    "profile": {"tasks": 200, "iterations": 100, "long_tasks": 4, "pairs": 1},
    "speedup": {"sleep": 0.002, "rounds": 1000},
    "faults": {
        "tasks": 1000,
        "kills": 3,
        "rate_tasks": 200,
        "replaced": 2,
        "limit_s": 20,
        "later_s": 1.0,
        "run_s": 2.0,
    },
}
KILLS = {"kills_seconds", "kills_lost", "kills_wrong", "kills_leaks"}
GUARDED = {"replaced_ms", "guarded_submit", "guarded_map", "limited_submit", "limited_map", "print_us"}
ONLY = {
    **tiny.ONLY,
    ("latency", "bare-pipe"): {"after_idleness_p50"},
    ("granularity", "bare-ring"): {"metg_submit"},
    ("throughput", "bare-ring"): {"submit"},
    ("throughput", "csched"): {"submit"},
    ("payload", "bare-copy"): {"stream"},
    ("faults", "kills"): KILLS,
    ("faults", "guarded"): GUARDED,
    ("scheduler-alone", "python"): {"independent", "tree", "stencil", "stencil_edges"},
    ("scheduler-alone", "journeyless"): {"journeys"},
}
WITHOUT = {
    **tiny.WITHOUT,
    ("graphs", "thread-pool"): {"gil", *gil_graphs.SUITE},  # it knows no dependencies
    ("tagging", "flood"): {"caller_mean"},
    ("faults", "cellmill"): KILLS | GUARDED,
    ("tagging", "window"): {"caller_mean"},
}
MAY_BE_ZERO = {
    *tiny.MAY_BE_ZERO,
    *("cpu_other_threads", "crash_lost", "stop_running", "stop_queued", "left_soon", "left_later"),
    "missing",
    *("kills_lost", "kills_wrong", "kills_leaks"),
    *("top", "top_program", "dashboard", "dashboard_program"),
}
_TINY = Tiny(benchmarks, SIZES, ONLY, WITHOUT, MAY_BE_ZERO)


def test_every_benchmark_has_sizes_here_that_it_knows() -> None:
    _TINY.check_sizes()


@pytest.mark.parametrize(
    ("name", "ceilings"),
    [
        ("throughput", {"bare-ring", "csched"}),
        ("latency", {"bare-pipe"}),
        pytest.param("payload", {"bare-copy"}, marks=pytest.mark.long),
        pytest.param("granularity", {"bare-ring"}, marks=pytest.mark.long),
    ],
)
def test_ceilings_are_measured_beside_cellmill(name: str, ceilings: set[str], tmp_path: Path) -> None:
    found = _TINY.ran(name, tmp_path, rivals=())
    _TINY.check(found, name, _TINY.promised(name, ceilings | {"cellmill"}))
    assert not found["skipped"]


@pytest.mark.parametrize(
    ("name", "contenders"),
    [
        ("chain", {"cellmill"}),
        ("records", {"cellmill"}),
        pytest.param("screens", {"cellmill", "barrier"}, marks=pytest.mark.long),
        pytest.param("watching", set(), marks=pytest.mark.long),
    ],
)
def test_benchmark_of_cellmill_alone(name: str, contenders: set[str], tmp_path: Path) -> None:
    if name == "screens":
        pytest.importorskip("rdkit")
        pytest.importorskip("sklearn")
    contenders = contenders or set(benchmarks.load(name).runtimes)
    _TINY.check(_TINY.ran(name, tmp_path, rivals=()), name, _TINY.promised(name, contenders))


def test_scheduler_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sources: nothing can be compiled without journeys. With them it is in test_scheduler_alone."""
    monkeypatch.setattr(scheduler_alone, "SOURCES", tmp_path)
    found = _TINY.ran("scheduler-alone", tmp_path)
    contenders = set(benchmarks.load("scheduler-alone").runtimes)
    rows = {(who, key) for who, key in _TINY.promised("scheduler-alone", contenders) if key != "journeys"}
    _TINY.check(found, "scheduler-alone", rows)


def test_graphs(tmp_path: Path) -> None:
    _TINY.check(
        _TINY.ran("graphs", tmp_path, rivals=()),
        "graphs",
        _TINY.promised("graphs", {"cellmill", "thread-pool"}),
    )


def test_taps(tmp_path: Path) -> None:
    benchmark = benchmarks.load("taps")
    if benchmark.missing("cellmill"):
        pytest.skip(str(benchmark.missing("cellmill")))
    found = _TINY.ran("taps", tmp_path)
    _TINY.check(found, "taps", _TINY.promised("taps", set(benchmark.runtimes)))


EVERY = benchmarks.load("queues").runtimes
KNOWN = {"policy:least-loaded", "policy:round-robin", "policy:random"}


@pytest.mark.parametrize(
    "runtimes",
    [
        ("cellmill", "policy:random", queues.SHARED, queues.OWN),
        pytest.param(EVERY, marks=pytest.mark.long),
    ],
    ids=len,
)
def test_queues_with_the_policies_that_the_scheduler_has(
    runtimes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    some = replace(benchmarks.load("queues"), runtimes=runtimes)
    monkeypatch.setattr(benchmarks, "load", lambda name: some)
    found = _TINY.ran("queues", tmp_path, rivals=())
    assert set(found["skipped"].values()) <= {"the scheduler has no such policy"}
    _TINY.check(found, "queues", _TINY.promised("queues", set(runtimes) - set(found["skipped"])))
    assert {key for key in EVERY if queues.missing(key) is None} >= KNOWN


def test_intervals_of_tasks_add_up(tmp_path: Path) -> None:
    found = _TINY.ran("tagging", tmp_path, rivals=())
    _TINY.check(found, "tagging", _TINY.promised("tagging", set(benchmarks.load("tagging").runtimes)))
    values = {(row["runtime"], row["metric"]): row["median"] for row in found["results"]}
    gaps = {key.removesuffix("_share") for who, key in values if key.endswith("_share")}
    assert len(gaps) == 7
    for load in ("flood", "window", "single"):
        whole = values[load, "whole_mean"]
        assert sum(values[load, f"{gap}_mean"] for gap in gaps) == pytest.approx(whole)
        assert sum(values[load, f"{gap}_share"] for gap in gaps) == pytest.approx(100)
        assert all(values[load, f"{gap}_p50"] <= values[load, f"{gap}_p99"] for gap in gaps)
    assert values["single", "caller_mean"] >= values["single", "whole_mean"]


@pytest.mark.long
def test_faults(tmp_path: Path) -> None:
    found = _TINY.ran("faults", tmp_path, rivals=())
    _TINY.check(found, "faults", _TINY.promised("faults", {"cellmill", "guarded", "kills"}))
    values = {row["metric"]: row["median"] for row in found["results"]}
    assert (values["redefined"], values["printed"]) == (1, 100)
    for nothing in ("crash_lost", "stop_running", "stop_queued", "kills_wrong", "kills_leaks"):
        assert values[nothing] == 0, nothing
    assert "40 of 40 here" in found["summary"]
    assert "Random kills: 1,000 tasks, 3 kills" in found["summary"]
