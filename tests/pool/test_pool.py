"""`cellmill.Pool` does what `multiprocessing.Pool` does: each scenario runs on both."""

from __future__ import annotations

import itertools
import multiprocessing
import multiprocessing.pool
import os
import pickle
import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from concurrent.futures import Future as BaseFuture
from typing import Any

import pytest

import cellmill
from cellmill import Pool
from cellmill.pool.results import AsyncResult, Callbacks
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate
from tests.support.stops import each_step
from tests.support.waiting import until


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as made:
        yield made


@pytest.fixture(scope="module")
def theirs() -> Iterator[multiprocessing.pool.Pool]:
    with multiprocessing.Pool(2) as made:
        yield made


def half(x: int) -> float:
    if x == 3:
        raise ValueError("three is odd")
    return x / 2


def returns_an_error(x: int) -> ValueError:
    return ValueError(x)


def every(results: Iterator[Any]) -> list[Any]:
    """What an iterator gives; errors, after which it goes on, by their type and text."""
    found = []
    while True:
        try:
            found.append(next(results))
        except StopIteration:
            return found
        except Exception as error:
            found.append((type(error).__name__, str(error)))


def told(call: Callable[[], Any]) -> Any:
    """The value of a call, or its error's type and text."""
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)


SCENARIOS: dict[str, Callable[[Any], Any]] = {
    "apply": lambda p: p.apply(divmod, (17, 5)),
    "keywords": lambda p: p.apply(int, ("ff",), {"base": 16}),
    "an error": lambda p: told(lambda: p.apply(half, (3,))),
    "map": lambda p: p.map(abs, range(-50, 50)),
    "map of a generator in chunks": lambda p: p.map(abs, (x for x in range(20)), 7),
    "map of nothing": lambda p: p.map(abs, []),
    "map with an error": lambda p: told(lambda: p.map(half, range(8))),
    "starmap": lambda p: p.starmap(pow, [(2, 3), (3, 2)]),
    "map_async": lambda p: p.map_async(half, [2, 4]).get(SECONDS),
    "starmap_async": lambda p: p.starmap_async(pow, [(2, 3)] * 3).get(SECONDS),
    "callbacks of nothing": lambda p: [
        heard := list[Any](),
        p.map_async(half, [], callback=heard.append).get(SECONDS),
        p.starmap_async(pow, iter([]), callback=heard.append).get(SECONDS),
    ],
    "imap": lambda p: list(p.imap(abs, range(-9, 9))),
    "imap goes on after an error": lambda p: every(p.imap(half, range(6))),
    "imap by next": lambda p: [(i := p.imap(abs, [-1, -2])).next(SECONDS), i.next(), told(i.next)],
    "imap_unordered": lambda p: sorted(p.imap_unordered(abs, range(-30, 0), 4)),
    "imap_unordered after an error": lambda p: len(every(p.imap_unordered(half, range(6)))),
    "a returned exception": lambda p: [repr(e) for e in p.imap(returns_an_error, [1, 2])],
    "too many arguments": lambda p: told(lambda: p.apply_async(half, (1, 2)).get())[0],
    "ready": lambda p: [(r := p.apply_async(half, (4,))).wait(SECONDS), r.ready(), r.successful()],
    "unsuccessful": lambda p: [(r := p.apply_async(half, (3,))).wait(SECONDS), r.ready(), r.successful()],
    "pickled": lambda p: told(lambda: pickle.dumps(p)),
    "joined while open": lambda p: told(p.join),
    "the number that libraries read": lambda p: p._processes,
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_is_as_of_multiprocessing(pool: Pool, theirs: multiprocessing.pool.Pool, name: str) -> None:
    assert SCENARIOS[name](pool) == SCENARIOS[name](theirs)


def test_what_has_not_come(pool: Pool, gate: Gate) -> None:
    held = pool.apply_async(tasks.hold, (gate.folder, 5))
    with pytest.raises(multiprocessing.TimeoutError):
        held.get(0.01)
    with pytest.raises(ValueError, match="not ready"):
        held.successful()
    assert list(pool.imap(abs, [-1, -2])) == [1, 2]
    gate.release()
    assert held.get(SECONDS) == 5


def test_an_iterator_waits_no_longer_than_told(pool: Pool, gate: Gate) -> None:
    results = pool.imap(tasks.hold, [gate.folder] * 2)
    for _ in range(2):
        with pytest.raises(multiprocessing.TimeoutError):
            results.next(0.01)
    gate.release(2)
    assert len(list(results)) == 2


@pytest.mark.parametrize("name", ["map", "starmap", "map_async", "starmap_async"])
def test_an_error_is_raised_when_all_calls_are_made(pool: Pool, tmp_path: Any, name: str) -> None:
    def note(number: int) -> None:
        if number % 10 == 0:
            raise ValueError(number)
        (tmp_path / str(number)).touch()

    numbers: Any = [(i,) for i in range(50)] if "star" in name else range(50)
    call = getattr(pool, name)
    with pytest.raises(ValueError, match=r"^0\b"):
        call(note, numbers, chunksize=1) if "async" not in name else call(note, numbers, 1).get(SECONDS)
    assert len(list(tmp_path.iterdir())) == 45


@pytest.mark.parametrize("backend", ["threads", "inline"])
def test_errors_are_raised_where_calls_run_in_this_process(backend: str) -> None:
    with Pool(1, backend=backend) as here:
        with pytest.raises(ValueError, match="three is odd"):
            here.map(half, [2, 3, 4])
        read = here.imap(half, [2, 3, 4])
        assert next(read) == 1.0
        with pytest.raises(ValueError, match="three is odd"):
            next(read)
        assert next(read) == 2.0
        assert [str(e) for e in here.map(returns_an_error, [1])] == [str(returns_an_error(1))]


def test_callbacks(pool: Pool) -> None:
    heard: list[Any] = []
    both = threading.Semaphore(0)

    def hear(value: Any) -> None:
        heard.append(value)
        both.release()

    pool.map_async(half, [2, 4], callback=hear)
    assert both.acquire(timeout=SECONDS)
    pool.apply_async(half, (3,), callback=hear, error_callback=hear)
    assert both.acquire(timeout=SECONDS)
    assert heard[0] == [1.0, 2.0]
    assert isinstance(heard[1], ValueError)


def test_a_result_is_ready_when_its_callback_has_run(pool: Pool) -> None:
    here = threading.Event()

    def hear(_: Any) -> None:
        here.wait(SECONDS)

    for begin in (pool.apply_async, pool.map_async):
        result = begin(half, [4] if begin == pool.map_async else (4,), callback=hear)
        with pytest.raises(multiprocessing.TimeoutError):
            result.get(0.2)
        assert not result.ready()
        here.set()
        assert result.get(SECONDS) in (2, [2])
        here.clear()


def test_callbacks_run_one_at_a_time_beside_the_caller_and_before_join_returns() -> None:
    running, heard, threads = threading.Lock(), list[int](), set[int]()

    def hear(value: int) -> None:
        assert running.acquire(blocking=False)
        heard.append(value)
        threads.add(threading.get_ident())
        running.release()
        if value % 100 == 0:
            raise ValueError(value)  # the others run all the same

    with Pool(2) as pool:
        for i in range(1000):
            pool.apply_async(abs, (-i,), callback=hear)
        pool.map_async(abs, [-1000], callback=lambda values: hear(*values))
        pool.apply_async(abs, (threading.Lock(),), error_callback=lambda _: hear(1001))  # over at once
        pool.close()
        pool.join()
        assert sorted(heard) == list(range(1002))
    assert threading.get_ident() not in threads


def test_the_thread_of_callbacks_ends_wherever_stop_comes() -> None:
    callbacks, over = Callbacks(), BaseFuture[int]()
    over.set_result(1)
    for _ in each_step(1, lambda _: lambda: AsyncResult(over, callbacks, abs)):
        until(lambda: "cellmill-pool-callbacks" not in [each.name for each in threading.enumerate()])


def test_a_callback_cannot_join_its_pool() -> None:
    said: list[str] = []
    with Pool(1) as pool:
        result = pool.apply_async(
            abs, (1,), callback=lambda _: [pool.close(), said.append(told(pool.join)[0])]
        )
        result.wait(SECONDS)
        pool.join()
    assert said == ["RuntimeError"]


def test_functions_of_this_place_and_an_initializer(tmp_path: Any) -> None:
    add = 5
    with Pool(1, os.chdir, (tmp_path,)) as pool:
        assert pool.map(lambda x: x + add, range(3)) == [5, 6, 7]
        assert pool.apply(os.getcwd) == str(tmp_path)


def test_closed_it_finishes_what_was_begun() -> None:
    pool = Pool(2)
    results = [pool.apply_async(time.sleep, (0,)) for _ in range(20)]
    pool.close()
    for call in (pool.map, pool.imap, pool.apply_async):
        with pytest.raises(ValueError, match="Pool not running"):
            call(abs, [1])
    pool.join()
    assert all(result.ready() and result.successful() for result in results)


@pytest.mark.parametrize("imap", [Pool.imap, Pool.imap_unordered])
def test_closed_it_takes_the_input_to_its_end(imap: Callable[..., Iterator[int]]) -> None:
    pool = Pool(2)
    results = imap(pool, abs, (-i for i in range(20_000)), 200)
    first = next(results)
    pool.close()
    pool.join()
    assert sorted([first, *results]) == list(range(20_000))
    assert next(results, None) is None


def test_closed_it_raises_the_error_of_an_input_at_its_end() -> None:
    def items() -> Iterator[int]:
        yield from range(20_000)
        raise ValueError("no more")

    pool = Pool(2)
    results = pool.imap(abs, items(), 200)
    pool.close()
    pool.join()
    assert [next(results) for _ in range(20_000)] == list(range(20_000))
    assert told(lambda: next(results)) == ("ValueError", "no more")
    assert every(results) == []


@pytest.mark.parametrize("imap", ["imap", "imap_unordered"])
@pytest.mark.parametrize("close", [False, True])
def test_an_input_that_blocks_holds_up_nothing(pool: Pool, imap: str, close: bool) -> None:
    """Each element but the first waits for the result of the one before."""
    used = Pool(2) if close else pool
    given: queue.Queue[int | None] = queue.Queue()
    results = getattr(used, imap)(abs, iter(given.get, None))
    if close:
        used.close()
    found: list[int] = []
    for i in range(20):
        given.put(-i)
        found.append(results.next(SECONDS))
    given.put(None)
    assert found == list(range(20))
    assert every(results) == []
    if close:
        used.join()


def test_an_element_is_what_it_was_when_it_was_taken(pool: Pool) -> None:
    def items() -> Iterator[list[int]]:
        row: list[int] = []
        for i in range(5):
            row.append(i)
            yield row

    assert list(pool.imap(sum, items())) == [0, 1, 3, 6, 10]


def test_results_that_nothing_reads_are_computed_all_the_same(tmp_path: Any) -> None:
    pool = Pool(2)
    pool.imap(os.mkdir, (f"{tmp_path}/{i}" for i in range(50)))
    pool.close()
    pool.join()
    assert len(list(tmp_path.iterdir())) == 50


def test_terminated_it_ends_a_reader_whose_input_blocks() -> None:
    given: queue.Queue[int | None] = queue.Queue()
    pool = Pool(1)
    results = pool.imap(abs, iter(given.get, None))
    given.put(-1)
    assert results.next(SECONDS) == 1
    with pytest.raises(multiprocessing.TimeoutError):
        results.next(0.01)  # a thread waits from here on
    pool.terminate()
    with pytest.raises(CancelledError):
        results.next(SECONDS)
    given.put(None)
    until(lambda: not [each for each in threading.enumerate() if each.name.startswith("cellmill-map-")])


def test_terminated_it_takes_no_more_of_an_input_without_an_end() -> None:
    pool = Pool(2)
    results = pool.imap(abs, itertools.count())
    pool.close()
    pool.terminate()
    pool.join()
    assert every(results)[-1][0] == "CancelledError"


def test_terminated_it_takes_no_more_of_an_input_that_nobody_read() -> None:
    pool = Pool(1)
    pool.apply(abs, (1,))
    results = pool.imap(abs, itertools.count())
    pool.terminate()
    pool.join()
    pool.join()
    assert every(results)[-1][0] == "CancelledError"


def test_the_end_of_a_with_block_interrupts_what_runs(gate: Gate) -> None:
    with Pool(1) as pool:
        running = pool.apply_async(tasks.hold, (gate.folder,))
        waiting = pool.apply_async(abs, (1,))
        gate.wait_started()
    pool.join()
    assert not running.successful()
    with pytest.raises(CancelledError, match=r"cancelled by terminate\(\) of its pool"):
        waiting.get(SECONDS)


def test_a_worker_that_dies_loses_one_call() -> None:
    with Pool(2) as pool:
        lost = pool.apply_async(os.abort)
        assert pool.map(abs, range(-100, 0)) == list(range(100, 0, -1))
        with pytest.raises(cellmill.WorkerLostError):
            lost.get(SECONDS)


def inner(n: int) -> list[int]:
    with Pool(3) as pool:
        return pool.map(abs, range(-n, 0))


def test_inside_a_task_it_runs_in_place(pool: Pool) -> None:
    assert pool.apply(inner, (3,)) == [3, 2, 1]


def test_it_is_used_by_libraries_that_take_a_map() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    with Pool(1) as pool:
        found = optimize.differential_evolution(
            square, [(-5, 5), (-5, 5)], seed=1, maxiter=20, updating="deferred", workers=pool.map
        )
    assert found.fun < 1e-3


def square(x: Any) -> float:
    return float((x * x).sum())


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="Number of processes must be at least 1"):
        Pool(0)
    with pytest.raises(cellmill.UsageError, match="no multiprocessing context"):
        Pool(1, context=multiprocessing.get_context("spawn"))  # type: ignore[arg-type]
