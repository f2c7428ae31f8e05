"""`parallel`, its options, `per_worker` and batch functions."""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, ParallelFunction, parallel, per_worker
from tests.core import tasks
from tests.core.helpers import Gate


@pytest.fixture(autouse=True)
def default(pool: Executor) -> Iterator[None]:
    cellmill.set_default_executor(pool)
    yield
    cellmill.set_default_executor(None)


def test_calls_are_futures() -> None:
    double = parallel(tasks.double)
    assert isinstance(double, ParallelFunction)
    assert isinstance(double(4), cellmill.Future)
    assert double(4).result() == 8
    assert list(double.map(range(4))) == [0, 2, 4, 6]
    assert double.__wrapped__ is tasks.double
    assert double.name == double.__name__ == "double"
    assert repr(double) == "<parallel double(x: 'Any') -> 'Any'>"


def test_awaited() -> None:
    double = parallel(tasks.double)

    async def use() -> int:
        found: int = await double(await double(1))
        return found

    assert asyncio.run(use()) == 4


def test_decorated_twice() -> None:
    once = parallel(tasks.double)
    assert parallel(once) is once
    renamed = parallel(name="other")(once)
    assert renamed.name == "other"
    assert renamed.__wrapped__ is tasks.double


def test_options() -> None:
    named = parallel(name="named", retries=2)(tasks.double)
    assert named.name == "named"
    assert named.options(name="again").name == "again"
    assert named.options(name="again").options(priority=4)(1).result() == 2


def test_its_own_executor() -> None:
    with Executor(1) as own:
        pid = parallel(executor=own)(tasks.pid)
        assert pid().result() == own.workers()[0].pid
        assert parallel(tasks.pid).options(executor=own)().result() == own.workers()[0].pid


def test_methods() -> None:
    class Tool:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        @parallel
        def scaled(self, x: int) -> int:
            return self.factor * x

    assert Tool(3).scaled(4).result() == 12
    assert isinstance(Tool.scaled, ParallelFunction)


def test_pickles_to_itself() -> None:
    double = pickle.loads(pickle.dumps(parallel(name="x")(tasks.double)))
    assert double.name == "x"
    assert double(1).result() == 2


def test_as_an_argument(pool: Executor) -> None:
    def apply(f: Any, x: int) -> Any:
        return f(x)

    assert pool.submit(apply, parallel(tasks.double), 4).result() == 8


def test_default_executor_is_made_when_needed(script: Callable[..., str]) -> None:
    out = script(
        """
        import cellmill
        assert cellmill.peek_default_executor() is None
        @cellmill.parallel
        def f(x): return x + 1
        assert f(1).result() == 2
        first = cellmill.default_executor()
        assert first is cellmill.peek_default_executor()
        first.shutdown()
        assert f(2).result() == 3
        assert cellmill.default_executor() is not first
        print("good")
        """
    )
    assert out == "good\n"


