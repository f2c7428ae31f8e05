"""A failing call names itself on every backend: which one it was, and which task by its number."""

from __future__ import annotations

import os
import re
import traceback
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import DependencyError, Executor, TaskTimeoutError, WorkerLostError
from cellmill.diagnostics.naming import call_of
from tests.contract import work
from tests.contract.abilities import elsewhere, later, same_on_clusters
from tests.support.helpers import SECONDS


def _notes(error: BaseException | None) -> list[str]:
    assert error is not None
    return list(getattr(error, "__notes__", []))


def test_a_call(ex: Executor) -> None:
    assert _notes(ex.submit(work.broken, "7.csv").exception(SECONDS)) == ["in broken('7.csv')"]
    assert _notes(ex.submit(work.divided, 1, by=0).exception(SECONDS)) == ["in divided(1, by=0)"]
    many = ex.options(retries=1).submit(work.broken, "x" * 1000).exception(SECONDS)
    assert len(_notes(many)) == 1
    assert len(_notes(many)[0]) < 60
    f = cellmill.parallel(work.broken, executor=ex)
    assert _notes(f("8.csv").exception(SECONDS)) == ["in broken('8.csv')"]


def test_an_item_of_a_batch(ex: Executor) -> None:
    f = cellmill.parallel(batch=True, executor=ex)(work.all_broken)
    assert _notes(f("7.csv").exception(SECONDS)) == ["in all_broken('7.csv')"]


def test_a_call_on_each_worker(ex: Executor) -> None:
    with pytest.raises(OSError, match="on each worker") as caught:
        ex.run_on_workers(work.all_fail)
    assert _notes(caught.value) == ["in all_fail() on each worker"]


def test_arguments_of_a_starmap(ex: Executor) -> None:
    found = list(ex.starmap(work.divided, [(1, 2), (1, 0)], return_exceptions=True))
    assert _notes(found[1]) == ["in element 1 of a map: divided(1, 0)"]


def test_an_input_that_failed(ex: Executor) -> None:
    bad = ex.submit(work.broken, "7.csv")
    first = ex.submit(work.divided, bad, by=2)
    for future in (first, ex.submit(work.divided, first, by=3)):
        error = future.exception(SECONDS)
        assert type(error) is DependencyError
        assert error.__cause__ is bad.exception()
        assert "broken('7.csv')" in str(error)
        assert "failed with" in str(error)
    assert re.search(r"in divided\(<input 1>, by=2\)", _notes(first.exception())[0])
    late = ex.submit(work.divided, bad, by=2).exception(SECONDS)
    assert "its input broken('7.csv')" in str(late)
    assert _notes(late) == ["in divided(<input 1>, by=2)"]


@elsewhere
def test_the_number_of_the_task(ex: Executor) -> None:
    future = ex.submit(work.broken, "7.csv")
    error = future.exception(SECONDS)
    text = "".join(traceback.format_exception(error))
    name = f"#{future._ticket >> 32}"
    assert f"RemoteTraceback: task {name}, most recent call last\n" in text
    assert text.count("most recent call last") == 1
    dependent = ex.submit(abs, future).exception(SECONDS)
    assert "broken('7.csv'), task " + name in str(dependent)
    assert call_of(error) == f"broken('7.csv'), task {name},"
    assert call_of(dependent) == "abs(<input 1>)"  # it has not the number of its input
    found: Any = next(iter(ex.map(work.broken, ["1.csv"], return_exceptions=True)))
    assert re.search(r"RemoteTraceback: task #\d+, most", "".join(traceback.format_exception(found)))
    inspector = ex._backend.observer.tasks  # type: ignore[attr-defined]
    assert inspector.find(task=future._ticket >> 32, most=1)[0][0].task == future._ticket


@same_on_clusters
@elsewhere
def test_a_lost_worker(ex: Executor) -> None:
    error = ex.submit(work.leave, 3).exception(SECONDS)
    assert isinstance(error, WorkerLostError)
    assert _notes(error) == ["in leave(3)"]
    assert "leave(3)" in str(error)


@later
def test_a_time_limit(ex: Executor, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "started")
    end = os.open(tmp_path / "started", os.O_RDWR)
    future = ex.options(timeout=0.2).submit(work.stay, str(tmp_path))
    error = future.exception(SECONDS)
    os.close(end)
    assert isinstance(error, TaskTimeoutError)
    assert f", task #{future._ticket >> 32}, ran past its time limit" in str(error)
    assert "in stay('/" in _notes(error)[0]
