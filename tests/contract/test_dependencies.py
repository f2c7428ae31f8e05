"""Futures as arguments and `after=`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import cellmill
from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import later
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


def test_chain_and_diamond(ex: Executor) -> None:
    future = ex.submit(tasks.double, 1)
    for _ in range(10):
        future = ex.submit(tasks.double, future)
    left, right = ex.submit(tasks.add, future, 10), ex.submit(tasks.add, future, 100)
    assert ex.submit(tasks.add, left, right, future).result(SECONDS) == 3 * 2**11 + 110


def test_anywhere_in_the_arguments(ex: Executor) -> None:
    one, two, three = (ex.submit(tasks.same, i) for i in (1, 2, 3))
    future = ex.submit(tasks.give, [one, {"k": (two, [three])}], one, word={"a": one, "b": [two]})
    assert future.result(SECONDS) == (([1, {"k": (2, [3])}], 1), {"word": {"a": 1, "b": [2]}})


@later
def test_anywhere_while_they_run(ex: Executor, gate: Gate) -> None:
    held = ex.submit(tasks.hold, gate.folder, 7)
    gate.wait_started()
    future = ex.submit(tasks.give, [held, {"k": (held, [held])}], word={"a": held})
    assert not future.done()
    gate.release()
    assert future.result(SECONDS) == (([7, {"k": (7, [7])}],), {"word": {"a": 7}})


def test_large_results_feed_others(ex: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    array = ex.submit(numpy.arange, 200_000)
    assert ex.submit(tasks.total_size, [array, array], None).result(SECONDS) == 400_000
    assert int(ex.submit(numpy.sum, array).result(SECONDS)) == sum(range(200_000))


@later
def test_after(ex: Executor, gate: Gate) -> None:
    held = ex.submit(tasks.hold, gate.folder)
    gate.wait_started()
    later = ex.options(after=[held]).submit(tasks.double, 1)
    with pytest.raises(TimeoutError):
        later.result(0.05)
    gate.release()
    assert later.result(SECONDS) == 2
    assert held.done()


@pytest.mark.parametrize("finished", [True, False])
def test_failed_input(ex: Executor, finished: bool) -> None:
    bad = ex.submit(tasks.fail, "first cause")
    if finished:
        bad.exception(SECONDS)
    middle = ex.submit(tasks.double, bad)
    last = ex.submit(tasks.give, 1, [middle])
    behind = ex.options(after=[last]).submit(tasks.double, 1)
    for future in (middle, last, behind):
        error = future.exception(SECONDS)
        assert isinstance(error, cellmill.DependencyError)
        assert isinstance(error.__cause__, LookupError)
        assert "first cause" in str(error.__cause__)


@later
def test_cancelled_input(ex: Executor, gate: Gate) -> None:
    held = ex.submit(work.stay, gate.folder)
    gate.wait_started()
    dependent = ex.submit(tasks.double, held)
    assert held.cancel(force=True)
    assert isinstance(dependent.exception(SECONDS), cellmill.DependencyError)
    assert held.cancelled()


def test_futures_of_other_executors(ex: Executor) -> None:
    with ThreadPoolExecutor(1) as other:
        before = other.submit(tasks.double, 4)
        assert ex.options(after=[before]).submit(tasks.double, 1).result(SECONDS) == 2
    with Executor(backend="inline") as inline:
        assert ex.submit(tasks.double, inline.submit(tasks.double, 4)).result(SECONDS) == 16
        assert inline.submit(tasks.double, ex.submit(tasks.double, 4)).result() == 16
