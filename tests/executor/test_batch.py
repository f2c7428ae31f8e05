"""Batch functions: lists chosen by the runtime, an outcome of its own for each item."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import Gate


def doubled(items: list[int]) -> list[int]:
    assert isinstance(items, list)
    return [2 * x for x in items]


def culprit_13(items: list[int]) -> list[int]:
    if 13 in items:
        raise ValueError(f"13 among {len(items)}")
    return items


def test_batch_map(ex: Executor) -> None:
    assert list(ex.options(batch=True).map(doubled, range(5000))) == [2 * i for i in range(5000)]


def test_batch_grows(pool: Executor) -> None:
    def sizes(items: list[int]) -> list[int]:
        return [len(items)] * len(items)

    assert max(pool.options(batch=True).map(sizes, range(20_000))) > 100


def test_batch_calls(ex: Executor) -> None:
    futures = [ex.options(batch=True).submit(doubled, i) for i in range(200)]
    assert [f.result() for f in futures] == [2 * i for i in range(200)]


def test_batch_calls_gather(pool: Executor, gate: Gate) -> None:
    held = [pool.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)

    def sizes(items: list[int]) -> list[int]:
        return [len(items)] * len(items)

    futures = [pool.options(batch=True).submit(sizes, i) for i in range(300)]
    gate.release(2)
    assert max(f.result() for f in futures) > 1
    assert all(h.result() is None for h in held)


def test_batch_culprit_stands_alone(ex: Executor) -> None:
    results = list(ex.options(batch=True).map(culprit_13, range(100), return_exceptions=True))
    assert results[:13] == list(range(13))
    assert results[14:] == list(range(14, 100))
    assert isinstance(results[13], ValueError)
    assert str(results[13]) == "13 among 1"


def test_batch_culprit_of_single_calls(pool: Executor) -> None:
    futures = [pool.options(batch=True).submit(culprit_13, i) for i in range(100)]
    errors = [f.exception() for f in futures]
    assert [i for i, e in enumerate(errors) if e] == [13]
    assert [f.result() for i, f in enumerate(futures) if i != 13] == [i for i in range(100) if i != 13]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda items: items[1:], "returned 0 results"),
        (lambda items: [*items, 1], "returned 2 results"),
        (lambda items: None, "returned a NoneType"),
        (lambda items: 5, "returned a int"),
        (lambda items: "x" * len(items), "was given 1 item and returned a str"),
        (lambda items: dict.fromkeys(items), "returned a dict"),
    ],
)
def test_batch_of_wrong_length(ex: Executor, wrong: Callable[[list[int]], Any], message: str) -> None:
    batch = ex.options(batch=True)
    for error in batch.map(wrong, range(3), return_exceptions=True):
        assert isinstance(error, cellmill.UsageError)
        assert "same length" in str(error)
    with pytest.raises(cellmill.UsageError, match=message):
        batch.submit(wrong, 1).result()


def test_batch_result_as_array(pool: Executor) -> None:
    numpy = pytest.importorskip("numpy")

    def squares(items: list[int]) -> Any:
        return numpy.array(items, dtype=float) ** 2

    results = list(pool.options(batch=True).map(squares, range(3000)))
    assert results == [float(i * i) for i in range(3000)]


def test_batch_takes_one_item(pool: Executor) -> None:
    batch = pool.options(batch=True)
    for call in (
        lambda: batch.submit(doubled),
        lambda: batch.submit(doubled, 1, 2),
        lambda: batch.submit(doubled, x=1),
    ):
        with pytest.raises(cellmill.UsageError, match="batch function"):
            call()
    with pytest.raises(cellmill.UsageError, match="one iterable"):
        batch.map(doubled, [1], [2])


def test_batch_worker_dies_of_one_item(fresh: Executor) -> None:
    def die_of_seven(items: list[int]) -> list[int]:
        if 7 in items:
            tasks.die("SIGKILL")
        return items

    results = list(fresh.options(batch=True).map(die_of_seven, range(40), return_exceptions=True))
    assert [r for r in results if isinstance(r, int)] == [i for i in range(40) if i != 7]
    assert isinstance(results[7], cellmill.WorkerLostError)


def test_batch_unpicklable_item(pool: Executor) -> None:
    items: list[Any] = [1, 2, threading.Lock(), 4]
    results = list(pool.options(batch=True).map(tasks.same, items, return_exceptions=True))
    assert [results[i] for i in (0, 1, 3)] == [1, 2, 4]
    assert isinstance(results[2], cellmill.PayloadError)


def test_batch_unpicklable_result(pool: Executor) -> None:
    def locks(items: list[int]) -> list[Any]:
        return [tasks.lock_if(x, 5) for x in items]

    results = list(pool.options(batch=True).map(locks, range(20), return_exceptions=True))
    assert isinstance(results[5], cellmill.PayloadError)
    assert [r for i, r in enumerate(results) if i != 5] == [i for i in range(20) if i != 5]


def test_batch_retries(pool: Executor, tmp_path: Path) -> None:
    folder = str(tmp_path)

    def shaky(items: list[int]) -> list[int]:
        if 3 in items and len(items) == 1:
            tasks.fail_first(folder, 1)
        elif 3 in items:
            raise ValueError("together")
        return items

    assert list(pool.options(batch=True, retries=1).map(shaky, range(8))) == list(range(8))


def test_batch_of_dependencies(pool: Executor) -> None:
    inputs = [pool.submit(tasks.double, i) for i in range(20)]
    assert list(pool.options(batch=True).map(doubled, inputs)) == [4 * i for i in range(20)]
    future = pool.options(batch=True).submit(doubled, inputs[3])
    assert pool.submit(tasks.double, future).result() == 24


def test_batch_call_with_a_failed_dependency(pool: Executor) -> None:
    bad = pool.submit(tasks.fail)
    error = pool.options(batch=True).submit(doubled, bad).exception()
    assert isinstance(error, cellmill.DependencyError)
    assert isinstance(error.__cause__, LookupError)
