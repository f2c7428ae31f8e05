"""Single calls: values, errors, futures, options."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
import traceback
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, Retry
from tests.contract import work
from tests.contract.abilities import Abilities, each_cluster, later
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


@each_cluster
def test_value(ex: Executor, backend: str) -> None:
    assert isinstance(ex, concurrent.futures.Executor)
    assert ex.backend == backend
    future = ex.submit(tasks.double, 21)
    assert isinstance(future, concurrent.futures.Future)
    assert future.result(SECONDS) == 42
    assert future.done()
    assert future.exception() is None


def test_positions_and_keywords(ex: Executor) -> None:
    assert ex.submit(tasks.give).result(SECONDS) == ((), {})
    future = ex.submit(tasks.give, 1, "b", None, fn=3, self=4, x=[5])
    assert future.result(SECONDS) == ((1, "b", None), {"fn": 3, "self": 4, "x": [5]})


@each_cluster
def test_an_error_keeps_its_type_and_tells_where(ex: Executor, able: Abilities) -> None:
    error = ex.submit(tasks.fail, "no such thing").exception(SECONDS)
    assert type(error) is LookupError
    assert str(error) == "no such thing"
    assert "raise LookupError(message)" in "".join(traceback.format_exception(error))
    if able.apart:  # the line is another process's
        assert "raise LookupError(message)" in str(error.__cause__)


def test_wait_and_as_completed(ex: Executor) -> None:
    futures = [ex.submit(tasks.double, i) for i in range(50)]
    assert concurrent.futures.wait(futures, SECONDS).not_done == set()
    futures += [ex.submit(tasks.double, i) for i in range(50)]
    came = list(concurrent.futures.as_completed(futures, SECONDS))
    assert sorted(f.result() for f in came) == sorted([2 * i for i in range(50)] * 2)


@later
@pytest.mark.parametrize("raised", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_callback_that_raises(
    ex: Executor, gate: Gate, raised: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; those after it run, of this future and of all that follow."""
    heard = threading.Event()

    def end(_: Any) -> None:
        raise raised("by a callback")

    future = ex.submit(tasks.hold, gate.folder)
    future.add_done_callback(end)
    future.add_done_callback(lambda _: heard.set())
    gate.release()
    assert heard.wait(SECONDS)

    async def next_one() -> Any:
        return await asyncio.wait_for(ex.submit(tasks.double, 4), SECONDS)

    assert asyncio.run(next_one()) == 8
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [raised]


@later
def test_a_callback_that_exits_in_the_thread_that_cancels(ex: Executor, gate: Gate) -> None:
    """It ends that thread, as with the standard futures, when the other callbacks have run."""
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    future, heard = ex.submit(tasks.double, 4), []
    future.add_done_callback(lambda _: sys.exit(3))
    future.add_done_callback(lambda _: heard.append("second"))
    with pytest.raises(SystemExit):
        future.cancel()
    assert heard == ["second"]
    gate.release(ex.max_workers)
    assert not concurrent.futures.wait(held, SECONDS).not_done


def test_callbacks(ex: Executor) -> None:
    heard: list[Any] = []
    both = threading.Semaphore(0)
    for function in (tasks.double, tasks.fail):
        ex.submit(function, 4).add_done_callback(lambda f: (heard.append(f.exception()), both.release()))
    assert both.acquire(timeout=SECONDS)
    assert both.acquire(timeout=SECONDS)
    assert set(map(type, heard)) == {type(None), LookupError}


def test_await(ex: Executor) -> None:
    async def main() -> list[Any]:
        return await asyncio.gather(
            *(ex.submit(tasks.double, i) for i in range(3)), ex.submit(tasks.fail), return_exceptions=True
        )

    *values, error = asyncio.run(main())
    assert values == [0, 2, 4]
    assert isinstance(error, LookupError)


def test_parallel_function(ex: Executor) -> None:
    double = cellmill.parallel(executor=ex)(tasks.double)
    assert double(4).result(SECONDS) == 8
    assert list(double.map(range(4))) == [0, 2, 4, 6]


def test_two_thousand_calls(ex: Executor) -> None:
    futures = [ex.submit(tasks.double, i) for i in range(2000)]
    assert [f.result(SECONDS) for f in futures] == [2 * i for i in range(2000)]


def test_from_several_threads(ex: Executor) -> None:
    sums: list[int] = []

    def use() -> None:
        sums.append(sum(f.result(SECONDS) for f in [ex.submit(tasks.double, i) for i in range(100)]))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert sums == [9900] * 4


@pytest.mark.parametrize("priority", [-100, 0, 100])
def test_priority(ex: Executor, priority: int) -> None:
    assert ex.options(priority=priority).submit(tasks.double, 1).result(SECONDS) == 2


def test_options_that_make_no_sense(ex: Executor) -> None:
    with pytest.raises(cellmill.UsageError, match="priority must be"):
        ex.options(priority=1000)
    with pytest.raises(cellmill.UsageError, match="unknown option"):
        ex.options(prioritty=1)


def test_retries(ex: Executor, tmp_path: Path) -> None:
    again = ex.options(retries=Retry(3, backoff=0.001, when=lambda error: "attempt" in str(error)))
    assert again.submit(tasks.fail_first, str(tmp_path), 2).result(SECONDS) == 3


def test_retries_for_other_errors_only(ex: Executor, tmp_path: Path) -> None:
    again = ex.options(retries=Retry(3, when=KeyError))
    with pytest.raises(ConnectionError, match="attempt 1"):
        again.submit(tasks.fail_first, str(tmp_path), 9).result(SECONDS)
    assert len(list(tmp_path.iterdir())) == 1


