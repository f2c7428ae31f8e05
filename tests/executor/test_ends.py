"""The end of an executor while maps, retries and results are half way: nothing is lost, stuck or left behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from cellmill import Executor, Retry, WorkerLostError
from cellmill.errors import is_a
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate
from tests.support.waiting import until


def test_one_that_ran_batches_is_collected(script: Any, tests_on_path: None) -> None:
    """What each left were three descriptors, its memory, and the objects behind it."""
    out = script(
        """
import gc, os, weakref
from cellmill import Executor

def doubled(items):
    return [2 * i for i in items]

for call in (lambda ex: ex.options(batch=True).submit(doubled, 2).result(), lambda ex: list(ex.map(abs, [4]))):
    with Executor(1) as ex:
        call(ex)
    backend = weakref.ref(ex._backend)
    del ex
    gc.collect()
    print(backend())
"""
    )
    assert out == "None\nNone\n"


def test_a_map_left_half_way_ends_with_its_executor(gate: Gate) -> None:
    """Its input was asked for more when all was over: the results that there will not be are not waited for."""
    ex = Executor(2)
    held = ex.submit(tasks.hold, gate.folder)

    def inputs() -> Iterator[int]:
        yield 0
        ex.shutdown(wait=False)
        yield from range(1, 40)

    results = ex.map(tasks.double, inputs(), chunksize=1, prefetch=1, return_exceptions=True)
    assert [next(results), next(results)] == [0, 2]
    gate.release()
    held.result(SECONDS)
    until(lambda: ex._backend.resolver.stopped)  # type: ignore[attr-defined]
    ex.shutdown()
    found = []
    with pytest.raises(RuntimeError, match="after shutdown: what was left of the map of double did not run"):
        found.extend(results)
    assert len(found) == 38
    assert all(is_a(error, CancelledError) for error in found)
    assert str(found[-1]).endswith("was cancelled by the end of its executor: 2 of 40 elements were done")
    stats = ex.stats()
    assert (stats.submitted, stats.succeeded, stats.cancelled) == (41, 3, 38)


def test_an_element_is_tried_again_though_its_executor_ends(tmp_path: Any) -> None:
    """A failed element counts as over until it is sent again: the end waits for that."""
    closed = threading.Event()

    def again(_: BaseException) -> bool:  # in the thread that settles
        ex.shutdown(wait=False)
        closed.wait(0.3)  # where the executor closes too early, it does so meanwhile
        return True

    ex = Executor(1)
    results = ex.options(retries=Retry(1, when=again)).map(tasks.fail_first, [str(tmp_path)], chunksize=1)
    assert list(results) == [2]
    ex.shutdown()
    assert not ex.workers()
    assert ex.stats().succeeded == ex.stats().submitted == 1


executors: dict[int, Executor] = {}


class Ends:
    """Shuts an executor down where it arrives."""

    def __init__(self, key: int, cancel: bool) -> None:
        self.of = key, cancel

    def __reduce__(self) -> Any:
        return end, self.of


def end(key: int, cancel: bool) -> int:
    if key in executors:  # not in the worker
        executors[key].shutdown(cancel_futures=cancel)
    return key


@pytest.mark.parametrize("cancel", [False, True])
def test_a_shutdown_by_what_is_being_settled(cancel: bool) -> None:
    """A result's own code, or what is collected meanwhile, cannot wait for the thread that it runs in."""
    ex = Executor(1)
    executors[id(ex)] = ex
    try:
        assert ex.submit(Ends, id(ex), cancel).result(SECONDS) == id(ex)
        until(lambda: not ex.workers())
    finally:
        del executors[id(ex)]
        ex.shutdown()


@pytest.mark.filterwarnings("error")
def test_an_unread_map_in_the_caller_is_cancelled_with_its_executor() -> None:
    ran: list[int] = []
    ex = Executor(backend="inline")
    results = ex.map(ran.append, iter(range(3)))
    ex.shutdown(cancel_futures=True)
    del results  # it would run, and be refused where that can only be printed
    assert not ran


def test_retries_of_a_map_whose_workers_cannot_start() -> None:
    """They were counted again with each try that could not be."""
    ex = Executor(1, initializer=os._exit, initargs=(3,))
    with pytest.raises(WorkerLostError):
        list(ex.options(retries=2).map(tasks.double, range(10), chunksize=2))
    ex.shutdown()
    stats = ex.stats()
    assert stats.failed + stats.cancelled == stats.submitted == 10
