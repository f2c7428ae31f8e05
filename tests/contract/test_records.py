"""Runs of every backend are recorded, and read and played again; results come from the cache."""

from __future__ import annotations

from pathlib import Path

import cellmill
from cellmill import Executor
from cellmill.memo import calls
from cellmill.views.played import frames_of
from tests.contract.abilities import later
from tests.support import tasks


def fails_at_tens(x: int) -> int:
    if x % 10 == 0:
        raise ValueError(x)
    return x


@later
def test_a_run_is_recorded_and_played(ex: Executor, tmp_path: Path) -> None:
    with cellmill.record(f"{tmp_path}/"):
        list(ex.map(fails_at_tens, range(40), return_exceptions=True))
    (run,) = cellmill.runs(tmp_path)
    record = cellmill.open_record(run)
    assert record.state == "whole"
    assert (run.name, run.succeeded, run.failed) == ("fails_at_tens", 36, 4)
    rows = list(record.journeys())
    assert sorted(row["position"] for row in rows) == sorted({row["position"] for row in rows})
    assert len(rows) == 40
    assert [row["status"] for row in rows].count("failed") == 4
    assert [(each.kind, each.count) for each in record.failures] == [("ValueError", 4)]
    *_, last = (frame for _, frame in frames_of(record) if frame["kind"] == "snapshot")
    assert (last["counts"]["done"], last["counts"]["failed"]) == (40, 4)


def test_results_come_from_the_cache(ex: Executor, tmp_path: Path) -> None:
    kept = cellmill.parallel(executor=ex, memo=tmp_path / "kept")(tasks.double)
    try:
        assert list(kept.map(range(20))) == list(kept.map(range(20))) == [2 * x for x in range(20)]
        assert kept(3).result() == 6
        assert kept.cache_info()[:3] == (21, 20, 20)
        assert cellmill.runs()[-2].hits == 20
        file = tmp_path / "checkpoint"
        first = list(ex.map(tasks.double, range(20), checkpoint=file))
        assert list(ex.map(tasks.double, range(30), checkpoint=file)) == [*first, *range(40, 60, 2)]
        assert (cellmill.runs()[-1].hits, cellmill.runs()[-1].succeeded) == (20, 10)
    finally:
        calls._memos.clear()
