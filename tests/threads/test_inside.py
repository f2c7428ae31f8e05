"""What a task finds around it in a thread."""

from __future__ import annotations

import contextvars
import threading
import warnings
from typing import Any

import cellmill
from cellmill import Executor
from tests.threads.helpers import SOON, Thing


def test_inside_a_task_executors_run_inline(pool: Executor) -> None:
    @cellmill.parallel
    def double(x: int) -> int:
        return 2 * x

    def inner() -> tuple[Any, ...]:
        before = threading.get_ident()
        mine = [pool.submit(threading.get_ident).result(), *pool.map(lambda _: threading.get_ident(), [1])]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            backend = cellmill.default_executor().backend
            with Executor(2) as own:
                return set(mine) == {before}, backend, own.backend, double(3)

    assert pool.submit(inner).result(SOON) == (True, "inline", "inline", 6)
    assert not cellmill.executor.in_worker()


def test_per_worker_has_a_value_for_each_thread(pool: Executor) -> None:
    made: list[int] = []

    @cellmill.per_worker
    def value() -> Thing:
        made.append(threading.get_ident())
        return Thing()

    barrier = threading.Barrier(3)

    def task(_: int) -> tuple[int, Thing]:
        barrier.wait(SOON)
        assert value() is value()
        return threading.get_ident(), value()

    found = dict(future.result(SOON) for future in [pool.submit(task, i) for i in range(3)])
    assert sorted(made) == sorted(found)
    assert len(set(map(id, found.values()))) == 3


def test_context_variables_of_the_caller(pool: Executor) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    variable.set(5)

    def task(_: Any = None) -> int:
        found = variable.get()
        variable.set(found + 1)  # seen by no other task
        return found

    assert [pool.submit(task).result(SOON) for _ in range(3)] == [5, 5, 5]
    assert min(pool.map(task, range(20))) == 5  # elements that travel together share a copy