# -- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retries": -1}, "retries must be a whole number from 0 to 255"),
        ({"retries": 1.5}, "retries"),
        ({"retries": True}, "retries"),
        ({"priority": 101}, "priority must be a whole number from -100 to 100"),
        ({"priority": "high"}, "priority"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"timeout": "1"}, "timeout"),
        ({"name": 5}, "name must be text"),
        ({"retires": 2}, "unknown option 'retires'.*retries"),
        ({"after": [3]}, "after takes futures"),
        ({"memory": "2GB"}, "not available"),
        ({"resources": {"gpu": 1}}, "not available"),
        ({"memo": True}, "not available"),
    ],
)
def test_wrong_options(pool: Executor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(cellmill.UsageError, match=message):
        pool.options(**options)
    with pytest.raises(cellmill.UsageError, match=message):
        parallel(**options)
    with pytest.raises(cellmill.UsageError, match=message):
        parallel(tasks.double).options(**options)


@pytest.mark.parametrize(
    "options", [{"retries": 255}, {"priority": -100}, {"priority": 100}, {"timeout": 60}]
)
def test_options_at_their_ends(ex: Executor, options: dict[str, Any]) -> None:
    assert ex.options(**options).submit(tasks.double, 1).result() == 2


def test_retries(ex: Executor, tmp_path: Path) -> None:
    assert ex.options(retries=2).submit(tasks.fail_first, str(tmp_path), 2).result() == 3


def test_retries_run_out(ex: Executor, tmp_path: Path) -> None:
    future = ex.options(retries=2).submit(tasks.fail_first, str(tmp_path), 9)
    with pytest.raises(ConnectionError, match="attempt 3"):
        future.result()
    assert tasks.count_call(str(tmp_path)) == 4


def test_priorities(gate: Gate) -> None:
    with Executor(1) as executor:
        held = executor.submit(tasks.hold, gate.folder)
        gate.wait_started()
        order: list[int] = []
        done = [
            executor.options(priority=p).submit(tasks.count_call, gate.folder) for p in (-5, 0, 9, 3) * 10
        ]
        gate.release()
        held.result()
        order = [f.result() for f in done]
    by_priority = {p: order[i::4] for i, p in enumerate((-5, 0, 9, 3))}
    # a few were in the worker's ring already
    assert sum(by_priority[9]) < sum(by_priority[3]) < sum(by_priority[0]) < sum(by_priority[-5])


# -- per_worker


def test_per_worker(pool: Executor, tmp_path: Path) -> None:
    folder = str(tmp_path)

    @per_worker
    def engine() -> tuple[int, int]:
        return os.getpid(), tasks.count_call(folder)

    @parallel
    def use(_: int) -> tuple[int, int]:
        return engine()

    found = set(use.map(range(200), chunksize=1))
    assert len(found) == len({process for process, _ in found}) <= 2
    assert found == set(use.map(range(50))) | found
    assert engine()[0] == os.getpid()


def test_per_worker_is_made_again_when_its_factory_changes(pool: Executor) -> None:
    base = 1

    @per_worker
    def value() -> int:
        return base * 10

    def use() -> int:
        return value()

    assert pool.submit(use).result() == 10
    base = 2
    assert pool.submit(use).result() == 20


def test_per_worker_with_arguments(pool: Executor) -> None:
    @per_worker
    def table(size: int, *, fill: int = 0) -> list[int]:
        return [fill] * size

    def same_object() -> tuple[bool, bool, int]:
        return table(3) is table(3), table(3) is table(4), sum(table(3, fill=2))

    assert pool.submit(same_object).result() == (True, False, 6)


def test_per_worker_of_a_new_worker(fresh: Executor) -> None:
    @per_worker
    def mine() -> int:
        return os.getpid()

    def use() -> int:
        return mine()

    before = fresh.submit(use).result()
    assert isinstance(fresh.submit(tasks.die, "SIGKILL").exception(), cellmill.WorkerLostError)
    fresh.restart()
    assert fresh.submit(use).result() != before


def test_per_worker_that_fails_is_tried_again(pool: Executor, tmp_path: Path) -> None:
    folder = str(tmp_path)

    @per_worker
    def shaky() -> int:
        return tasks.fail_first(folder, 1)

    def use() -> int:
        return shaky()

    assert isinstance(pool.submit(use).exception(), ConnectionError)
    assert pool.submit(use).result() in (2, 3)


def test_per_worker_needs_a_function() -> None:
    with pytest.raises(cellmill.UsageError):
        per_worker(3)  # type: ignore[arg-type]


# -- batch functions


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
    futures = [ex.options(batch=True).submit(doubled, i) for i in range(500)]
    assert [f.result() for f in futures] == [2 * i for i in range(500)]


def test_batch_calls_gather(pool: Executor, gate: Gate) -> None:
    held = [pool.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)

    def sizes(items: list[int]) -> list[int]:
        return [len(items)] * len(items)

    futures = [pool.options(batch=True).submit(sizes, i) for i in range(2000)]
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
        (lambda items: "x" * len(items), "returned 1 results"),
        (lambda items: dict.fromkeys(items), "returned 1 results"),
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
