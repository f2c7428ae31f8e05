"""Observers are told of every task, and one that fails is removed, said once, and harms nothing."""

from __future__ import annotations

import logging
import threading
import time
import warnings
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor, UsageError
from tests.support import tasks
from tests.support.helpers import SECONDS


def test_every_task_is_told_once(pool: Executor) -> None:
    seen: list[cellmill.TaskEnd] = []
    stop = cellmill.on_task(seen.append)
    list(pool.map(tasks.fails_at_tens, range(300), return_exceptions=True))
    run = cellmill.runs()[-1].id
    assert pool.submit(tasks.double, 4).result(SECONDS) == 8
    stop()
    of_run = [end for end in seen if end.run == run]
    assert len(of_run) == 300
    assert sum(end.status == "failed" for end in of_run) == 30
    assert all(end.ran > 0 and end.queued >= 0 for end in of_run)
    assert {end.worker for end in of_run} <= {worker.index for worker in pool.workers()}
    (alone,) = [end for end in seen if end.run is None]
    assert (alone.function, alone.status) == ("double", "done")
    list(pool.map(tasks.double, range(10)))
    assert len(seen) == 301


def test_what_did_not_end_well_is_told_with_the_time_that_it_ran(fresh: Executor, tmp_path: Path) -> None:
    """An attempt that is retried, a task at its limit and one that was lost: each has run, and waited only before."""
    seen: list[cellmill.TaskEnd] = []
    stop = cellmill.on_task(seen.append)
    started = time.monotonic()
    assert fresh.options(retries=1).submit(tasks.fail_first, str(tmp_path)).result(SECONDS) == 2
    assert fresh.options(timeout=0.5).submit(time.sleep, tasks.HELD_SECONDS).exception(SECONDS) is not None
    assert fresh.submit(tasks.die, "SIGKILL").exception(SECONDS) is not None
    took = time.monotonic() - started
    stop()
    by_status = {end.status: end for end in seen}
    assert set(by_status) == {"retried", "done", "timeout", "lost"}
    assert 0.25 <= by_status["timeout"].ran <= took  # the limit is from when its worker took it
    assert by_status["retried"].ran > 0
    again = by_status["done"]
    assert again.attempt == 1
    assert again.queued + again.ran + by_status["retried"].ran <= took


def test_what_a_callback_has_told_is_told_before_the_end(pool: Executor) -> None:
    """A thread in the background settles a future with a callback: it completes the journey after that."""
    for number in range(10):
        seen: list[cellmill.TaskEnd] = []
        over = threading.Event()
        stop = cellmill.on_task(seen.append)
        pool.submit(tasks.double, number).add_done_callback(lambda _, over=over: over.set())  # type: ignore[misc]
        assert over.wait(SECONDS)
        stop()
        assert [end.function for end in seen] == ["double"]


def test_tasks_of_an_executor_that_comes_later_are_told() -> None:
    seen: list[cellmill.TaskEnd] = []
    stop = cellmill.on_task(seen.append)
    with Executor(1) as executor:
        assert executor.submit(tasks.double, 4).result(SECONDS) == 8
        stop()
    assert [end.function for end in seen] == ["double"]


def test_an_observer_that_fails_is_removed_and_said_once(pool: Executor) -> None:
    told, over = [], threading.Event()

    def broken(end: cellmill.TaskEnd) -> None:
        told.append(end)
        over.set()
        raise RuntimeError("no space in the notebook")

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stop = cellmill.on_task(broken)
        assert list(pool.map(tasks.double, range(20)))[-1] == 38
        assert over.wait(SECONDS)
        stop()
        list(pool.map(tasks.double, range(20)))
    assert len(told) == 1
    (warning,) = [each for each in said if "observer" in str(each.message)]
    assert "broken was removed: it raised RuntimeError: no space in the notebook" in str(warning.message)
    assert warning.filename == __file__


def test_records_of_logging_have_the_fields(pool: Executor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "cellmill.tasks")
    stop = cellmill.log_tasks()
    list(pool.map(tasks.fails_at_tens, range(20), return_exceptions=True))
    stop()
    records = [each for each in caplog.records if each.name == "cellmill.tasks"]
    assert [each.levelname for each in records].count("WARNING") == 2
    assert len(records) == 20
    assert records[0].cellmill["function"] == "fails_at_tens"  # type: ignore[attr-defined]
    assert "fails_at_tens #" in records[0].getMessage()


def test_an_observer_is_a_function() -> None:
    with pytest.raises(UsageError, match="function of one argument"):
        cellmill.on_task(7)  # type: ignore[arg-type]
