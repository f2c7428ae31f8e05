"""Inputs that the scheduler does not know: items of a batch, tasks of another executor."""

from __future__ import annotations

import contextvars
import re
from concurrent.futures import CancelledError, ThreadPoolExecutor

import pytest

import cellmill
from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import later
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


def test_items_of_a_batch_as_inputs_while_a_map_goes_on(ex: Executor) -> None:
    batch = ex.options(batch=True)
    rest = ex.map(
        tasks.double, range(2_000), chunksize=1
    )  # its next elements are packed while an input is waited for
    one, two, bad = batch.submit(work.halves, 2), batch.submit(work.halves, 4), batch.submit(work.halves, 13)
    both = ex.submit(tasks.give, [one, {"k": two}], two)
    assert both.result(SECONDS) == (([1.0, {"k": 2.0}], 2.0), {})
    single = batch.submit(work.halves, batch.submit(work.halves, 8))
    assert single.result(SECONDS) == 2.0
    for future in (ex.submit(tasks.give, [bad]), batch.submit(work.halves, bad)):
        assert isinstance(future.exception(SECONDS), cellmill.DependencyError)
    assert list(rest) == [2 * i for i in range(2_000)]


CALL = "hold_each(…)"


@later
@pytest.mark.parametrize("deep", [False, True])
def test_a_map_goes_on_beside_an_element_that_waits(ex: Executor, gate: Gate, deep: bool) -> None:
    held = ex.options(batch=True).submit(work.hold_each, (gate.folder, [7]))
    gate.wait_started()
    results = ex.map(tasks.same, [*range(20), [held] if deep else held, *range(20)], chunksize=1)
    assert [next(results) for _ in range(20)] == list(range(20))
    gate.release()
    assert list(results) == [[[7]] if deep else [7], *range(20)]


@later
def test_calls_go_on_beside_one_that_waits(ex: Executor, gate: Gate) -> None:
    held = ex.options(batch=True).submit(work.hold_each, (gate.folder, 7))
    gate.wait_started()
    items = [7]
    first = ex.submit(tasks.give, [held], items)
    items.append(8)  # the call has been made
    second = ex.submit(tasks.give, first, 1)
    assert ex.submit(tasks.double, 4).result(SECONDS) == 8
    assert not first.done()
    assert cellmill.why(first) == f"It waits for its input {CALL}, which is not over."
    gate.release()
    seen = items if ex.backend == "threads" else [7]  # threads work on the caller's objects
    assert second.result(SECONDS) == (((([7], seen), {}), 1), {})
    assert cellmill.why(first) == "It does not wait: it is done."


@later
def test_calls_of_two_executors_run_beside_each_other(ex: Executor, gate: Gate) -> None:
    with Executor(2, backend="threads") as other:
        held = [other.submit(tasks.hold, gate.folder, n) for n in range(2)]
        gate.wait_started(2)
        calls = [ex.submit(tasks.double, future) for future in held]
        back = [other.submit(tasks.double, call) for call in calls]
        cancelled = ex.submit(tasks.double, held[0])
        assert cancelled.cancel()
        gate.release(2)
        assert [future.result(SECONDS) for future in back] == [0, 4]
        with pytest.raises(CancelledError, match=r"double\(.*\) was cancelled by cancel\(\) of its future"):
            cancelled.result()


@later
def test_a_call_sees_the_context_of_its_caller_however_late_it_begins(ex: Executor, gate: Gate) -> None:
    if ex.backend != "threads":
        pytest.skip("contexts stay in their process")
    held = ex.options(batch=True).submit(work.hold_each, (gate.folder, 7))
    gate.wait_started()
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    calls = []
    for n in range(1, 4):
        variable.set(n)
        calls.append(ex.submit(lambda _: variable.get(), held))
    gate.release()
    assert [call.result(SECONDS) for call in calls] == [1, 2, 3]


@later
def test_items_of_one_batch_wait_for_each_other(ex: Executor, gate: Gate) -> None:
    batch = ex.options(batch=True)
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    first = batch.submit(work.halves, 16)
    chain = [first]
    for _ in range(4):
        chain.append(batch.submit(work.halves, chain[-1]))
    gate.release(len(held))
    assert [future.result(SECONDS) for future in chain] == [8, 4, 2, 1, 0.5]


@later
def test_a_failed_input_fails_what_waited_for_it(ex: Executor, gate: Gate) -> None:
    held = ex.submit(tasks.hold, gate.folder)
    gate.wait_started()
    with Executor(2, backend="threads") as other:
        bad = other.options(after=[other.submit(held.result)]).submit(tasks.fail, "first cause")
        results = ex.map(tasks.same, [1, bad, 3], return_exceptions=True)
        single = ex.options(batch=True).submit(work.halves, bad)
        call = ex.submit(tasks.give, [bad], 2)
        gate.release()
        one, error, three = results
        assert (one, three) == (1, 3)
        why = call.exception(SECONDS)
        assert why is not None
        (note,) = why.__notes__
        assert re.fullmatch(r"in give\(\[<cellmill\.Future .*>\], 2\)", note)
        for failed in (error, single.exception(SECONDS), why):
            assert isinstance(failed, cellmill.DependencyError)
            assert isinstance(failed.__cause__, LookupError)


@later
def test_an_input_that_is_cancelled_while_a_call_waits_for_it(ex: Executor, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    inputs = [
        ex.options(batch=True).submit(work.halves, n) for n in range(20, 220)
    ]  # the last ones wait here
    with ThreadPoolExecutor(1) as thread:
        call = thread.submit(ex.submit, tasks.same, inputs[-1])
        results = ex.map(tasks.same, [1, inputs[-1]], return_exceptions=True)
        assert inputs[-1].cancel()
        error = call.result(SECONDS).exception(SECONDS)
        assert isinstance(error, cellmill.DependencyError)
        assert isinstance(error.__cause__, CancelledError)
    gate.release(len(held))
    one, error = results
    assert one == 1
    assert isinstance(error, cellmill.DependencyError)
    assert [future.result(SECONDS) for future in inputs[:-1]] == [n / 2 for n in range(20, 219)]


@later
def test_what_waits_is_cancelled_and_counted(ex: Executor, gate: Gate) -> None:
    held = ex.options(batch=True).submit(work.hold_each, (gate.folder, 8))
    gate.wait_started()
    before = ex.stats()
    one, two = (ex.options(batch=True).submit(work.halves, held) for _ in range(2))
    with pytest.raises(TimeoutError):
        next(ex.map(tasks.same, [held] * 3, timeout=0.05))
    assert cellmill.why(two) == f"It waits for its input {CALL}, which is not over."
    assert one.cancel()
    assert not one.running()
    with pytest.raises(CancelledError, match="halves"):
        one.result(SECONDS)
    gate.release()
    assert two.result(SECONDS) == 4
    assert held.result(SECONDS) == 8
    after = ex.stats()
    assert after.cancelled - before.cancelled == 4
    assert after.submitted - before.submitted == 5
    assert after.done == after.submitted


@later
def test_after_holds_for_each_element_of_a_map(ex: Executor, gate: Gate) -> None:
    held = ex.options(batch=True).submit(work.hold_each, (gate.folder, 8))
    gate.wait_started()
    results = ex.options(after=[held]).map(tasks.double, range(30))
    with pytest.raises(TimeoutError):
        next(ex.options(after=[held]).map(tasks.double, [1], timeout=0.05))
    gate.release()
    assert list(results) == [2 * i for i in range(30)]
