"""The state map of real pools: every task in its place with what became of it, however it came to an end."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, run_registry
from cellmill.errors import UsageError
from cellmill.telemetry import schema
from cellmill.telemetry.progress import ProgressFold
from cellmill.views import commands
from cellmill.views.samples import take_sample
from cellmill.views.sections.state_map import BYTES_PER_SECOND, MOST_CELLS, StateMapSection, span_for
from tests.telemetry.work import (
    die_at,
    double_all,
    every_third,
    every_thousandth,
    fail_first,
    hold,
    hold_some,
)

WAIT = 60
STATES = ("unknown", "waiting", "queued", "running", "done", "failed", "cancelled", "lost")


@pytest.fixture
def fresh() -> Iterator[Executor]:
    """Two workers of its own."""
    executor = Executor(2)
    yield executor
    for run in run_registry.active_runs():
        run.stop()
    executor.shutdown(cancel_futures=True)


def unpack(packed: bytes) -> bytes:
    """PackBits, as pages read it."""
    out, at = bytearray(), 0
    while at < len(packed):
        head = packed[at]
        if head < 128:
            out += packed[at + 1 : at + head + 2]
            at += head + 2
        else:
            out += packed[at + 1 : at + 2] * (257 - head)
            at += 2
    return bytes(out)


def states_of(executor: Executor, start: int = 0) -> list[str]:
    """The state of every task, in order."""
    states = executor._backend.states  # type: ignore[attr-defined]
    picture = states.picture(start, 1 << 53, 1, MOST_CELLS)
    cells = [STATES[cell] for cell in unpack(picture.cells)]
    assert Counter(cells) == {s: n for s, n in zip(STATES, picture.counts, strict=True) if n}
    assert len(cells) == picture.last - picture.first
    return cells


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


class Unloadable:
    """A result that raises when it is unpickled in the kernel."""

    def __init__(self, home: int) -> None:
        self.home = home

    def __setstate__(self, state: dict[str, int]) -> None:
        if os.getpid() == state["home"]:
            raise ValueError("not here")


def unloadable_at_seven(item: tuple[int, int]) -> Any:
    return Unloadable(item[1]) if item[0] == 7 else item[0]


def test_failures_within_chunks_are_marked_one_by_one(fresh: Executor) -> None:
    results = list(fresh.map(every_third, range(1000), chunksize=50, return_exceptions=True))
    assert sum(isinstance(r, ValueError) for r in results) == 334
    assert states_of(fresh) == ["done" if x % 3 else "failed" for x in range(1000)]


def test_single_calls_and_those_that_wait(fresh: Executor, tmp_path: Path) -> None:
    first = fresh.submit(hold, str(tmp_path / "gate"))
    bad = fresh.submit(every_third, 3)
    waits = fresh.submit(hold_some, (first, ""))  # type: ignore[arg-type]
    after = fresh.options(after=[first]).submit(every_third, 1)
    follows = fresh.options(after=[bad]).submit(every_third, 1)
    until(lambda: states_of(fresh)[0] == "running")
    assert states_of(fresh)[3] == "waiting"
    (tmp_path / "gate").touch()
    assert after.result(WAIT) == 1
    assert isinstance(follows.exception(WAIT), cellmill.DependencyError)
    waits.exception(WAIT)
    assert states_of(fresh)[0] == "done"
    assert [states_of(fresh)[i] for i in (1, 3, 4)] == ["failed", "done", "failed"]
    with pytest.raises(cellmill.DependencyError):  # it failed before it was submitted
        fresh.options(after=[bad]).submit(every_third, 1).result(WAIT)
    assert states_of(fresh)[-1] == "failed"
    assert len(states_of(fresh)) == fresh.stats().submitted


def test_a_killed_workers_chunk_loses_one(fresh: Executor) -> None:
    results = list(fresh.map(die_at, [(i, "") for i in range(100)], chunksize=20, return_exceptions=True))
    assert isinstance(results[37], cellmill.WorkerLostError)
    assert states_of(fresh) == ["lost" if i == 37 else "done" for i in range(100)]


def test_retried_elements_keep_their_places(fresh: Executor, tmp_path: Path) -> None:
    items = [(i, str(tmp_path)) for i in range(60)]
    results = list(fresh.options(retries=1).map(fail_first, items, chunksize=15))
    assert results == list(range(60))
    assert states_of(fresh) == ["done"] * 60
    with pytest.raises(ValueError, match="3"):
        fresh.options(retries=2).submit(every_third, 3).result(WAIT)
    assert states_of(fresh)[60:] == ["failed"]


def test_a_chunk_in_the_middle_of_its_work(tmp_path: Path) -> None:
    """One worker, so that chunks are run in order: the elements before the one that runs count as done."""
    gate = tmp_path / "gate"
    with Executor(1) as one:
        results = one.map(hold_some, [(i, str(gate) if i >= 6 else "") for i in range(20)], chunksize=20)
        until(lambda: states_of(one) == ["done"] * 6 + ["running"] + ["queued"] * 13)
        gate.touch()
        assert list(results) == list(range(20))
        assert states_of(one) == ["done"] * 20


def test_stopped_maps_end_cancelled_whole(fresh: Executor, tmp_path: Path) -> None:
    items = [(i, str(tmp_path / "gate") if i >= 20 else "") for i in range(500)]
    fresh.set_workers(1)  # in order
    results = fresh.map(hold_some, items, chunksize=5, return_exceptions=True)
    until(lambda: states_of(fresh).count("done") == 20)
    for run in run_registry.active_runs():
        run.stop()
    assert sum(isinstance(r, CancelledError) for r in results) == 480
    assert states_of(fresh) == ["done"] * 20 + ["cancelled"] * 480
    assert fresh.stats().cancelled == 480


def test_arguments_and_results_that_do_not_travel(fresh: Executor) -> None:
    items: list[Any] = list(range(20))
    items[11] = threading.Lock()
    results = list(fresh.map(repr, items, chunksize=20, return_exceptions=True))
    assert isinstance(results[11], cellmill.PayloadError)
    assert Counter(states_of(fresh)) == {"done": 19, "failed": 1}
    given = [(i, os.getpid()) for i in range(10)]
    results = list(fresh.map(unloadable_at_seven, given, chunksize=10, return_exceptions=True))
    assert isinstance(results[7], cellmill.PayloadError)
    assert states_of(fresh, 20) == ["failed" if i == 7 else "done" for i in range(10)]


def test_batches(fresh: Executor) -> None:
    batch = fresh.options(batch=True)
    results = list(batch.map(double_all, range(10), chunksize=10, return_exceptions=True))
    assert isinstance(results[5], ValueError)
    assert states_of(fresh) == ["failed" if i == 5 else "done" for i in range(10)]


def test_journeys_tell_positions(fresh: Executor) -> None:
    list(fresh.map(every_third, range(40), chunksize=8, return_exceptions=True))
    future = fresh.submit(every_third, 1)
    assert future.result(WAIT) == 1
    rows = list(fresh.journey_rows())
    assert sorted(row["position"] for row in rows) == list(range(41))
    assert {row["position"] for row in rows if row["task"] == future._ticket} == {40}


@pytest.mark.parametrize(
    ("count", "span"), [(200_000, 16), pytest.param(1_000_000, 64, marks=pytest.mark.long)]
)
def test_very_many_tasks(fresh: Executor, count: int, span: int) -> None:
    """In cells of many, watched while they run; no task is missing, and no second takes more bytes than allowed."""
    section = StateMapSection()
    section.follow(lambda: (1, 0, count))
    frames: list[
        tuple[float, schema.StateMap, float]
    ] = []  # between the times when it was asked for and was there
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            asked = time.monotonic()
            if (frame := section.frame(fresh)) is not None:
                frames.append((asked, frame, time.monotonic()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in fresh.map(every_thousandth, range(count), return_exceptions=True):
        pass
    over.set()
    watcher.join()
    section.restart()
    last = section.frame(fresh)
    assert last is not None
    assert (last["span"], last["start"], last["end"], last["total"]) == (span, 0, count, count)
    assert (last["counts"]["done"], last["counts"]["failed"]) == (count - count // 1000, count // 1000)
    cells = unpack(last["cells"])
    assert len(cells) == count // span
    assert cells == bytes(14 | 16 if -first % 1000 < span else 15 for first in range(0, count, span))
    assert frames
    over_by_then = [frame["counts"]["done"] + frame["counts"]["failed"] for _, frame, _ in frames]
    assert over_by_then == sorted(over_by_then)
    for (asked, frame, _), (_, _, next_there) in pairwise(frames):
        assert next_there - asked >= len(frame["cells"]) / BYTES_PER_SECOND - 0.001


def test_each_piece_of_work_has_a_map_of_its_own(fresh: Executor) -> None:
    fold = ProgressFold()
    section = StateMapSection()
    section.follow(lambda: fold.bounds)
    fold.snapshot(take_sample(fresh), [])
    list(fresh.map(every_third, range(30), return_exceptions=True))
    fold.snapshot(take_sample(fresh), [])
    first = section.frame(fresh)
    assert first is not None
    assert (first["origin"], first["end"], first["total"], first["span"]) == (0, 30, 30, 1)
    assert section.frame(fresh) is None  # nothing changed
    fold.cell_started(take_sample(fresh))
    for x in range(1, 6):
        fresh.submit(every_third, x).exception(WAIT)
    fold.snapshot(take_sample(fresh), [])
    until(lambda: (frame := section.frame(fresh)) is not None and frame["counts"]["done"] == 4)
    section.restart()
    second = section.frame(fresh)
    assert second is not None
    assert second["work"] == first["work"] + 1
    assert (second["origin"], second["end"], second["total"]) == (30, 35, 5)
    assert [STATES[cell] for cell in unpack(second["cells"])] == ["done", "done", "failed", "done", "done"]


def test_a_closer_look(fresh: Executor) -> None:
    before = cellmill.peek_default_executor()
    cellmill.set_default_executor(fresh)
    try:
        list(fresh.map(every_third, range(100), return_exceptions=True))
        ask = {"cellmill": schema.VERSION, "kind": "zoom-map", "request": 9, "start": 30, "end": 40}
        part = commands.obey(ask, fresh)
        assert part is not None
        assert part["kind"] == "map-part"
        assert (part["request"], part["start"], part["end"], part["span"]) == (9, 30, 40, 1)
        assert unpack(part["cells"]) == bytes(4 if x % 3 else 5 for x in range(30, 40))
        for wrong in ({"start": 40}, {"start": -1}, {"end": "40"}, {"end": 1 << 60}, {"request": None}):
            with pytest.raises(UsageError):
                commands.obey({**ask, **wrong}, fresh)
    finally:
        cellmill.set_default_executor(before)


def test_a_backend_without_a_map() -> None:
    with Executor(backend="inline") as inline:
        assert StateMapSection().frame(inline) is None
        assert take_sample(inline).position == 0


def test_cells_of_a_picture() -> None:
    assert [span_for(n) for n in (0, 1, MOST_CELLS, MOST_CELLS + 1, 1_000_000)] == [1, 1, 1, 2, 64]
