"""The scheduler by itself: the shapes are what they are called, both contenders run all of them by the same rules."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import benchmarks
from benchmarks import reference, scheduler_alone, shapes
from cellmill.bench.harness import Settings

TINY = {
    "tasks": 3000,
    "depth": 6,
    "width": 12,
    "steps": 9,
    "graphs": ["xarray-25"],
    "workers": [1, 5],
    "merge": 2000,
}


def test_shapes() -> None:
    assert (shapes.independent(5).tasks, shapes.independent(5).edges) == (5, 0)
    tree = shapes.tree(3)
    assert (tree.tasks, tree.edges) == (15, 14)
    assert tree.rows()[8:] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11], [12, 13]]
    assert shapes.stencil(3, 2).rows() == [[], [], [], [0, 1], [0, 1, 2], [1, 2]]
    assert (shapes.stencil(32, 1000).tasks, shapes.stencil(32, 1000).edges) == (32_000, 93_906)
    assert shapes.merge(3).rows() == [[], [], [], [0, 1, 2]]


def test_recorded_graphs_are_those_of_the_paper() -> None:
    assert len(shapes.recorded_names()) == 11
    xarray, bag = shapes.recorded("xarray-25"), shapes.recorded("bag-25K-10")
    assert (xarray.tasks, xarray.edges) == (552, 862)
    assert bag.edges == 415
    for name in shapes.recorded_names():
        rows = shapes.recorded(name).rows()
        assert all(max(row, default=-1) < i for i, row in enumerate(rows))


@pytest.mark.parametrize("graph", [shapes.tree(5), shapes.stencil(7, 20), shapes.recorded("xarray-25")])
def test_reference_keeps_the_order_of_the_graph(graph: shapes.Graph) -> None:
    scheduler = reference.Scheduler(graph.tasks, 2)
    rows = graph.rows()
    tickets = scheduler.submit_many(range(graph.tasks), rows)
    slots: list[int] = []
    while len(slots) < graph.tasks:
        scheduler.serve()
        scheduler.poll()
        slots += scheduler.discard(10)
    assert sorted(slots) == list(range(graph.tasks))
    assert scheduler.runs == {0: [graph.tasks, graph.tasks, 0]}
    assert scheduler.waiting == scheduler.ready_count == 0
    journeys = {row[0]: row[7:] for row in scheduler.journey[: graph.tasks]}
    for ticket, row in zip(tickets, rows, strict=True):
        stamps = journeys[ticket]
        assert list(stamps) == sorted(stamps)
        assert all(journeys[tickets[i]][6] <= stamps[1] for i in row)  # ready after each input has returned


def test_reference_refuses_a_slot_in_use() -> None:
    scheduler = reference.Scheduler(3, 1)
    scheduler.submit_many([0, 1])
    with pytest.raises(ValueError, match="slot 1 is in use"):
        scheduler.submit_many([2, 1])


def test_higher_priority_first() -> None:
    scheduler = reference.Scheduler(4, 1)
    scheduler.workers[0].held = reference.WINDOW  # nothing is sent for now
    scheduler.submit_many([0, 1])
    scheduler.submit_many([2, 3], priority=5)
    scheduler.workers[0].held = 0
    scheduler.poll()
    scheduler.serve()
    scheduler.poll()
    assert scheduler.discard(4) == [2, 3, 0, 1]


@pytest.mark.long
def test_every_row_of_the_table(tmp_path: Path) -> None:
    report = benchmarks.run("scheduler-alone", Settings(quick=True, repeats=1), TINY)
    both = {"independent", "tree", "stencil", "stencil_edges", "aot_xarray-25"}
    expected = {(who, metric) for who in ("cellmill", "python") for metric in both}
    expected |= {("cellmill", "merge_1"), ("cellmill", "merge_5")}
    if shutil.which("gcc") and scheduler_alone.SOURCES.exists():
        expected |= {("cellmill", "journeys"), ("journeyless", "journeys")}
        assert any("journeys cost" in note for note in report.notes)
    assert {(r.runtime, r.metric.key) for r in report.results} == expected
    assert all(r.median > 0 for r in report.results)


def test_without_a_compiler_the_cost_of_journeys_is_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sizes: dict[str, Any] = {}
    monkeypatch.setattr(scheduler_alone, "SOURCES", tmp_path)
    scheduler_alone.prepare(Settings(), sizes, tmp_path)
    assert sizes == {}
    assert scheduler_alone.turn("journeyless", 2, sizes).values == {}


def test_too_few_descriptors_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_alone, "_descriptors", lambda: 20)
    monkeypatch.setattr(scheduler_alone, "_more_descriptors", lambda: None)
    turn = scheduler_alone.turn("cellmill", 2, {**scheduler_alone.BENCHMARK.quick, **TINY})
    assert "merge_1" in turn.values
    assert turn.details["merge_5"] == "needs 30 descriptors (ulimit -n)"
