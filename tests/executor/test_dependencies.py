"""Futures as arguments: anywhere in them, in chains, diamonds and great numbers; failures and cancellations."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import Gate


def test_chain(ex: Executor) -> None:
    future = ex.submit(tasks.double, 1)
    for _ in range(30):
        future = ex.submit(tasks.double, future)
    assert future.result() == 2**31


def test_diamond(ex: Executor) -> None:
    top = ex.submit(tasks.double, 1)
    left, right = ex.submit(tasks.add, top, 10), ex.submit(tasks.add, top, 100)
    assert ex.submit(tasks.add, left, right, top).result() == 116


def test_anywhere_in_the_arguments(ex: Executor) -> None:
    one, two, three = (ex.submit(tasks.same, i) for i in (1, 2, 3))
    future = ex.submit(tasks.give, [one, {"k": (two, [three])}], one, word={"a": one, "b": [two]})
    assert future.result() == (([1, {"k": (2, [3])}], 1), {"word": {"a": 1, "b": [2]}})


def test_anywhere_while_they_run(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder, 7)
    gate.wait_started()
    future = pool.submit(tasks.give, [held, {"k": (held, [held])}], word={"a": held})
    assert not future.done()
    assert pool.stats().waiting == 1
    gate.release()
    assert future.result() == (([7, {"k": (7, [7])}],), {"word": {"a": 7}})
    assert pool.stats().waiting == 0


@pytest.mark.parametrize("value", [None, 0, "", [], {"a": 1}])
def test_values_of_inputs(pool: Executor, gate: Gate, value: object) -> None:
    held = pool.submit(tasks.hold, gate.folder, value)
    future = pool.submit(tasks.give, held)
    gate.release()
    assert future.result() == ((value,), {})


def test_ten_thousand_inputs_of_one_task(pool: Executor) -> None:
    inputs = [pool.submit(tasks.same, i) for i in range(10_000)]
    assert pool.submit(sum, inputs).result() == sum(range(10_000))


def test_ten_thousand_unfinished_inputs(pool: Executor, gate: Gate) -> None:
    held = [pool.submit(tasks.hold, gate.folder, 0) for _ in range(2)]
    gate.wait_started(2)
    inputs = [pool.submit(tasks.same, i) for i in range(10_000)]
    total = pool.submit(sum, [*held, *inputs])
    assert not total.done()
    gate.release(2)
    assert total.result() == sum(range(10_000))


def test_one_input_of_thousands_of_tasks(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder, 5)
    gate.wait_started()
    dependents = [pool.submit(tasks.add, held, i) for i in range(4000)]
    gate.release()
    assert [d.result() for d in dependents] == list(range(5, 4005))


def test_deep_chain_before_the_first_runs(pool: Executor, gate: Gate) -> None:
    future = pool.submit(tasks.hold, gate.folder, 0)
    for _ in range(2000):
        future = pool.submit(tasks.add, future, 1)
    gate.release()
    assert future.result() == 2000


@pytest.mark.parametrize("finished", [True, False])
def test_failed_input(ex: Executor, finished: bool, tmp_path: Path) -> None:
    bad = ex.submit(tasks.fail, "first cause")
    if finished:
        bad.exception()
    middle = ex.submit(tasks.double, bad)
    last = ex.submit(tasks.give, 1, [middle])
    for future in (middle, last):
        with pytest.raises(cellmill.DependencyError) as raised:
            future.result()
        assert isinstance(raised.value.__cause__, LookupError)
        assert "first cause" in str(raised.value.__cause__)


def test_failed_inputs_of_a_deep_chain(pool: Executor, gate: Gate) -> None:
    def wait_and_fail(folder: str) -> None:
        tasks.hold(folder)
        raise KeyError("at the root")

    future = pool.submit(wait_and_fail, gate.folder)
    for _ in range(1000):
        future = pool.submit(tasks.double, future)
    gate.release()
    error = future.exception()
    assert isinstance(error, cellmill.DependencyError)
    assert isinstance(error.__cause__, KeyError)


def test_first_failure_is_the_cause(pool: Executor, gate: Gate) -> None:
    bad = pool.submit(tasks.fail, "bad")
    held = pool.submit(tasks.hold, gate.folder)
    future = pool.submit(tasks.give, held, bad)
    error = future.exception(30)  # while the other input still runs
    assert isinstance(error, cellmill.DependencyError)
    assert isinstance(error.__cause__, LookupError)
    gate.release()
    held.result()


def test_cancelled_input(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    queued = fresh.submit(tasks.double, 1)
    dependent = fresh.submit(tasks.double, queued)
    assert queued.cancel()
    error = dependent.exception(30)
    assert isinstance(error, cellmill.DependencyError)
    assert isinstance(error.__cause__, CancelledError)
    late = fresh.submit(tasks.double, queued)
    assert isinstance(late.exception(30), cellmill.DependencyError)
    gate.release(2)
    for future in held:
        future.result()


def test_input_of_another_executor(pool: Executor, inline: Executor) -> None:
    elsewhere = inline.submit(tasks.double, 21)
    assert pool.submit(tasks.double, elsewhere).result() == 84
    with Executor(1) as other:
        assert pool.submit(tasks.double, other.submit(tasks.double, 1)).result() == 4
        assert inline.submit(tasks.double, other.submit(tasks.double, 1)).result() == 4


def test_future_of_the_standard_library_says_what_to_do(pool: Executor) -> None:
    with ThreadPoolExecutor(1) as threads:
        foreign = threads.submit(tasks.double, 1)
        foreign.result()
        with pytest.raises(cellmill.PayloadError, match="argument 1 of double, a Future"):
            pool.submit(tasks.double, foreign)


def test_after(ex: Executor) -> None:
    first = ex.submit(tasks.double, 1)
    assert ex.options(after=[first]).submit(tasks.double, 4).result() == 8
    assert ex.options(after=first).submit(tasks.double, 4).result() == 8


def test_after_waits(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder)
    gate.wait_started()
    later = pool.options(after=[held]).submit(tasks.double, 4)
    mapped = pool.options(after=[held]).map(tasks.double, [1, 2])
    assert pool.stats().waiting == 3
    assert not later.done()
    gate.release()
    assert later.result() == 8
    assert list(mapped) == [2, 4]


def test_after_a_failure(ex: Executor) -> None:
    bad = ex.submit(tasks.fail)
    later = ex.options(after=[bad]).submit(tasks.double, 4)
    assert isinstance(later.exception(), cellmill.DependencyError)


def test_map_after_a_failure(pool: Executor, gate: Gate) -> None:
    bad = pool.submit(tasks.fail)
    for _ in range(2):  # while it runs, and when it is over
        results = list(pool.options(after=[bad]).map(tasks.double, [1, 2], return_exceptions=True))
        assert [type(r) for r in results] == [cellmill.DependencyError] * 2


def test_map_over_futures(ex: Executor) -> None:
    inputs = [ex.submit(tasks.same, i) for i in range(50)]
    assert list(ex.map(tasks.double, inputs)) == [2 * i for i in range(50)]


def test_map_over_futures_one_failed(pool: Executor) -> None:
    inputs = [pool.submit(tasks.same, 1), pool.submit(tasks.fail), pool.submit(tasks.same, 3)]
    first, second, third = pool.map(tasks.double, inputs, return_exceptions=True)
    assert (first, third) == (2, 6)
    assert isinstance(second, cellmill.DependencyError)
    assert isinstance(second.__cause__, LookupError)


def test_future_in_a_closure(pool: Executor) -> None:
    future = pool.submit(tasks.double, 1)
    with pytest.raises(cellmill.PayloadError, match="pass it as an argument"):
        pool.submit(lambda: future).result()


def test_a_chain_keeps_only_its_last_result(pool: Executor, gate: Gate) -> None:
    first = pool.submit(tasks.hold, gate.folder, 0)
    alive = weakref.ref(first)
    last = pool.submit(tasks.add, pool.submit(tasks.add, first, 1), 1)
    del first
    gate.release()
    assert last.result() == 2
    gc.collect()
    assert alive() is None