@later
def test_a_result_that_takes_longer(ex: Executor, gate: Gate) -> None:
    future = ex.submit(tasks.hold, gate.folder, 5)
    with pytest.raises(TimeoutError):
        future.result(0.01)
    gate.wait_started()
    assert future.running()
    gate.release()
    assert future.result(SECONDS) == 5


@each_cluster
def test_time_limit(ex: Executor, able: Abilities) -> None:
    limited = ex.options(timeout=0.3)
    if not able.concurrent:  # the caller cannot be interrupted; the user is told
        with pytest.warns(RuntimeWarning, match="does not watch time limits"):
            assert limited.submit(tasks.spin, 0.01).result() == "ran"
        return
    error = limited.submit(tasks.spin, 60).exception(SECONDS)
    assert isinstance(error, cellmill.TaskTimeoutError)
    assert isinstance(error, TimeoutError)
    for words in ("spin(60)", "0.3 s"):
        assert words in str(error)
    assert limited.submit(tasks.double, 1).result(SECONDS) == 2


# -- what runs inside a task


@each_cluster
def test_nested_calls_are_inline(ex: Executor) -> None:
    double = cellmill.parallel(executor=ex)(tasks.double)

    def nested(x: int) -> list[int]:
        value = double(x)  # the plain function: a number, not a future
        return [value, *double.map([x, value])]

    assert ex.submit(nested, 4).result(SECONDS) == [8, 8, 16]
    assert list(ex.map(nested, [1, 2])) == [[2, 2, 4], [4, 4, 8]]


def test_executors_inside_a_task_are_inline(ex: Executor) -> None:
    assert not cellmill.in_worker()
    assert ex.submit(work.inside).result(SECONDS) == (True, "inline", [1, 2], "inline", 9)
    assert not cellmill.in_worker()


def test_the_truth_and_the_order_of_a_calls_future_raise(ex: Executor) -> None:
    """`if f(x)` would keep everything: it says how to ask for the value."""
    is_even = cellmill.parallel(work.is_even, executor=ex)
    remedy = r"f\(x\)\.result\(\)"
    with pytest.raises(TypeError, match=remedy):
        [x for x in range(4) if is_even(x)]
    with pytest.raises(TypeError, match=remedy):
        is_even(1) or is_even(2)
    with pytest.raises(TypeError, match=remedy):
        sorted(range(4), key=is_even)
    with pytest.raises(TypeError, match=remedy):
        _ = is_even(1) < 3
    with pytest.raises(TypeError, match=remedy):
        _ = is_even(1) <= 3  # type: ignore[operator]
    assert [x for x in range(4) if is_even(x).result(SECONDS)] == [0, 2]


def test_a_calls_future_that_is_compared_warns(ex: Executor) -> None:
    is_even = cellmill.parallel(work.is_even, executor=ex)
    retried = is_even.options(retries=Retry(2))
    for future in (is_even(2), retried(2), is_even([2])):
        for compare in (lambda f: f == True, lambda f: f == True, lambda f: f in [1, 2], lambda f: f == None):  # noqa: E711, E712
            with pytest.warns(RuntimeWarning, match=r"never equals.*f\(x\)\.result\(\)"):
                assert not compare(future)
        with pytest.warns(RuntimeWarning, match="never equals"):
            assert future != 1
        concurrent.futures.wait([future], SECONDS)


@pytest.mark.filterwarnings("error")
def test_futures_are_found_in_sets_and_lists_and_waited_for(ex: Executor) -> None:
    double = cellmill.parallel(tasks.double, executor=ex)
    futures = [double(i) for i in range(4)]
    assert len({*futures, *futures}) == 4
    assert futures.index(futures[2]) == 2
    assert futures[0] != futures[1]
    assert futures[0] in futures
    assert {future: i for i, future in enumerate(futures)}[futures[3]] == 3
    assert concurrent.futures.wait(futures, SECONDS).done == set(futures)
    assert set(concurrent.futures.as_completed(futures, SECONDS)) == set(futures)
    assert double(futures[3]).result(SECONDS) == 12

    async def both() -> list[int]:
        return await asyncio.gather(double(1), double(2))

    assert asyncio.run(both()) == [2, 4]


@pytest.mark.filterwarnings("error")
def test_a_future_of_submit_is_an_object_like_any_other(ex: Executor) -> None:
    future = ex.submit(tasks.double, 1)
    assert bool(future)
    assert future != 2
    assert future not in [1, None]
    with pytest.raises(TypeError, match="not supported between instances"):
        _ = future < 2
    assert ex.options(retries=1).submit(tasks.double, 1)
    assert future.result(SECONDS) == 2


@later
def test_a_future_tells_its_call(ex: Executor, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder, i) for i in range(ex.max_workers)]
    gate.wait_started(len(held))
    queued = ex.submit(tasks.give, 3, "a.csv", key=[1, 2])
    assert repr(queued) == "<cellmill.Future give(3, 'a.csv', key=[1, 2]) pending>"
    assert repr(held[0]).startswith("<cellmill.Future hold(")
    assert repr(held[0]).endswith(", 0) running>")
    gate.release(len(held))
    assert queued.result()[0] == (3, "a.csv")
    assert repr(queued) == "<cellmill.Future finished tuple>"


def test_a_failed_future_tells_its_call(ex: Executor) -> None:
    future = ex.submit(tasks.half_of_even, 7)
    assert isinstance(future.exception(), ValueError)
    assert repr(future) == "<cellmill.Future half_of_even(7) failed ValueError>"
