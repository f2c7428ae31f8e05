"""The graphs of the RSDS paper beneath Dask: their counts, that they compute, and how ratios are folded."""

from __future__ import annotations

import time

import pytest

import benchmarks
from benchmarks import dask_graphs
from benchmarks.table_one import PAPER, RECORDED, family, row
from cellmill.bench.harness import Metric, Report, Result, Settings

pytest.importorskip("distributed")
pytest.importorskip("numpy")

from benchmarks.dask_programs import PROGRAMS, missing, programmed, replayed

COUNTS = {  # tasks, dependencies, longest path: of table I
    "merge-10000": (10_001, 10_000, 1),
    "merge_slow-5000": (5_001, 5_000, 1),
    "tree-15": (32_767, 32_766, 14),
    "xarray-25": (552, 862, 10),
    "xarray-5": (9_258, 14_976, 10),
    "bag-25K-10": (236, 415, 6),
    "bag-25K-50": (5_458, 10_357, 7),
    "numpy-50K-10": (209, 228, 7),
    "numpy-50K-50": (4_892, 5_491, 9),
    "join-1-1S-1H": (673, 1_224, 5),
    "join-1-1S-1T": (72_001, 125_568, 11),
    "vectorizer-300": (301, 0, 0),
    "wordbag-50": (250, 200, 2),
}


@pytest.mark.parametrize("name", COUNTS)
def test_graphs_are_those_of_the_paper(name: str) -> None:
    graph = row(name).graph
    depths: list[int] = []
    for i, needs in enumerate(graph.rows()):
        assert all(k < i for k in needs)
        depths.append(max((1 + depths[k] for k in needs), default=0))
    assert (graph.tasks, graph.edges, max(depths)) == COUNTS[name]


def test_every_recorded_graph_is_in_the_table() -> None:
    from benchmarks.shapes import recorded_names

    assert set(recorded_names()) == set(RECORDED)
    assert set(RECORDED) <= set(PAPER)
    assert {family(name) for name in ("merge-10", "merge_slow-5")} == {"merge"}


def test_replayed_tasks_take_their_time_and_return_their_size() -> None:
    from dask.local import get_sync

    graph, keys = replayed("vectorizer-1")
    assert keys == ["task-0", "task-1"]
    start = time.perf_counter()
    (value,) = get_sync({"task-0": graph["task-0"]}, ["task-0"])
    assert time.perf_counter() - start >= 1.5
    assert value.nbytes == 10 << 20
    graph, keys = replayed("tree-3")
    assert keys == ["task-6"]
    assert get_sync(graph, keys) == (bytes(27),)


QUICK = {"bag", "merge", "tree"}
"""The others import Dask's arrays or frames, for seconds, which tests/dask has."""


@pytest.mark.parametrize(
    "kind",
    [
        kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.long)
        for kind in sorted({*PROGRAMS} - {"vectorizer", "xarray"})
    ],
)
def test_programs_give_the_same_beneath_as_with_dasks_threads(kind: str) -> None:
    import dask.threaded

    import cellmill.dask

    name = f"{kind}-{ {'groupby': 48, 'join': 120, 'xarray': 60}.get(kind, 4) }"
    if why := missing(name):
        pytest.skip(why)
    graph, keys = programmed(name)
    ours, theirs = cellmill.dask.get(graph, keys), dask.threaded.get(graph, keys)
    assert str(ours) == str(theirs)


def test_families_count_once_and_what_is_left_out_is_named() -> None:
    sizes = {"replay": ["merge-10", "merge-20", "tree-3"], "program": []}
    found = dask_graphs.metrics(sizes)
    report = Report(
        "dask-graphs",
        "?",
        Settings(),
        sizes,
        found,
        {"cellmill": "cellmill", "distributed": "distributed"},
    )

    def add(metric: Metric, ours: float, theirs: float) -> None:
        report.results += [
            Result(metric, "cellmill", (ours,)),
            Result(metric, "distributed", (theirs,)),
        ]

    for metric, ours, theirs in zip(found, (10, 10, 20), (20, 80, 180), strict=True):
        add(metric, ours, theirs)
    details = {
        "tasks": {metric.key: 1000 for metric in found},
        "made_s": {metric.key: 0.5 for metric in found},
    }
    report.turns.append({"runtime": "cellmill", "details": details})
    dask_graphs.finish(report)
    assert "distributed take 6.00 times as long" in report.summary  # of 4 (merge: 2 and 8) and 9
    assert "least 2.00 (merge-10)" in report.summary
    assert (
        "replay of tree-3: 1,000 tasks, made in 0.50 s, computed in 0.02 s, 20.0 us a task" in report.summary
    )
    assert any("bag-25K-10" in note for note in report.notes)


@pytest.mark.long
def test_every_contender_measures_every_graph() -> None:
    sizes = {"replay": ["merge-20", "tree-3"], "empty": ["merge-10"], "program": ["bag-2"]}
    report = benchmarks.run("dask-graphs", Settings(quick=True, repeats=1), sizes)
    assert not report.skipped
    keys = {"replay:merge-20", "replay:tree-3", "empty:merge-10", "program:bag-2"}
    runtimes = ("cellmill", "threads", "processes", "distributed")
    assert {(r.runtime, r.metric.key) for r in report.results} == {(w, k) for w in runtimes for k in keys}
    assert all(r.median > 0 for r in report.results)
