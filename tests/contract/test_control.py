"""Cancelling, stopping, pausing, resizing; figures and journeys."""

from __future__ import annotations

import concurrent.futures
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.backends import KNOWN
from cellmill.run_registry import Run
from cellmill.telemetry.schema import STAGES
from tests.contract import work
from tests.contract.abilities import TABLE, Abilities, Refusal, each_cluster, later
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down


@pytest.fixture
def started() -> Iterator[list[Run]]:
    found: list[Run] = []
    undo = run_registry.on_run_started(found.append)
    yield found
    undo()


# -- cancelling and stopping


@later
def test_cancel_what_waits(ex: Executor, gate: Gate, tmp_path: Path) -> None:
    held = [ex.submit(tasks.hold, gate.folder, i) for i in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    queued = [ex.submit(work.touch, str(tmp_path), f"ran-{i}") for i in range(50)]
    assert all(future.cancel() for future in queued)
    assert all(future.cancelled() for future in queued)
    gate.release(ex.max_workers)
    assert [h.result(SECONDS) for h in held] == list(range(ex.max_workers))
    assert ex.submit(tasks.double, 1).result(SECONDS) == 2
    assert not list(tmp_path.glob("ran-*"))


@each_cluster
@later
def test_cancel_what_runs(ex: Executor, gate: Gate) -> None:
    future, other = ex.submit(work.stay, gate.folder), ex.submit(tasks.double, 3)
    gate.wait_started()
    assert not future.cancel()
    assert future.cancel(force=True)
    with pytest.raises(concurrent.futures.CancelledError):
        future.result(SECONDS)
    assert future.cancelled()
    assert other.result(SECONDS) == 6


def test_too_late_to_cancel(ex: Executor) -> None:
    future = ex.submit(tasks.double, 1)
    future.result(SECONDS)
    assert not future.cancel()
    assert not future.cancel(force=True)
    assert future.result() == 2


@each_cluster
@later
def test_stop_of_a_run(ex: Executor, gate: Gate, started: list[Run]) -> None:
    """What the Stop button does to a cell that waits for its map."""
    results = ex.map(work.stay, [gate.folder] * 50, chunksize=1, return_exceptions=True)
    found: list[object] = []
    reader = threading.Thread(target=lambda: found.extend(results))
    reader.start()
    gate.wait_started(ex.max_workers)
    (run,) = started
    assert run.stop() == 50
    reader.join(SECONDS)
    assert not reader.is_alive()
    assert {type(r) for r in found} == {concurrent.futures.CancelledError}
    assert run.counts().cancelled == 50
    assert ex.submit(tasks.double, 1).result(SECONDS) == 2


@later
def test_stop_of_a_cell(ex: Executor, gate: Gate) -> None:
    """Single calls belong to the cell that made them."""
    run_registry.bump_epoch()
    stayed = [ex.submit(work.stay, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    queued = [ex.submit(tasks.double, i) for i in range(10)]
    assert run_registry.stop_cell() == ex.max_workers + 10
    assert not concurrent.futures.wait([*stayed, *queued], SECONDS).not_done
    assert all(future.cancelled() for future in [*stayed, *queued])


# -- pausing, resizing


@later
def test_pause_and_resume(ex: Executor) -> None:
    ex.pause()
    try:
        futures = [ex.submit(tasks.double, i) for i in range(20)]
        with pytest.raises(TimeoutError):
            futures[0].result(0.2)
        assert not any(future.done() for future in futures)
    finally:
        ex.resume()
    assert [f.result(SECONDS) for f in futures] == [2 * i for i in range(20)]


@each_cluster
@later
def test_more_workers_and_fewer(ex: Executor, able: Abilities, gate: Gate) -> None:
    """None is ended in the middle of its task, in whatever order they finish and however often one says how many."""
    held = [ex.submit(tasks.hold, gate.folder, i) for i in range(3)]
    gate.wait_started(able.workers)
    ex.set_workers(3)
    try:
        gate.wait_started(1)
        assert ex.max_workers == 3
        for count in (2, 1, 2, 1):
            ex.set_workers(count)
        assert ex.max_workers == 1
        for left in (2, 1, 0):
            gate.release()
            assert comes_down(lambda: sum(not h.done() for h in held), left)
        assert [h.result(0) for h in held] == [0, 1, 2]
        assert comes_down(lambda: ex.stats().workers, 1)
        assert ex.submit(tasks.double, 4).result(SECONDS) == 8
    finally:
        ex.set_workers(able.workers)
        gate.release(3)
    assert ex.max_workers == able.workers
    assert comes_down(lambda: able.workers - ex.stats().workers, 0)


@pytest.mark.parametrize("count", [0, 1.5, "2"])
def test_wrong_number_of_workers(ex: Executor, count: object) -> None:
    before = ex.max_workers
    with pytest.raises(cellmill.UsageError):
        ex.set_workers(count)  # type: ignore[arg-type]
    assert ex.max_workers == before


@pytest.mark.parametrize(
    ("backend", "refusal"),
    [(name, refusal) for name, able in TABLE.items() if name in KNOWN for refusal in able.refuses],
    indirect=["backend"],
    scope="session",
    ids=lambda value: getattr(value, "what", None),
)
def test_what_a_backend_cannot_do_it_says(ex: Executor, backend: str, refusal: Refusal) -> None:
    with pytest.raises(refusal.error, match=refusal.words):
        refusal.call(ex)


# -- figures


def test_stats(ex: Executor) -> None:
    before = ex.stats()
    list(ex.map(tasks.half_of_even, range(10), return_exceptions=True))
    assert ex.submit(tasks.double, 1).result(SECONDS) == 2
    after = ex.stats()
    assert after.submitted - before.submitted == 11
    assert after.succeeded - before.succeeded == 6
    assert after.failed - before.failed == 5
    assert after.done == after.submitted
    assert (after.waiting, after.queued, after.running) == (0, 0, 0)
    assert after.workers == ex.max_workers


@later
def test_stats_of_what_runs(ex: Executor, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    queued = [ex.submit(tasks.double, i) for i in range(30)]
    waiting = [ex.submit(tasks.double, held[0]) for _ in range(3)]
    stats = ex.stats()
    gate.release(ex.max_workers)
    assert (stats.running, stats.queued, stats.waiting) == (ex.max_workers, 30, 3)
    concurrent.futures.wait([*held, *queued, *waiting], SECONDS)


@each_cluster
def test_workers(ex: Executor, able: Abilities) -> None:
    places = ex.run_on_workers(work.who)
    found = ex.workers()
    assert len(found) == len(places) == ex.max_workers
    assert sorted(w.pid for w in found) == sorted(process for process, _ in places)
    assert len({w.index for w in found}) == len(found)
    if not able.apart:
        assert {w.pid for w in found} == {os.getpid()}


def test_run_of_a_map(ex: Executor, started: list[Run]) -> None:
    list(ex.map(tasks.half_of_even, range(100), return_exceptions=True))
    (run,) = started
    counts = run.counts()
    assert (run.name, run.expected) == ("half_of_even", 100)
    assert (counts.submitted, counts.succeeded, counts.failed, counts.done) == (100, 50, 50, 100)
    assert run.finished
    assert [(m.count, m.kind) for m in run.failures()] == [(50, "ValueError")]


def test_journeys(ex: Executor, able: Abilities, started: list[Run]) -> None:
    """A row for each element and each call, with all stamps this backend can tell, in their order."""
    seen = len(list(ex.journey_rows()))
    list(ex.map(tasks.half_of_even, range(40), chunksize=8, return_exceptions=True))
    single = ex.submit(tasks.double, ex.submit(tasks.double, 1))
    assert single.result(SECONDS) == 4
    rows = list(ex.journey_rows())[seen:]
    if not able.stages:
        assert rows == []
        return
    mine = [row for row in rows if row["run"] == started[0].key and row["function"] == "half_of_even"]
    assert len(mine) == 40
    assert sorted(row["status"] for row in mine) == ["done"] * 20 + ["failed"] * 20
    assert len({(row["task"], row["element"]) for row in mine}) == 40
    assert sum(row["function"] == "double" for row in rows) == 2
    for row in rows:
        stamps = [row[stage] for stage in STAGES if row[stage] is not None]
        assert {stage for stage in STAGES if row[stage] is not None} >= set(able.stages), row
        assert stamps == sorted(stamps), row
        assert row["worker"] is not None


def test_journeys_as_a_table(ex: Executor, able: Abilities, started: list[Run]) -> None:
    pytest.importorskip("pandas")
    list(ex.map(tasks.double, range(10)))
    table = cellmill.journeys(started[0], executor=ex)
    assert len(table) == (10 if able.stages else 0)
    assert set(STAGES) < set(table.columns)
