"""Locks, queues and the like: what is said of one that a task is to use is true, and helps."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import multiprocessing.managers
import queue
import threading
from typing import Any

import pytest

from cellmill import Executor, PayloadError
from cellmill.serialization import remedies
from tests.support import tasks

MANAGED = {
    "Lock": threading.Lock(),
    "RLock": threading.RLock(),
    "Event": multiprocessing.Event(),
    "Condition": threading.Condition(),
    "Semaphore": threading.Semaphore(),
    "Barrier": threading.Barrier(2),
    "Queue": queue.LifoQueue(),
    "Value": multiprocessing.Value("i", 0),
    "Array": multiprocessing.Array("i", 2),
}


@pytest.mark.parametrize(("name", "value"), MANAGED.items(), ids=MANAGED)
def test_a_manager_has_one_that_tasks_share(pool: Executor, name: str, value: Any) -> None:
    with pytest.raises(PayloadError, match=rf"argument 1 of same, .* Tasks share manager\.{name}\(\)"):
        pool.submit(tasks.same, value)
    with pytest.raises(PayloadError, match=rf"refers to 'value', .* Tasks share manager\.{name}\(\)"):
        pool.submit(lambda: value)
    assert hasattr(multiprocessing.managers.SyncManager, name)


def test_of_what_has_no_value_yet_the_value_is_given(pool: Executor) -> None:
    async def awaited() -> int:
        return 1

    async def in_a_loop() -> None:
        soon = asyncio.ensure_future(asyncio.sleep(0))
        with pytest.raises(PayloadError, match=r"a Task, cannot be sent to a worker\. Await it, and give"):
            pool.submit(tasks.same, soon)
        await soon

    one = awaited()
    with pytest.raises(PayloadError, match=r"a coroutine, cannot be sent to a worker\. Await it, and give"):
        pool.submit(tasks.same, one)
    one.close()
    asyncio.run(in_a_loop())
    with pytest.raises(PayloadError, match=r"Give the task its value: future\.result\(\)"):
        pool.submit(tasks.same, concurrent.futures.Future[int]())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([1, concurrent.futures.Future[int]()], r"\[1\] is a Future\. Give the task its value"),
        ({"a": (queue.Queue[int](),)}, r"\['a'\]\[0\] is a Queue\. .* Tasks share manager\.Queue\(\)"),
    ],
)
def test_it_is_found_in_lists_and_dicts(pool: Executor, value: Any, words: str) -> None:
    with pytest.raises(PayloadError, match=f"cannot be sent to a worker: in it, {words}"):
        pool.submit(tasks.same, value)


class Holder:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def double(self, x: int) -> int:
        return 2 * x


def test_what_holds_one_is_made_in_each_worker() -> None:
    assert remedies.advice(Holder()) == remedies.advice(threading.Thread()) == ""


@pytest.mark.parametrize("each", [False, True])
def test_the_object_of_a_method_is_named(pool: Executor, each: bool) -> None:
    """Its arguments, of which nothing is wrong, were blamed."""
    with pytest.raises(PayloadError) as caught:
        list(pool.map(Holder().double, [1, 2])) if each else pool.submit(Holder().double, 1)
    words = "the object of Holder.double, a Holder, cannot be sent to a worker: in it, .lock is a lock. "
    assert str(caught.value).startswith(words)
    with pytest.raises(PayloadError, match=r"the object of Queue.put, a Queue, .* Tasks share manager.Queue"):
        pool.submit(queue.Queue[int]().put, 1)
