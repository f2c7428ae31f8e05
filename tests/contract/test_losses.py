"""Workers that end in the middle: only the task that did it is lost, and it is named."""

from __future__ import annotations

import os
import signal
from concurrent.futures import wait
from concurrent.futures.process import BrokenProcessPool

import pytest

import cellmill
from cellmill import Executor
from cellmill.history import Runs
from tests.contract import work
from tests.contract.abilities import each_cluster, elsewhere, own_cluster
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

pytestmark = [elsewhere, each_cluster]


def test_only_the_culprit_is_lost(ex: Executor) -> None:
    known = ex.stats()
    before = [ex.submit(tasks.double, i) for i in range(20)]
    culprit = ex.submit(work.leave, 7)
    after = [ex.submit(tasks.double, i) for i in range(20)]
    error = culprit.exception(SECONDS)
    assert isinstance(error, cellmill.WorkerLostError)
    assert isinstance(error, BrokenProcessPool)
    assert error.function == "leave"
    assert error.arguments == "7"
    assert "leave(7)" in str(error)
    assert [f.result(SECONDS) for f in before + after] == [2 * i for i in range(20)] * 2
    stats = ex.stats()
    assert (stats.failed - known.failed, stats.lost - known.lost) == (1, 1)
    assert [row["status"] for row in ex.journey_rows() if row["task"] == culprit._ticket] == ["lost"]
    assert list(ex.map(tasks.double, range(100))) == [2 * i for i in range(100)]


@own_cluster
def test_one_element_of_a_map(ex: Executor) -> None:
    results = list(ex.map(work.leave_at, range(20), [13] * 20, return_exceptions=True))
    error = results.pop(13)
    assert isinstance(error, cellmill.WorkerLostError)
    assert "13" in error.arguments
    assert results == [i for i in range(20) if i != 13]
    record = next(run for run in reversed(cellmill.runs()) if run.name == "leave_at")
    assert (record.succeeded, record.failed, record.lost, record.cancelled) == (19, 1, 1, 0)
    assert "1 (1 lost)" in repr(Runs([record]))


@own_cluster
def test_a_lost_task_can_be_retried(ex: Executor, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = str(tmp_path_factory.mktemp("calls"))

    def leave_once() -> int:
        calls = tasks.count_call(folder)
        if calls == 1:
            os._exit(3)
        return calls

    assert ex.options(retries=1).submit(leave_once).result(SECONDS) == 2


@own_cluster
def test_a_worker_killed_from_outside(ex: Executor, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder, i) for i in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    queued = [ex.submit(tasks.double, i) for i in range(20)]
    os.kill(ex.workers()[0].pid, signal.SIGKILL)
    gate.release(3 * ex.max_workers)  # some may be run again
    wait(held, SECONDS)
    for i, future in enumerate(held):
        error = future.exception(SECONDS)
        assert isinstance(error, cellmill.WorkerLostError) or future.result() == i
    assert [f.result(SECONDS) for f in queued] == [2 * i for i in range(20)]
