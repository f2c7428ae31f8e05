"""A record played again is what live views were told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.telemetry.journal import read_journal
from cellmill.views import played
from cellmill.views.sections.journey import JourneySection
from cellmill.views.sections.timeline import TimelineSection
from tests.support import tasks


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], cellmill.Record]]:
    """The last frames of live sections, and the record of the same run."""
    folder = tmp_path_factory.mktemp("runs")
    with Executor(2) as executor:
        with cellmill.record(folder):
            assert len(list(executor.map(tasks.double, range(3000)))) == 3000
        live: dict[str, Any] = {
            "timeline": TimelineSection().frame(executor),
            "journey": JourneySection().frame(executor),
            "sentence": cellmill.account(cellmill.runs()[-1].id, executor).where,
        }
        yield live, cellmill.open_record(cellmill.runs(folder)[0])


def last(record: cellmill.Record, kind: str) -> Any:
    return [frame for _, frame in played.frames_of(record) if frame["kind"] == kind][-1]


def test_its_figures_are_those_of_the_live_view(both: tuple[dict[str, Any], cellmill.Record]) -> None:
    live, record = both
    (before,), (after,) = live["journey"]["functions"], last(record, "journey")["functions"]
    for name in ("name", "tasks", "failed", "cut", "intervals", "times"):
        assert after[name] == before[name]
    assert last(record, "journey")["account"]["sentence"] == live["sentence"]


def test_why_workers_were_idle_is_told(tmp_path: Path) -> None:
    with Executor(2) as executor:
        executor.run_on_workers(int)
        with cellmill.record(tmp_path):
            assert len(list(executor.map(time.sleep, [0.01] * 4 + [0.3], chunksize=1))) == 5
        frame = JourneySection().frame(executor)
        assert frame is not None
        assert frame["account"] is not None
        live = frame["account"]["reasons"]
    assert live is not None
    again = last(cellmill.open_record(cellmill.runs(tmp_path)[0]), "journey")["account"]["reasons"]
    assert [(each["reason"], each["what"]) for each in again] == [
        (each["reason"], each["what"]) for each in live
    ]
    assert [each["seconds"] for each in again] == pytest.approx([each["seconds"] for each in live])
    assert "last" in [each["reason"] for each in live]


def test_its_timeline_is_that_of_the_live_view(both: tuple[dict[str, Any], cellmill.Record]) -> None:
    live, record = both
    frames = [frame for _, frame in played.frames_of(record) if frame["kind"] == "timeline"]
    assert [frames[-1][name] for name in ("tasks", "dropped")] == [3000, 0]
    assert set(frames[-1]["workers"]) <= set(live["timeline"]["workers"])  # those that ran some of it
    assert frames[0]["tasks"] < 3000
    assert live["timeline"]["tasks"] == 3000


def test_its_counters_grow_to_those_of_the_run(both: tuple[dict[str, Any], cellmill.Record]) -> None:
    counts = [frame["counts"] for _, frame in played.frames_of(both[1]) if frame["kind"] == "snapshot"]
    done = [each["done"] for each in counts]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 3000)
    assert max(each["running"] for each in counts) <= 2


def test_it_is_a_page(both: tuple[dict[str, Any], cellmill.Record], tmp_path: Path) -> None:
    record = both[1]
    played.write_journal(record, tmp_path / "frames")
    assert sum(1 for _ in read_journal(tmp_path / "frames")) > played.PICTURES
    shown = cellmill.replay(record)
    page = shown.save(tmp_path / "page.html")
    assert page.stat().st_mode & 0o777 == 0o600
    assert "cellmill-journal" in page.read_text()
    assert shown._repr_html_().startswith("<iframe")
