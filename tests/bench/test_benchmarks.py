"""Every benchmark runs with tiny sizes, against the standard library's pools, and yields the rows it promises.

What they measure is not judged here: only that everything is there, positive and well formed.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from cellmill import bench
from cellmill.bench.harness import Settings, table

TINY: dict[str, dict[str, Any]] = {
    "throughput": {"seconds": 0.01, "most": 400, "most_map": 2000, "most_arrays": 4},
    "latency": {"seconds": 0.01, "idle_s": 0.01, "idle_trips": 1, "watch_s": 0.05},
    "payload": {"bytes": [10_000, 200_000], "seconds": 0.01, "least": 1},
    "memory": {"tasks": 500},
    "granularity": {"durations_us": [10, 1000], "seconds": 0.01},
    "cold-start": {},
    "docking": {"molecules": 200, "serial_molecules": 50},
}
ROWS: dict[str, set[str]] = {
    "throughput": {
        "submit",
        "submit_beside_busy_thread",
        "map",
        "round_trip_p50",
        "round_trip_p99",
        "array_1mb",
    },
    "latency": {"flowing_p50", "flowing_p99", "after_idleness_p50", "idle_cpu"},
    "payload": {"first_10000", "later_10000", "first_200000", "later_200000"},
    "memory": {"bytes", "objects"},
    "granularity": {"submit_10us", "map_10us", "submit_1000us", "map_1000us"},
    "cold-start": {"first_result", "interpreter", "import", "create", "first_call", "second_call", "stop"},
    "docking": {"molecules"},
}
MAY_BE_ZERO = {"idle_cpu", "bytes", "objects"}


def test_every_benchmark_has_a_test_and_the_sizes_it_names() -> None:
    assert set(TINY) == set(ROWS) == set(bench.INDEX)
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


def _check(found: dict[str, Any], name: str, rows: set[tuple[str, str]]) -> None:
    assert (found["format"], found["benchmark"], found["question"]) == (1, name, bench.INDEX[name])
    assert {(row["runtime"], row["metric"]) for row in found["results"]} == rows
    for row in found["results"]:
        assert len(row["values"]) == 1
        assert row["min"] == row["median"] == row["max"] >= 0
        assert row["median"] > 0 or row["metric"] in MAY_BE_ZERO
        assert (row["cellmill_is_better_by"] is None) <= (
            row["runtime"] == "cellmill" or row["metric"] in MAY_BE_ZERO
        )
    assert found["machine"]["cores"] >= 1
    assert found["machine"]["memory"] > 2**20
    assert {"python", "cellmill"} <= set(found["versions"])
    assert found["settings"]["workers"] == 2
    assert found["created"][:2] == "20"


@pytest.mark.parametrize("name", ["latency", "payload", "memory", "granularity", "cold-start"])
def test_benchmark(name: str, tmp_path: Path) -> None:
    found = _ran(name, tmp_path, rivals=("ppe", "pool"))
    _check(found, name, {(who, metric) for who in ("cellmill", "ppe", "pool") for metric in ROWS[name]})
    assert not found["skipped"]


def test_throughput(tmp_path: Path) -> None:
    installed = [key for key in ("joblib", "loky") if importlib.util.find_spec("joblib")]
    found = _ran("throughput", tmp_path, rivals=("ppe", "pool", *installed))
    rows = {(who, metric) for who in ("cellmill", "ppe", "pool") for metric in ROWS["throughput"]}
    rows |= {
        (who, metric) for who in installed for metric in ROWS["throughput"] - {"submit_beside_busy_thread"}
    }
    _check(found, "throughput", rows | {("csched", "submit")})


def test_docking(tmp_path: Path) -> None:
    for needed in ("rdkit", "sklearn", "scipy", "threadpoolctl"):
        pytest.importorskip(needed)
    found = _ran("docking", tmp_path, rivals=())
    serial = {f"serial:{batch}" for batch in ("best", 1, 10, 100, 1000)}
    _check(found, "docking", {(who, "molecules") for who in {"cellmill", *serial}})
    assert any("all scores are equal" in note for note in found["notes"])
    assert found["sizes"]["best_batch"] in (1, 10, 100, 1000)


def test_docking_names_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cellmill.bench import docking
    from cellmill.bench.harness import BenchmarkError

    monkeypatch.setattr(docking, "NEEDED", ("json", "no_such_module"))
    with pytest.raises(BenchmarkError, match=r"no_such_module missing: `pip install 'cellmill\[docking\]'`"):
        _ran("docking", tmp_path)


def test_page_needs_nothing_from_outside(tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    from cellmill.bench.page import write_page

    report = bench.run("cold-start", Settings(quick=True, repeats=1, rivals=("ppe",)))
    write_page(report, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "ProcessPoolExecutor" in text
    assert bench.INDEX["cold-start"] in text
    assert "<script src=" not in text
    assert "<link" not in text
