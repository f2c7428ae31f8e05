"""Every benchmark runs with tiny sizes, against the standard library's pools, and yields the rows it promises.

What they measure is not judged here: only that everything is there, positive, well formed and consistent.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cellmill import bench
from cellmill.bench import gil_graphs, scheduler_alone, stores
from cellmill.bench.harness import Report, Settings, table

POOLS = ("cellmill", "ppe", "pool")
TINY: dict[str, dict[str, Any]] = {
    "throughput": {"seconds": 0.01, "most": 400, "most_bare": 2000, "most_map": 2000, "most_arrays": 4},
    "latency": {"seconds": 0.01, "idle_s": 0.01, "idle_trips": 1, "watch_s": 0.05},
    "payload": {
        "bytes": [10_000, 200_000],
        "seconds": 0.01,
        "least": 1,
        "stream_bytes": 100_000,
        "most": 40,
        "read_tasks": 8,
        "read_bytes": 100_000,
    },
    "granularity": {"durations_us": [10, 1000], "seconds": 0.01, "sweep_seconds": 0.005, "most": 2000},
    "memory": {"tasks": 500, "gc_seconds": 0.01, "soak_rounds": 2, "soak_tasks": 1000},
    "workers": {"workers": [1, 3], "seconds": 0.01, "most": 400, "most_map": 2000},
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
    "queues": {"workers": [1, 3], "seconds": 0.01, "most": 400, "uneven_tasks": 40},
    "tagging": {"tasks": 100, "single_tasks": 50},
    "cold-start": {"together": 3, "library": "sqlite3"},
    "faults": {
        "tasks": 1000,
        "kills": 3,
        "rate_tasks": 200,
        "replaced": 2,
        "limit_s": 20,
        "later_s": 1.0,
        "run_s": 2.0,
    },
    "clusters": {"tasks": 500, "engine_tasks": 20},
    "docking": {"molecules": 200, "serial_molecules": 50, "slow_molecules": 50},
}
KILLS = {"kills_seconds", "kills_lost", "kills_wrong", "kills_leaks"}
GUARDED = {"replaced_ms", "guarded_submit", "guarded_map", "limited_submit", "limited_map", "print_us"}
ONLY: dict[tuple[str, str], set[str]] = {
    ("latency", "bare-pipe"): {"after_idleness_p50"},
    ("granularity", "bare-ring"): {"metg_submit"},
    ("throughput", "bare-ring"): {"submit"},
    ("throughput", "csched"): {"submit"},
    ("payload", "bare-copy"): {"stream"},
    ("memory", "soak"): {"grown"},
    ("cold-start", "preloaded"): {"together_p50", "together_last"},
    ("faults", "kills"): KILLS,
    ("faults", "guarded"): GUARDED,
    ("scheduler-alone", "python"): {"independent", "tree", "stencil", "stencil_edges"},
    ("scheduler-alone", "journeyless"): {"journeys"},
}
"""Contenders that measure some of the metrics."""
WITHOUT: dict[tuple[str, str], set[str]] = {
    ("graphs", "thread-pool"): {"gil", *gil_graphs.SUITE},  # it knows no dependencies
    **{
        ("payload", who): {"read_once", "read_each"}
        for who in ("pool", "dask", "dask:proxystore", "dask:redis", "dask:cellmill", "dask:packs")
    },
    **{("memory", who): {"grown"} for who in POOLS},
    ("tagging", "flood"): {"caller_mean"},
    ("faults", "cellmill"): KILLS | GUARDED,
    ("tagging", "window"): {"caller_mean"},
}
"""Contenders that measure all but these."""
MAY_BE_ZERO = {"idle_cpu", "bytes", "objects", "grown", "cpu_other_threads"} | {
    *("crash_lost", "stop_running", "stop_queued", "left_soon", "left_later"),
    *("kills_lost", "kills_wrong", "kills_leaks"),
}


def test_every_benchmark_has_sizes_here_that_it_knows() -> None:
    assert set(TINY) == set(bench.INDEX)
    for name, tiny in TINY.items():
        benchmark = bench.load(name)
        assert benchmark.name == name
        assert set(tiny) <= set(benchmark.quick) == set(benchmark.full)


def _ran(name: str, folder: Path, **how: Any) -> dict[str, Any]:
    """The JSON of a tiny run."""
    report = bench.run(name, Settings(quick=True, repeats=1, **how), TINY[name])
    report.write(folder / "out" / "report.json")
    found: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
    text = table(report)
    assert all(row["title"].strip() in text and row["name"] in text for row in found["results"])
    return found


def _promised(name: str, contenders: set[str]) -> set[tuple[str, str]]:
    """What these contenders measure: all metrics of the benchmark unless the tables above say otherwise."""
    benchmark = bench.load(name)
    every = {metric.key for metric in benchmark.metrics({**benchmark.quick, **TINY[name]})}
    rows = set()
    for who in contenders:
        keys = ONLY.get((name, who), every) - WITHOUT.get((name, who), set())
        rows |= {(who, key) for key in keys}
    return rows


def _check(found: dict[str, Any], name: str, rows: set[tuple[str, str]]) -> None:
    assert (found["format"], found["benchmark"], found["question"]) == (1, name, bench.INDEX[name])
    assert {(row["runtime"], row["metric"]) for row in found["results"]} == rows
    ours = {row["metric"]: row for row in found["results"] if row["runtime"] == "cellmill"}
    for row in found["results"]:
        assert len(row["values"]) == 1
        assert row["min"] == row["median"] == row["max"] >= 0
        shared = name == "tagging" and not row["metric"].startswith(("whole_", "caller_", "cpu_"))
        assert row["median"] > 0 or shared or row["metric"] in MAY_BE_ZERO  # stages may share a stamp
        against, ratio = ours.get(row["metric"]), row["cellmill_is_better_by"]
        if against is None or row["runtime"] == "cellmill":
            assert ratio is None
        elif row["median"] and against["median"]:
            times = against["median"] / row["median"]
            assert ratio == pytest.approx(times if row["better"] == "higher" else 1 / times)
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory"] > 2**20
    assert {"python", "cellmill"} <= set(found["versions"])
    assert found["settings"]["workers"] == 2
    assert found["created"][:2] == "20"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("latency", {"bare-pipe"}),
        ("payload", {"bare-copy"}),
        ("granularity", {"bare-ring"}),
        ("memory", {"soak"}),
        ("workers", set()),
        ("cold-start", {"preloaded"}),
    ],
)
def test_benchmark_beside_pools(name: str, own: set[str], tmp_path: Path) -> None:
    found = _ran(name, tmp_path, rivals=("ppe", "pool"))
    _check(found, name, _promised(name, own | set(POOLS)))
    assert not found["skipped"]


@pytest.mark.parametrize(("name", "contenders"), [("chain", {"cellmill"}), ("tagging", set())])
def test_benchmark_of_cellmill_alone(name: str, contenders: set[str], tmp_path: Path) -> None:
    contenders = contenders or set(bench.load(name).runtimes)
    _check(_ran(name, tmp_path, rivals=()), name, _promised(name, contenders))


def test_throughput(tmp_path: Path) -> None:
    installed = {key for key in ("joblib", "loky") if importlib.util.find_spec("joblib")}
    found = _ran("throughput", tmp_path, rivals=("ppe", "pool", *installed))
    beside = {"submit_beside_busy_thread", "kept_beside_busy_thread"}
    rows = _promised("throughput", {*POOLS, "bare-ring", "csched"})
    rows |= {(who, key) for who, key in _promised("throughput", installed) if key not in beside}
    _check(found, "throughput", rows)
    values = {(row["runtime"], row["metric"]): row["median"] for row in found["results"]}
    for who in POOLS:
        alone, together = values[who, "submit"], values[who, "submit_beside_busy_thread"]
        assert values[who, "kept_beside_busy_thread"] == pytest.approx(together / alone)


@pytest.mark.long
def test_payload_through_clusters(tmp_path: Path) -> None:
    for needed in ("distributed", "proxystore"):
        pytest.importorskip(needed)
    found = _ran("payload", tmp_path, rivals=("dask",))
    contenders = {"cellmill", "bare-copy", "dask", "dask:proxystore", "dask:cellmill", "dask:packs"}
    if stores.missing("dask:redis") is None:
        contenders.add("dask:redis")
    _check(found, "payload", _promised("payload", contenders))
    assert "Dask + ProxyStore, files is, against Dask: " in found["summary"]
    assert "Cellmill over Dask is, against Cellmill over Dask, no store: " in found["summary"]


def test_scheduler_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without sources: nothing can be compiled without journeys. With them it is in test_scheduler_alone."""
    monkeypatch.setattr(scheduler_alone, "SOURCES", tmp_path)
    found = _ran("scheduler-alone", tmp_path)
    contenders = set(bench.load("scheduler-alone").runtimes)
    rows = {(who, key) for who, key in _promised("scheduler-alone", contenders) if key != "journeys"}
    _check(found, "scheduler-alone", rows)


