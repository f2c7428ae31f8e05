"""Futures and collections of Dask among the arguments of tasks, and what tasks start on Dask themselves."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import DependencyError, Executor, PayloadError
from tests.support import tasks
from tests.support.dasks import lent
from tests.support.helpers import SECONDS

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
dask = pytest.importorskip("dask")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Of a cluster of one worker: what waits there must leave its place to others."""
    with lent(n_workers=1, threads_per_worker=1) as client:
        yield client


@pytest.fixture(scope="module")
def ex(client: Any) -> Iterator[Executor]:
    with Executor(backend=client) as executor:
        yield executor


def _later(x: int) -> int:
    time.sleep(0.1)
    return x + 1


def _large(n: int) -> tuple[int, bytes]:
    return os.getpid(), bytes(n)


def _fail() -> None:
    raise LookupError("as asked")


def _size_there(large: tuple[int, bytes]) -> tuple[bool, int]:
    return large[0] == os.getpid(), len(large[1])


def test_futures_are_inputs_wherever_they_are_in_the_arguments(client: Any, ex: Executor) -> None:
    one, two, three = (client.submit(_later, i) for i in range(3))
    assert ex.submit(tasks.give, one, [two], last={"three": three}).result(SECONDS) == (
        (1, [2]),
        {"last": {"three": 3}},
    )
    assert list(ex.map(tasks.double, client.map(_later, range(10, 14)))) == [22, 24, 26, 28]
    assert list(ex.map(tasks.give, [(one, 7), (two, 8)])) == [(((1, 7),), {}), (((2, 8),), {})]
    assert ex.submit(tasks.add, one, ex.submit(tasks.double, 4)).result(SECONDS) == 9


def test_a_result_stays_on_its_worker(client: Any, ex: Executor) -> None:
    """The task has it in the process that made it."""
    large = client.submit(_large, 50_000_000)
    assert ex.submit(_size_there, large).result(SECONDS) == (True, 50_000_000)


def test_collections_are_computed_there(client: Any, ex: Executor) -> None:
    assert ex.submit(tasks.double, dask.delayed(_later)(4)).result(SECONDS) == 10
    bag = pytest.importorskip("dask.bag").from_sequence([1, 2, 3]).map(_later)
    assert ex.submit(tasks.give, bag).result(SECONDS) == (([2, 3, 4],), {})
    ones = pytest.importorskip("dask.array").ones((100, 10), chunks=(25, 10))
    assert ex.submit(sum, ones.sum(axis=0)).result(SECONDS) == 1000


def test_what_is_given_is_held_until_the_task_is_over_and_no_longer(client: Any, ex: Executor) -> None:
    given = client.submit(_later, 100)
    key, waiting = given.key, ex.submit(tasks.double, given)
    del given
    assert waiting.result(SECONDS) == 202
    deadline = time.monotonic() + SECONDS
    while key in client.who_has() or key in {k for keys in client.processing().values() for k in keys}:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("kind", ["a future", "a collection"])
def test_an_input_that_fails(client: Any, ex: Executor, kind: str) -> None:
    given = client.submit(_fail) if kind == "a future" else dask.delayed(_fail)()
    with pytest.raises(DependencyError, match="failed with LookupError: as asked") as failed:
        ex.submit(tasks.double, given).result(SECONDS)
    assert isinstance(failed.value.__cause__, LookupError)


def test_one_element_whose_input_fails_leaves_the_others(client: Any, ex: Executor) -> None:
    results = ex.map(tasks.double, [1, client.submit(_fail, pure=False), 3], return_exceptions=True)
    one, failed, three = results
    assert (one, three) == (2, 6)
    assert isinstance(failed, DependencyError)
    (note,) = failed.__notes__
    assert "double(<Dask's _fail-" in note  # not with the state that the future had


@pytest.mark.parametrize("backend", ["local", "dask"])
def test_a_future_of_another_cluster_is_refused(client: Any, backend: str) -> None:
    with Executor(1, backend=backend) as other:
        with pytest.raises(PayloadError, match=r"an argument is a .*[Pp]ass its"):
            other.submit(tasks.double, client.submit(_later, 1)).result(SECONDS)
        assert other.submit(tasks.double, 1).result(SECONDS) == 2


def _ask_dask(n: int) -> int:
    with distributed.worker_client() as client:
        return sum(client.gather(client.map(_later, range(n, n + 2))))


def _ask_and_leave(n: int) -> int:
    futures = distributed.get_client().map(_later, range(n, n + 2))
    distributed.secede()
    return sum(distributed.get_client().gather(futures))


def test_tasks_that_start_others_on_dask(ex: Executor) -> None:
    """They leave their place on the worker, and the next pack of their lane comes: it waits for its turn aside."""
    asked = [ex.submit(function, 10 * i) for i in range(2) for function in (_ask_dask, _ask_and_leave)]
    rest = [ex.submit(tasks.double, i) for i in range(200)]
    assert [f.result(SECONDS) for f in asked] == [2 * (10 * i) + 3 for i in range(2) for _ in "12"]
    assert [f.result(SECONDS) for f in rest] == [2 * i for i in range(200)]
    assert list(ex.map(tasks.double, range(2000))) == [2 * i for i in range(2000)]
