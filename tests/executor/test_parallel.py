"""`parallel`, its options and `per_worker`."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, ParallelFunction, UsageError, parallel, per_worker
from tests.support import tasks
from tests.support.helpers import Gate


@pytest.fixture(autouse=True)
def default(pool: Executor) -> Iterator[None]:
    cellmill.set_default_executor(pool)
    yield
    cellmill.set_default_executor(None)


def test_an_executor_is_taken_and_nothing_else(inline: Executor) -> None:
    doubled = cellmill.parallel(tasks.double)
    for there in (cellmill.parallel(doubled, executor=inline), doubled.options(executor=inline)):
        before = inline.stats().submitted
        assert there(4).result() == 8
        assert inline.stats().submitted == before + 1
    for take in (
        lambda given: cellmill.parallel(tasks.double, executor=given),
        lambda given: doubled.options(executor=given),
        lambda given: cellmill.failures(executor=given),
        lambda given: list(cellmill.journey_rows(given)),
        cellmill.profile,
        cellmill.set_default_executor,
    ):
        with pytest.raises(
            UsageError, match=r"takes a cellmill.Executor, not 'threads': cellmill.Executor\(backend='th"
        ):
            take("threads")
        with pytest.raises(UsageError, match=r"takes a cellmill.Executor, not 3$"):
            take(3)
    with pytest.raises(UsageError, match=r"give the executor itself, and the options to the function"):
        doubled.options(executor=inline.options(retries=2))


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
        ({"memory": "two"}, "memory must be a number of bytes"),
        ({"resources": {"gpu": 0}}, "must be a number of at least"),
        ({"memo": 3}, "memo takes True, False or the name of a folder"),
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
