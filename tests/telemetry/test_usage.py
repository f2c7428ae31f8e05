"""What workers use over time, by function and beside what tasks declare: of real pools."""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, UsageError, set_default_executor
from cellmill.telemetry import schema
from cellmill.telemetry.usage import Point, UsageHistory, of_worker, pack_workers, worker_values
from cellmill.views import commands
from cellmill.views.scope import scope_of
from cellmill.views.sections.journey import JourneySection
from cellmill.views.sections.usage import UsageSection
from cellmill.views.sections.workers import WorkersSection
from tests.support.waiting import until
from tests.telemetry.work import BLOCK, large, small

SECONDS = 60
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with Executor(2) as made:
        set_default_executor(made)
        yield made
        set_default_executor(None)


def row(start: float, time: float, busy: float, memory: float, worker: float) -> Point:
    workers = pack_workers({3: (worker, busy)})
    return Point(start, time, busy, 2 - busy, memory, busy, 0.1, 4 * memory, workers)


def test_rows_stay_few_and_cover_the_whole_run() -> None:
    history = UsageHistory(most=100)
    for n in range(10_000):
        history.push(row(n, n + 1, n % 2, 1000.0 if n == 4321 else 1.0, float(n)))
    points = history.points(0)
    assert 25 < len(points) <= 100
    assert (points[0].start, points[-1].time) == (0, 10_000)
    assert all(a.time == b.start for a, b in pairwise(points))
    assert max(point.memory for point in points) == 1000  # the most that was seen stays
    whole = sum(point.busy * (point.time - point.start) for point in points)
    assert whole == pytest.approx(5000)
    assert worker_values(points[-1].workers)[3][0] == 9999
    assert history.points(2000, 3000)[0].start <= 2000
    history.begin()
    history.push(row(20_000, 20_001, 1, 1, 1))
    assert len(history.points(15_000)) == 1
    assert len(history.points(0, 15_000)) <= 100
    assert of_worker(history.points(15_000), 4) == []


def test_rows_are_no_objects() -> None:
    """Those among tasks that come and go would keep memory of these from being given back."""
    history = UsageHistory()
    history.push(row(0, 1, 1.0, 1.0, 1.0))
    gc.collect()
    before = sys.getallocatedblocks()
    for n in range(1, 500):
        history.push(row(n, n + 1, 1.0, 1.0, float(n)))
    assert sys.getallocatedblocks() - before < 1000  # nine of each row would be 4500; other threads have some
    assert [point.time for point in history.points(0)] == [*range(1, 501)]


def test_memory_of_a_function_and_over_time(executor: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    backend: Any = executor._backend
    of_large = executor.map(large, [str(gate)])
    of_small = executor.map(small, [str(gate)])
    runs = cellmill.runs()[-2:]
    ids = {run.name: run.id for run in runs}
    until(lambda: all(run.memory for run in cellmill.runs()[-2:]))
    until(lambda: (cellmill.runs()[-2].memory or 0) > BLOCK)
    until(lambda: len(backend.use.points(0)) > 3)
    gate.touch()
    assert [*of_large, *of_small] == [BLOCK, None]
    peaks = {run.name: run.memory or 0 for run in cellmill.runs()[-2:]}
    assert peaks["small"] > MEGABYTE
    assert peaks["large"] - peaks["small"] > 0.8 * BLOCK  # both have what their process had before
    assert "MB" in repr(cellmill.runs())
    section = JourneySection()
    journeys = until(lambda: (frame := section.frame(executor)) and len(frame["functions"]) == 2 and frame)
    told = {one["name"]: one["memory"] for one in journeys["functions"]}
    assert told == peaks
    usage(executor, ids["large"])


def usage(executor: Executor, run: int) -> None:
    """The frame of a run that is over, and what one of its workers had."""
    scope = scope_of(executor, run)
    assert scope is not None
    frame: Any = UsageSection(scope).frame(executor)
    columns = {name: array("d", frame[name]) for name in schema.BUFFERS["usage"]}
    assert len({len(column) for column in columns.values()}) == 1
    assert frame["known"]
    assert columns["time"][0] >= scope.began
    assert max(columns["busy"]) == 2
    memory = [value for value in columns["memory"] if value == value]  # NaN: no worker had begun
    assert BLOCK < max(memory) < frame["limit"]
    assert 0 < max(columns["used"]) <= frame["limit"]
    command = {"cellmill": schema.VERSION, "kind": "show-worker-usage", "request": 7, "run": run}
    most = []
    for worker in (0, 1):
        answer: Any = commands.obey({**command, "worker": worker}, executor)
        assert answer["request"] == 7
        assert len(answer["time"]) == len(answer["cpu"]) == len(answer["memory"]) > 0
        most.append(max(array("d", answer["memory"])))  # NaN has no place here: it is a size that was read
    assert max(most) - min(most) > 0.8 * BLOCK
    with pytest.raises(UsageError, match="whole numbers"):
        commands.obey({**command, "worker": "1"}, executor)


def declared(executor: Executor) -> set[int | None]:
    """What the tasks that run declare, as the panel is told."""
    frame: Any = WorkersSection().frame(executor)
    return {worker["declared"] for worker in frame["workers"]} if frame else set()


def test_a_task_near_its_declared_memory(executor: Executor, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    near = executor.options(memory=BLOCK).submit(large, str(gate))
    far = executor.options(memory="3GB").submit(small, str(gate))
    said = until(lambda: (words := str(cellmill.why(near))) and "the task declares" in words and words)
    assert "It does not wait" in said
    until(lambda: declared(executor) == {BLOCK, 3 * 10**9})
    gate.touch()
    assert near.result(SECONDS) == BLOCK
    far.result(SECONDS)
    assert "the task declares 126 MB" in str(cellmill.why(near))
    assert "declares" not in str(cellmill.why(far))
    command = {"cellmill": schema.VERSION, "kind": "show-task", "request": 1, "element": None}
    detail: Any = commands.obey({**command, "task": str(near._ticket)}, executor)
    assert detail["declared"] == BLOCK
    assert detail["memory"] >= 0.9 * BLOCK  # of its own: what it shares with the zygote is not counted


def test_nothing_is_told_where_it_is_not_known() -> None:
    with Executor(backend="inline") as inline:
        assert inline.submit(abs, -1).result(SECONDS) == 1
        frame: Any = UsageSection().frame(inline)
    assert not frame["known"]
    assert frame["memory"] == b""
