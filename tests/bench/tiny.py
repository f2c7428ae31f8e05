"""Tiny sizes of the benchmarks, and what each contender measures.

What they measure is not judged: only that everything is there, positive, well formed and consistent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill.bench.harness import Settings, table

POOLS = ("cellmill", "ppe", "pool")
TINY: dict[str, dict[str, Any]] = {
    "throughput": {"seconds": 0.01, "most": 400, "most_map": 2000, "most_arrays": 4},
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
    "cold-start": {"together": 3, "library": "sqlite3"},
    "clusters": {"tasks": 500, "engine_tasks": 20, "adapt_tasks": 6, "arrays": 4},
    "docking": {"molecules": 200, "serial_molecules": 50, "slow_molecules": 50},
}
Contenders = Mapping[tuple[str, str], Set[str]]
"""Metrics by benchmark and contender."""
ONLY: Contenders = {
    ("memory", "soak"): {"grown"},
    ("cold-start", "preloaded"): {"together_p50", "together_last"},
}
"""Contenders that measure some of the metrics."""
WITHOUT: Contenders = {
    **{
        ("payload", who): {"read_once", "read_each"}
        for who in ("pool", "dask", "dask:proxystore", "dask:redis", "dask:cellmill", "dask:packs")
    },
    **{("memory", who): {"grown"} for who in POOLS},
    ("clusters", "ray"): {"adapt"},
    ("clusters", "on-ray"): {"adapt"},
}
"""Contenders that measure all but these."""
MAY_BE_ZERO = {"idle_cpu", "bytes", "objects", "grown"}


class Tiny:
    """The benchmarks of a package (``cellmill.bench`` or ``benchmarks``) with tiny sizes."""

    def __init__(
        self,
        package: ModuleType,
        sizes: Mapping[str, dict[str, Any]] = TINY,
        only: Contenders = ONLY,
        without: Contenders = WITHOUT,
        may_be_zero: Set[str] = MAY_BE_ZERO,
    ) -> None:
        self.package, self.sizes = package, sizes
        self._only, self._without, self._may_be_zero = only, without, may_be_zero

    def check_sizes(self) -> None:
        """Every benchmark has sizes here, and knows them."""
        assert set(self.sizes) == set(self.package.INDEX)
        for name, tiny in self.sizes.items():
            benchmark = self.package.load(name)
            assert benchmark.name == name
            assert set(tiny) <= set(benchmark.quick) == set(benchmark.full)

    def ran(self, name: str, folder: Path, **how: Any) -> dict[str, Any]:
        """The JSON of a tiny run."""
        report = self.package.run(name, Settings(quick=True, repeats=1, **how), self.sizes[name])
        report.write(folder / "out" / "report.json")
        found: dict[str, Any] = json.loads((folder / "out" / "report.json").read_text())
        text = table(report)
        assert all(row["title"].strip() in text and row["name"] in text for row in found["results"])
        return found

    def promised(self, name: str, contenders: set[str]) -> set[tuple[str, str]]:
        """What these contenders measure: all metrics of the benchmark unless the tables say otherwise."""
        benchmark = self.package.load(name)
        every = {metric.key for metric in benchmark.metrics({**benchmark.quick, **self.sizes[name]})}
        rows = set()
        for who in contenders:
            keys = self._only.get((name, who), every) - self._without.get((name, who), set())
            rows |= {(who, key) for key in keys}
        return rows

    def check(self, found: dict[str, Any], name: str, rows: set[tuple[str, str]]) -> None:
        """The rows are these, and all of it is well formed."""
        assert (found["format"], found["benchmark"], found["question"]) == (1, name, self.package.INDEX[name])
        assert {(row["runtime"], row["metric"]) for row in found["results"]} == rows
        ours = {row["metric"]: row for row in found["results"] if row["runtime"] == "cellmill"}
        for row in found["results"]:
            assert len(row["values"]) == 1
            assert row["min"] == row["median"] == row["max"] >= 0
            shared = name == "tagging" and not row["metric"].startswith(("whole_", "caller_", "cpu_"))
            # stages of a task may have the same stamp
            assert row["median"] > 0 or shared or row["metric"] in self._may_be_zero
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
