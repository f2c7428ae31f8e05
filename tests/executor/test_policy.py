"""Policies seen from outside: what is sent to a worker comes back when it would wait there too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from cellmill import Executor
from cellmill.task import POLICIES
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

TAKES_BACK = ("least-loaded", "work-stealing")


def warm(executor: Executor) -> None:
    """Many short tasks, so that the workers count as fast and get many at once."""
    for future in [executor.submit(tasks.same, i) for i in range(2000)]:
        future.result(SECONDS)


@pytest.mark.parametrize("policy", TAKES_BACK)
def test_short_tasks_do_not_wait_behind_a_long_one(policy: str, gate: Gate) -> None:
    with Executor(2) as ex:
        ex.policy = policy
        warm(ex)
        held = ex.submit(tasks.hold, gate.folder)
        gate.wait_started()
        short = [ex.submit(tasks.double, i) for i in range(500)]
        assert [f.result(SECONDS) for f in short] == [2 * i for i in range(500)]
        assert not held.done()
        gate.release()
        held.result(SECONDS)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_higher_priority_runs_next_on_workers_that_were_fast(policy: str, gate: Gate) -> None:
    with Executor(1) as ex:
        ex.policy = policy
        warm(ex)
        held = ex.submit(tasks.hold, gate.folder)
        gate.wait_started()
        low = [ex.submit(tasks.same, i) for i in range(300)]
        high = [ex.options(priority=i).submit(tasks.same, i) for i in range(1, 30)]
        gate.release()
        for future in (held, *low, *high):
            future.result(SECONDS)
        rows = sorted(list(ex.journey_rows())[2000:], key=lambda row: row["submitted"])
        order = sorted(range(len(rows)), key=lambda place: rows[place]["started"])
        assert order == [0, *range(329, 300, -1), *range(1, 301)]


@pytest.mark.parametrize("policy", POLICIES)
def test_changing_the_policy_loses_nothing(policy: str, gate: Gate) -> None:
    with Executor(2) as ex:
        held = ex.submit(tasks.hold, gate.folder)
        gate.wait_started()
        before = [ex.submit(tasks.double, i) for i in range(200)]
        ex.policy = policy
        after = [ex.submit(tasks.double, i) for i in range(200)]
        gate.release()
        assert [f.result(SECONDS) for f in before + after] == 2 * [2 * i for i in range(200)]
        held.result(SECONDS)


def test_each_task_runs_once_however_often_it_moved(gate: Gate, tmp_path: Path) -> None:
    """Long and short ones, priorities and stealing at once; a file per task counts its runs."""
    folders = [tmp_path / str(i) for i in range(60)]
    for folder in folders:
        folder.mkdir()
    with Executor(3) as ex:
        warm(ex)
        holding = [ex.submit(tasks.hold, gate.folder) for _ in range(2)]
        gate.wait_started(2)
        counted = [ex.options(priority=i % 3).submit(tasks.count_call, str(f)) for i, f in enumerate(folders)]
        assert [f.result(SECONDS) for f in counted] == [1] * len(folders)
        gate.release(2)
        for future in holding:
            future.result(SECONDS)
    assert [len(list(folder.iterdir())) for folder in folders] == [1] * len(folders)
