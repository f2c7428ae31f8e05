"""Results that come from the cache are told beside the tasks: in runs, journeys, records and views."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.history import RunRecord
from cellmill.magics.journeys import Journeys
from cellmill.records.catalogue import open_record
from cellmill.views.played import frames_of
from cellmill.views.sections.journey import JourneySection
from cellmill.views.sections.runs import told
from tests.support import tasks


@pytest.fixture
def double(ex: Executor) -> Any:
    return cellmill.parallel(executor=ex, memo=True)(tasks.double)


def latest() -> RunRecord:
    return run_registry.records(whole=True)[-1]


def figures(record: RunRecord) -> tuple[int, int, bool]:
    return record.succeeded, record.hits, record.finished


def test_maps_tell_them_beside_their_tasks(double: Any) -> None:
    assert list(double.map(range(3))) == [0, 2, 4]
    assert figures(latest()) == (3, 0, True)
    assert list(double.map(range(5))) == [0, 2, 4, 6, 8]
    assert figures(latest()) == (2, 3, True)


def test_a_map_of_kept_results_alone_is_a_run(double: Any) -> None:
    list(double.map(range(4)))
    before = latest().id
    assert list(double.map(range(4))) == [0, 2, 4, 6]
    assert latest().id > before
    assert figures(latest()) == (0, 4, True)
    assert told(latest(), True)["wall"] is not None


def test_inputs_of_unknown_length(double: Any) -> None:
    list(double.map(range(0, 200, 2)))
    assert list(double.map(iter(range(200)))) == [2 * n for n in range(200)]
    assert figures(latest()) == (100, 100, True)


def test_single_calls_count_in_the_run_of_their_cell(double: Any) -> None:
    run_registry.bump_epoch("In[7]")
    assert [double(3).result() for _ in range(4)] == [6] * 4
    record = latest()
    assert (record.cell, record.succeeded, record.hits) == ("In[7]", 1, 3)
    run_registry.bump_epoch("In[8]")
    assert double(3).result() == 6
    assert (latest().cell, latest().submitted, latest().hits, latest().finished) == ("In[8]", 0, 1, False)
    told_before = latest().wall
    assert latest().wall == told_before  # it does not grow with the time since the last one
    run_registry.bump_epoch("")
    assert figures(latest()) == (0, 1, True)


def test_lists_and_journeys_show_them(ex: Executor, double: Any) -> None:
    list(double.map(range(3)))
    list(double.map(range(5)))
    assert "2 (+3 from the cache)" in repr(run_registry.records())
    hits = run_registry.hits_of(ex._backend)
    assert hits["double"] >= 3
    assert run_registry.hits_of(ex._backend, run=latest().id) == {"double": 3}
    text = repr(Journeys("run 1, double", (), hits={"double": 3}))
    assert text == "no journeys of run 1, double. From the cache, without a task: double 3."
    frame = JourneySection().frame(ex)
    assert frame is not None
    assert frame["hits"] is not None
    assert {each["name"] for each in frame["hits"]} >= {"double"}


def test_records_keep_them(ex: Executor, tmp_path: Path) -> None:
    f = cellmill.parallel(executor=ex, memo=True)(tasks.double)
    with cellmill.record(tmp_path):
        list(f.map(range(3)))
        list(f.map(range(5)))
        list(f.map(range(5)))
    found = sorted((open_record(path) for path in tmp_path.glob("*.cellmill")), key=lambda one: one.run.began)
    assert [(one.run.succeeded, one.run.hits) for one in found] == [(3, 0), (2, 3), (0, 5)]
    played = [frame for _, frame in frames_of(found[1])]
    assert [frame["hits"] for frame in played if frame["kind"] == "journey"][-1] == [
        {"name": "double", "count": 3}
    ]
    assert [frame["runs"][0]["hits"] for frame in played if frame["kind"] == "runs"] == [3]


def test_a_checkpoint_s_results_count(ex: Executor, tmp_path: Path) -> None:
    path = tmp_path / "kept"
    begin: Callable[[int], Any] = lambda n: list(ex.map(tasks.double, range(n), checkpoint=path))  # noqa: E731
    assert begin(10) == begin(10)
    assert figures(latest()) == (0, 10, True)