def test_graphs(tmp_path: Path) -> None:
    _check(_ran("graphs", tmp_path, rivals=()), "graphs", _promised("graphs", {"cellmill", "thread-pool"}))


def test_queues_with_every_policy_the_scheduler_has(tmp_path: Path) -> None:
    found = _ran("queues", tmp_path, rivals=())
    every = set(bench.load("queues").runtimes)
    assert set(found["skipped"].values()) <= {"the scheduler has no such policy"}
    assert {"policy:least-loaded", "policy:round-robin", "policy:random"} <= every - set(found["skipped"])
    _check(found, "queues", _promised("queues", every - set(found["skipped"])))


def test_intervals_of_tasks_add_up(tmp_path: Path) -> None:
    found = _ran("tagging", tmp_path)
    values = {(row["runtime"], row["metric"]): row["median"] for row in found["results"]}
    gaps = {key.removesuffix("_share") for who, key in values if key.endswith("_share")}
    assert len(gaps) == 7
    for load in ("flood", "window", "single"):
        whole = values[load, "whole_mean"]
        assert sum(values[load, f"{gap}_mean"] for gap in gaps) == pytest.approx(whole)
        assert sum(values[load, f"{gap}_share"] for gap in gaps) == pytest.approx(100)
        assert all(values[load, f"{gap}_p50"] <= values[load, f"{gap}_p99"] for gap in gaps)
    assert values["single", "caller_mean"] >= values["single", "whole_mean"]


