"""What `concurrent.futures` promises of futures: cancelling, callbacks, `wait`, `as_completed`, asyncio."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import logging
import os
import pickle
import threading
import weakref
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down


def test_states(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started(2)
    queued = fresh.submit(tasks.double, 1)
    waiting = fresh.submit(tasks.double, queued)
    assert [f.running() for f in (*held, queued, waiting)] == [True, True, False, False]
    assert not any(f.done() for f in (*held, queued, waiting))
    assert repr(queued) == "<cellmill.Future double(1) pending>"
    assert repr(held[1]).endswith(", 1) running>")
    assert repr(waiting) == "<cellmill.Future double(<input 1>) pending>"
    gate.release(2)
    assert waiting.result() == 4
    held[0].result()
    assert not held[0].running()
    assert repr(waiting) == "<cellmill.Future finished int>"


def test_cancel(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started(2)
    queued = [fresh.submit(tasks.double, i) for i in range(20)]
    waiting = fresh.submit(tasks.double, queued[-1])
    assert not held[0].cancel()
    assert waiting.cancel()
    assert queued[3].cancel()
    assert queued[3].cancel()
    assert queued[3].cancelled()
    assert queued[3].done()
    with pytest.raises(CancelledError):
        queued[3].result()
    with pytest.raises(CancelledError):
        queued[3].exception()
    gate.release(2)
    assert [f.result() for i, f in enumerate(queued) if i != 3] == [2 * i for i in range(20) if i != 3]
    assert [f.result() for f in held] == [0, 1]
    assert not queued[0].cancel()
    stats = fresh.stats()
    assert (stats.cancelled, stats.succeeded) == (2, 21)


def test_cancelled_task_never_runs(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    doomed = [fresh.submit(tasks.count_call, gate.folder) for _ in range(50)]
    assert all(f.cancel() for f in doomed)
    gate.release(2)
    for future in held:
        future.result()
    assert fresh.submit(tasks.count_call, gate.folder).result() == 1


def test_callbacks_in_order(ex: Executor) -> None:
    seen: list[object] = []
    done = threading.Event()
    future = ex.submit(tasks.double, 4)
    for i in range(5):
        future.add_done_callback(lambda f, i=i: seen.append((i, f.result())))  # type: ignore[misc]
    future.add_done_callback(lambda _: done.set())
    assert done.wait(SECONDS)
    assert seen == [(i, 8) for i in range(5)]


def test_callbacks_before_and_after_the_end(pool: Executor, gate: Gate) -> None:
    seen: list[str] = []
    done = threading.Event()
    future = pool.submit(tasks.hold, gate.folder)
    future.add_done_callback(lambda _: seen.append("before"))
    future.add_done_callback(lambda _: done.set())
    gate.release()
    assert done.wait(SECONDS)
    future.add_done_callback(lambda _: seen.append("after"))
    assert seen == ["before", "after"]


def test_callback_that_raises(pool: Executor, gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    future = pool.submit(tasks.hold, gate.folder, 3)
    future.add_done_callback(lambda _: 1 / 0)
    future.add_done_callback(lambda _: done.set())
    with caplog.at_level(logging.ERROR, "concurrent.futures"):
        gate.release()
        assert done.wait(SECONDS)
    assert "ZeroDivisionError" in caplog.text
    assert future.result() == 3


def test_callback_of_a_cancelled_future(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    called = []
    queued = fresh.submit(tasks.double, 1)
    queued.add_done_callback(called.append)
    assert queued.cancel()
    assert called == [queued]
    gate.release(2)
    for future in held:
        future.result()


def test_callback_that_submits(pool: Executor) -> None:
    found: Future[int] = Future()

    def go_on(future: Future[int]) -> None:
        if future.result() < 1000:
            pool.submit(tasks.double, future.result()).add_done_callback(go_on)
        else:
            found.set_result(future.result())

    pool.submit(tasks.double, 1).add_done_callback(go_on)
    assert found.result(SECONDS) == 1024


def test_callback_that_waits_for_another_task(pool: Executor) -> None:
    found: Future[int] = Future()
    pool.submit(tasks.double, 1).add_done_callback(
        lambda f: found.set_result(pool.submit(tasks.double, f.result()).result(SECONDS))
    )
    assert found.result(SECONDS) == 4


def test_wait(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder)
    quick = pool.submit(tasks.double, 1)
    bad = pool.submit(tasks.fail)
    first = concurrent.futures.wait([held, quick], return_when=concurrent.futures.FIRST_COMPLETED)
    assert (first.done, first.not_done) == ({quick}, {held})
    failed = concurrent.futures.wait([held, bad], return_when=concurrent.futures.FIRST_EXCEPTION)
    assert (failed.done, failed.not_done) == ({bad}, {held})
    some = concurrent.futures.wait([held, quick, bad], timeout=0.01)
    assert (some.done, some.not_done) == ({quick, bad}, {held})
    gate.release()
    every = concurrent.futures.wait([held, quick, bad], timeout=SECONDS)
    assert every.done == {held, quick, bad}


def test_wait_for_thousands(pool: Executor) -> None:
    futures = [pool.submit(tasks.double, i) for i in range(5000)]
    done, not_done = concurrent.futures.wait(futures, timeout=SECONDS)
    assert len(done) == 5000
    assert not not_done


def test_as_completed(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder)
    quick = [pool.submit(tasks.double, i) for i in range(100)]
    order = concurrent.futures.as_completed([held, *quick], timeout=SECONDS)
    assert {next(order) for _ in range(100)} == set(quick)
    gate.release()
    assert list(order) == [held]


def test_as_completed_times_out(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder)
    with pytest.raises(TimeoutError, match=r"1 \(of 1\) futures unfinished"):
        list(concurrent.futures.as_completed([held], timeout=0.01))
    gate.release()


def test_asyncio(ex: Executor) -> None:
    async def use() -> list[int]:
        one = await asyncio.wrap_future(ex.submit(tasks.double, 1))
        two = await ex.submit(tasks.double, 2)
        three = await asyncio.get_running_loop().run_in_executor(ex, tasks.double, 3)
        return [one, two, three, *await asyncio.gather(*map(asyncio.wrap_future, ex_many(ex)))]

    assert asyncio.run(use()) == [2, 4, 6, *range(0, 400, 2)]


def ex_many(ex: Executor) -> list[Future[int]]:
    return [ex.submit(tasks.double, i) for i in range(200)]


def test_asyncio_errors(ex: Executor) -> None:
    async def use() -> None:
        await ex.submit(tasks.fail, "awaited")

    with pytest.raises(LookupError, match="awaited"):
        asyncio.run(use())


def test_asyncio_does_not_block_the_loop(pool: Executor, gate: Gate) -> None:
    async def use() -> int:
        task = asyncio.ensure_future(asyncio.wrap_future(pool.submit(tasks.hold, gate.folder, 6)))
        done, _ = await asyncio.wait({task}, timeout=0.01)
        assert not done
        gate.release()
        return await asyncio.wait_for(task, SECONDS)

    assert asyncio.run(use()) == 6


def test_asyncio_cancels(fresh: Executor, gate: Gate) -> None:
    held = [fresh.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    queued = fresh.submit(tasks.double, 1)

    async def use() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(queued), 0.01)

    asyncio.run(use())
    assert queued.cancelled()
    gate.release(2)
    for future in held:
        future.result()


def test_same_exception_object_each_time(ex: Executor) -> None:
    future = ex.submit(tasks.fail)
    assert future.exception() is future.exception()


def test_futures_do_not_travel_alone(pool: Executor) -> None:
    with pytest.raises(cellmill.PayloadError, match="cannot be pickled by itself"):
        pickle.dumps(pool.submit(tasks.double, 1))


def test_result_is_let_go_with_its_future(pool: Executor) -> None:
    future = pool.submit(Kept)
    kept = weakref.ref(future.result())
    assert kept() is not None
    del future
    gc.collect()
    assert kept() is None


def test_arguments_are_let_go(pool: Executor) -> None:
    kept = Kept()
    gone = threading.Event()
    reference = weakref.ref(kept, lambda _: gone.set())
    pool.submit(kept.method)
    del kept
    gc.collect()
    assert gone.wait(SECONDS)
    assert reference() is None


class Kept:
    def method(self) -> None:
        pass


def test_waiting_from_many_threads(pool: Executor, gate: Gate) -> None:
    held = pool.submit(tasks.hold, gate.folder, "seen")
    seen: list[str] = []
    threads = [threading.Thread(target=lambda: seen.append(held.result(SECONDS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    gate.release()
    for thread in threads:
        thread.join(SECONDS)
    assert seen == ["seen"] * 8


def test_waiting_futures_are_no_work_for_the_cycle_collector(pool: Executor) -> None:
    pool.submit(tasks.same, 0).result(SECONDS)  # from now on its calls are plain
    futures = [pool.submit(tasks.same, None) for _ in range(100)]
    assert not any(map(gc.is_tracked, futures))
    assert [future.result(SECONDS) for future in futures] == [None] * 100
    assert not any(map(gc.is_tracked, futures))


@pytest.mark.parametrize("value", [[], {}, (1, []), "object"])
def test_cycles_through_results_are_collected(pool: Executor, value: object) -> None:
    pool.submit(tasks.same, 0).result(SECONDS)
    future = pool.submit(tasks.Gather, 1) if value == "object" else pool.submit(tasks.same, value)
    result = future.result(SECONDS)
    if isinstance(result, tuple):
        result[1].append(future)
    elif isinstance(result, list):
        result.append(future)
    elif isinstance(result, dict):
        result["future"] = future
    else:
        result.content = future
    gone = weakref.ref(future)
    del future, result
    gc.collect()
    assert gone() is None


def test_cycles_through_callbacks_and_errors_are_collected(pool: Executor) -> None:
    pool.submit(tasks.same, 0).result(SECONDS)
    gone = []
    for way in ("callback", "error", "cancelled"):
        future = pool.submit(tasks.fail if way == "error" else tasks.give)
        if way == "callback":
            future.add_done_callback(lambda _, me=future: me)  # type: ignore[misc]
        elif way == "error":
            future.exception(SECONDS).me = future  # type: ignore[union-attr]
        else:
            future.cancel()
            future.add_done_callback(lambda _, me=future: me)  # type: ignore[misc]
        concurrent.futures.wait([future], SECONDS)
        gone.append(weakref.ref(future))
        del future
    assert comes_down(
        lambda: sum(ref() is not None for ref in gone), 0
    )  # callbacks have a thread of their own


def hold_and_fail(folder: str) -> None:
    tasks.hold(folder)
    raise LookupError("as asked")


def test_waiting_for_the_first_exception(pool: Executor, tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
    gates = [Gate(tmp_path / name) for name in ("first", "second")]
    held, failing = pool.submit(tasks.hold, gates[0].folder), pool.submit(hold_and_fail, gates[1].folder)

    def release() -> None:
        while not failing._waiters:
            os.sched_yield()
        gates[1].release()

    releasing = threading.Thread(target=release)
    releasing.start()
    found = concurrent.futures.wait(
        [held, failing], timeout=SECONDS, return_when=concurrent.futures.FIRST_EXCEPTION
    )
    releasing.join()
    assert (found.done, found.not_done) == ({failing}, {held})
    gates[0].release()
    assert held.result(SECONDS) is None
    for gate in gates:
        gate.close()
