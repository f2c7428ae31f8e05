"""Workers that die before they are ready: a few are replaced, a rule of it ends the pool with the reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from cellmill.backends.local import failed_starts
from cellmill.backends.local.failed_starts import FailedStarts
from tests.support import tasks
from tests.support.helpers import SECONDS
from tests.support.waiting import until


def live_from(folder: str, first: int) -> None:
    """An initializer: the starts before the one of this number are deadly."""
    if tasks.count_call(folder) < first:
        os.kill(os.getpid(), 9)


def live_once(folder: str) -> None:
    """An initializer: only the first start is not deadly."""
    if tasks.count_call(folder) > 1:
        os._exit(3)


def test_a_few_deaths_at_the_start_are_survived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_starts, "LEAST_SECONDS", SECONDS)
    with Executor(1, initializer=live_from, initargs=(str(tmp_path), failed_starts.MOST + 2)) as pool:
        assert pool.submit(tasks.double, 4).result(SECONDS) == 8


def test_a_worker_that_stands_keeps_the_pool_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failed_starts, "LEAST_SECONDS", 0.0)
    with Executor(2, initializer=live_once, initargs=(str(tmp_path),)) as pool:
        for starts in range(1, failed_starts.MOST + 4):
            until(lambda: len(list(tmp_path.iterdir())) >= starts)  # noqa: B023
            assert pool.submit(tasks.double, 4).result(SECONDS) == 8
        pool.set_workers(1)


def test_deaths_without_end_break_the_pool() -> None:
    pool = Executor(2, initializer=os._exit, initargs=(3,))
    with pytest.raises(cellmill.WorkerLostError, match=r"died before they were ready.*exit code 3"):
        pool.submit(tasks.double, 4).result(SECONDS)
    pool.shutdown()


def test_a_row_of_deaths(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(failed_starts.time, "monotonic", lambda: now)
    row = FailedStarts()
    for _ in range(failed_starts.MOST - 1):
        row.add()
    assert not row.pause
    now += failed_starts.LEAST_SECONDS
    assert not row.hopeless
    row.add()
    assert row.hopeless
    assert row.pause > 0
    now += failed_starts.ROW_SECONDS + 1
    row.add()
    assert (row.count, row.hopeless) == (1, False)
    row.end()
    assert row.count == 0