def test_faults(tmp_path: Path) -> None:
    found = _ran("faults", tmp_path, rivals=())
    _check(found, "faults", _promised("faults", {"cellmill", "guarded", "kills"}))
    values = {row["metric"]: row["median"] for row in found["results"]}
    assert (values["redefined"], values["printed"]) == (1, 100)
    for nothing in ("crash_lost", "stop_running", "stop_queued", "kills_wrong", "kills_leaks"):
        assert values[nothing] == 0, nothing
    assert "40 of 40 here" in found["summary"]
    assert "Random kills: 1,000 tasks, 3 kills" in found["summary"]


def test_docking_has_every_batch_size_of_every_runtime() -> None:
    runtimes = bench.load("docking").runtimes
    for who in ("cellmill", "serial", "ppe", "joblib", "dask", "ray"):
        assert {f"{who}:{batch}" for batch in (1, 10, 100, 1000)} <= set(runtimes)


def test_docking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("rdkit", "sklearn", "scipy", "threadpoolctl"):
        pytest.importorskip(needed)
    contenders = (
        "cellmill",
        "cellmill:10",
        "serial:best",
        "serial:100",
    )  # each imports RDKit and sklearn anew
    some = replace(bench.load("docking"), runtimes=contenders)
    monkeypatch.setattr(bench, "load", lambda name: some)
    found = _ran("docking", tmp_path, rivals=())
    _check(found, "docking", {(who, "molecules") for who in contenders})
    assert any("all scores are equal" in note for note in found["notes"])
    assert found["sizes"]["best_batch"] in (1, 10, 100, 1000)


def test_docking_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cellmill.bench import docking
    from cellmill.bench.harness import BenchmarkError

    monkeypatch.setattr(docking, "NEEDED", ("json", "no_such_module"))
    with pytest.raises(BenchmarkError, match=r"no_such_module missing: `pip install 'cellmill\[docking\]'`"):
        _ran("docking", tmp_path)


@pytest.fixture(scope="module")
def small_report() -> Report:
    return bench.run("chain", Settings(quick=True, repeats=1, rivals=()), TINY["chain"])


def test_page_needs_nothing_from_outside(small_report: Report, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    from cellmill.bench.page import write_page

    write_page(small_report, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "chain of 20 no-ops" in text
    assert "everything is submitted while the first task is held back" in text
    assert "<script src=" not in text
    assert "<link" not in text


def test_a_frame_for_notebooks_holds_the_whole_page(small_report: Report) -> None:
    pytest.importorskip("bokeh")
    import html
    import re

    from cellmill.bench.page import frame

    held = re.fullmatch(r'<iframe srcdoc="([^"]*)" [^>]*></iframe>', frame(small_report), re.DOTALL)
    assert held is not None
    page = html.unescape(held[1])
    assert page.lstrip().startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
