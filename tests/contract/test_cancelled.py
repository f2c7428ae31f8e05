"""A cancelled error says what was cancelled, by whom, and how much was done; on every backend where tasks can wait."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import CancelledError, as_completed
from typing import Any

import pytest

import cellmill
from cellmill import DependencyError, Executor, run_registry
from cellmill.diagnostics import blame
from cellmill.telemetry.schema import VERSION
from cellmill.views.commands import obey
from tests.contract import work
from tests.contract.abilities import each_cluster, later, own_cluster
from tests.support import tasks
from tests.support.helpers import SECONDS

pytestmark = later


def _words(future: Any) -> str:
    with pytest.raises(CancelledError) as caught:
        future.result(SECONDS)
    assert type(caught.value) is CancelledError
    with pytest.raises(CancelledError, match=re.escape(str(caught.value))):
        future.exception(SECONDS)
    return str(caught.value)


@pytest.fixture
def held(ex: Executor) -> Any:
    """The executor, which begins nothing."""
    ex.pause()
    yield ex
    ex.resume()


@each_cluster
def test_by_its_future(held: Executor) -> None:
    future = held.submit(work.divided, 7, by=2)
    assert future.cancel()
    number = future._ticket >> 32
    assert _words(future) == f"divided(7, by=2), task #{number}, was cancelled by cancel() of its future"
    assert next(as_completed([future])).cancelled()


def test_it_names_what_cancelled(held: Executor) -> None:
    f = cellmill.parallel(tasks.double, executor=held)

    def cell(act: Callable[[], Any]) -> str:
        run_registry.bump_epoch()
        futures = [f(i) for i in range(3)]
        act()
        words = {_words(future).split(" was cancelled by ")[1] for future in futures}
        assert _words(futures[2]).startswith(f"double(2), task #{futures[2]._ticket >> 32}, was")
        assert len(words) == 1
        return words.pop()

    panel = {"cellmill": VERSION, "kind": "cancel-run"}
    assert cell(held.stop) == "stop() of its executor: 0 of 3 calls were done"
    assert cell(run_registry.stop_cell) == "Stop, which interrupted its cell: 0 of 3 calls were done"
    assert cell(lambda: obey(panel, held)) == "Cancel in the panel: 0 of 3 calls were done"
    assert (
        cell(lambda: cellmill.cancel(run_registry.active_runs()[-1]))
        == "cellmill.cancel(): 0 of 3 calls were done"
    )
    assert (
        cell(lambda: run_registry.active_runs()[-1].cancel()) == "cancel() of its run: 0 of 3 calls were done"
    )


def test_one_task_by_the_panel(held: Executor) -> None:
    future = held.submit(tasks.double, 4)
    obey({"cellmill": VERSION, "kind": "cancel-task", "task": str(future._ticket)}, held)
    assert re.fullmatch(r"double\(4\), task #\d+, was cancelled by Cancel in the panel", _words(future))


@own_cluster
def test_by_the_shutdown(another: Callable[..., Executor]) -> None:
    executor = another()
    assert executor.submit(tasks.double, 1).result(SECONDS) == 2
    executor.pause()
    future = executor.submit(tasks.double, 4)
    executor.shutdown(wait=True, cancel_futures=True)
    if future.cancelled():
        assert "double(4), task #" in _words(future)
        assert "was cancelled by shutdown(cancel_futures=True) of its executor" in _words(future)


@each_cluster
def test_a_map_tells_how_much_was_done(ex: Executor) -> None:
    results = ex.map(tasks.double, range(3000), chunksize=10)
    assert [next(results) for _ in range(1200)] == [2 * i for i in range(1200)]
    ex.pause()
    results = ex.map(tasks.double, range(3000), chunksize=10)
    try:
        ex.stop()
        with pytest.raises(CancelledError) as caught:
            list(results)
    finally:
        ex.resume()
    words = r"double\(0\), element 0 of a map, was cancelled by stop\(\) of its executor: 0 of 3,000 elements were done"
    assert re.fullmatch(words, str(caught.value))


def test_the_rest_of_a_map_that_had_begun(ex: Executor) -> None:
    results = ex.map(tasks.double, iter(range(3000)), chunksize=1, prefetch=20)
    assert next(results) == 0
    ex.stop()
    with pytest.raises(CancelledError) as caught:
        list(results)
    found = re.search(r"by stop\(\) of its executor: (\d+) of (\d+) elements were done", str(caught.value))
    assert found is not None, str(caught.value)
    assert 1 <= int(found[1]) <= int(found[2])


@each_cluster
def test_an_item_of_a_batch(held: Executor) -> None:
    f = cellmill.parallel(batch=True, executor=held)(work.halves)
    futures = [f(i) for i in range(300)]
    assert futures[-1].cancel()
    assert _words(futures[-1]) == "halves(299) was cancelled by cancel() of its future"
    held.stop()
    for i in (0, 298):
        assert (
            _words(futures[i])
            == f"halves({i}) was cancelled by stop() of its executor: 0 of 300 calls were done"
        )


def test_a_cancelled_input(held: Executor) -> None:
    before = held.submit(work.divided, 7, by=2)
    after = held.submit(tasks.double, before)
    before.cancel()
    error = after.exception(SECONDS)
    assert type(error) is DependencyError
    assert "divided(7, by=2), task #" in str(error)
    assert "was cancelled by cancel() of its future" in str(error)
    assert isinstance(error.__cause__, CancelledError)


def test_who_awaits_it(held: Executor) -> None:
    future = held.submit(work.divided, 7, by=2)

    async def wait() -> None:
        asyncio.get_running_loop().call_soon(future.cancel)
        await future

    with pytest.raises(asyncio.CancelledError, match=r"divided\(7, by=2\), task #.*cancel\(\) of its future"):
        asyncio.run(wait())


def test_the_latest_cancellation_is_told(held: Executor) -> None:
    """Of single tasks of one cell, cancelled by one thing after another."""
    first = [held.submit(tasks.double, i) for i in range(2)]
    assert held.stop() == 2
    then = held.submit(tasks.double, 3)
    cellmill.run_registry.bump_epoch()
    with blame.cancelling("a second thing"):
        assert held.stop() == 1
    assert {_words(future).split(" was cancelled by ")[1].split(":")[0] for future in first} == {
        "stop() of its executor"
    }
    assert "a second thing" in _words(then)
