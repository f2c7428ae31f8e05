"""`map` and batch functions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import Executor, Retry, parallel
from tests.contract import work
from tests.contract.abilities import each_cluster, elsewhere, later
from tests.support import tasks
from tests.support.helpers import Gate


@each_cluster
@pytest.mark.parametrize("chunksize", [None, 1, 7])
@pytest.mark.parametrize("ordered", [True, False])
def test_like_the_builtin(ex: Executor, chunksize: int | None, ordered: bool) -> None:
    results = list(ex.map(tasks.double, range(100), chunksize=chunksize, ordered=ordered))
    assert (results if ordered else sorted(results)) == list(map(tasks.double, range(100)))


def test_two_thousand_elements(ex: Executor) -> None:
    assert list(ex.map(tasks.double, range(2000))) == [2 * i for i in range(2000)]


def test_several_inputs_stop_with_the_shortest(ex: Executor) -> None:
    inputs = range(10), [2, 3, 1], itertools.count(1)
    assert list(ex.map(tasks.give, *inputs)) == [((0, 2, 1), {}), ((1, 3, 2), {}), ((2, 1, 3), {})]
    assert list(ex.map(tasks.double, [])) == []


@pytest.mark.parametrize("chunksize", [None, 2])
def test_error_in_its_place(ex: Executor, chunksize: int | None) -> None:
    results = ex.map(tasks.half_of_even, [0, 2, 4, 5, 6], chunksize=chunksize)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="5 is odd"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


@pytest.mark.parametrize("ordered", [True, False])
def test_return_exceptions(ex: Executor, ordered: bool) -> None:
    results = list(ex.map(tasks.half_of_even, range(40), return_exceptions=True, ordered=ordered))
    assert sorted(r for r in results if isinstance(r, int)) == list(range(20))
    assert sum(isinstance(r, ValueError) for r in results) == 20
    if ordered:
        assert [str(r) for r in results[:3]] == ["0", "1 is odd", "1"]


@pytest.mark.parametrize("chunksize", [None, 5])
def test_input_that_raises_half_way(ex: Executor, chunksize: int | None) -> None:
    def numbers() -> Iterator[int]:
        yield from range(12)
        raise OSError("the input broke")

    results = ex.map(tasks.double, numbers(), chunksize=chunksize)
    assert [next(results) for _ in range(12)] == [2 * i for i in range(12)]
    with pytest.raises(OSError, match="the input broke"):
        next(results)
    with pytest.raises(StopIteration):
        next(results)


@later
def test_timeout(ex: Executor, gate: Gate) -> None:
    results = ex.map(tasks.hold, [gate.folder], timeout=0.1)
    with pytest.raises(TimeoutError):
        next(results)
    gate.release()


@later
def test_unordered_yields_what_is_ready(ex: Executor, gate: Gate) -> None:
    def run(x: int, folder: str) -> int:
        return tasks.hold(folder, x) if x == 0 else x

    results = ex.map(run, range(4), [gate.folder] * 4, chunksize=1, ordered=False)
    assert sorted(next(results) for _ in range(3)) == [1, 2, 3]
    gate.release()
    assert list(results) == [0]


@later
def test_runs_without_being_read(ex: Executor, gate: Gate) -> None:
    results = ex.map(tasks.hold, [gate.folder] * 2, ["a", "b"], chunksize=1)
    gate.wait_started(2)
    gate.release(2)
    assert list(results) == ["a", "b"]


def test_retries_of_an_element(ex: Executor, tmp_path_factory: pytest.TempPathFactory) -> None:
    folders = [str(tmp_path_factory.mktemp("element")) for _ in range(5)]
    again = ex.options(retries=Retry(2, when=ConnectionError))
    assert list(again.map(tasks.fail_first, folders, [0, 0, 2, 0, 0])) == [1, 1, 3, 1, 1]


# -- batch=True


@each_cluster
def test_batch(ex: Executor) -> None:
    batch = ex.options(batch=True)
    expected = [x / 2 for x in range(100, 600)]
    assert list(batch.map(work.halves, range(100, 600))) == expected
    assert [f.result(30) for f in [batch.submit(work.halves, x) for x in range(100, 150)]] == expected[:50]


def test_batch_culprit_stands_alone(ex: Executor) -> None:
    results = list(ex.options(batch=True).map(work.halves, range(100), return_exceptions=True))
    error = results.pop(13)
    assert isinstance(error, ValueError)
    assert str(error) == "13 among 1"
    assert results == [x / 2 for x in range(100) if x != 13]


def test_batch_of_another_length(ex: Executor) -> None:
    (result,) = ex.options(batch=True).map(lambda items: [], [1], return_exceptions=True)
    assert isinstance(result, Exception)
    assert "1" in str(result)


@parallel
def odd_fails(x: int) -> int:
    if x % 2:
        raise ValueError(f"{x} is odd")
    return x * 10


def map_in_a_task(_: int) -> tuple[list[Any], list[int], str]:
    ran: list[int] = []
    append = parallel(ran.append)
    append.map([1, 2, 3])  # never read
    append.map(x for x in (4, 5))
    seen = [repr(each) for each in odd_fails.map(range(3), return_exceptions=True)]
    try:
        list(odd_fails.map(iter(range(3))))
    except ValueError as error:
        return seen, ran, str(error)
    return seen, ran, ""


@later
def test_a_map_in_a_task_is_one(ex: Executor) -> None:
    wanted = ["0", "ValueError('1 is odd')", "20"], [1, 2, 3, 4, 5], "1 is odd"
    assert ex.submit(map_in_a_task, 0).result(60) == wanted
    assert list(ex.map(map_in_a_task, range(3))) == [wanted] * 3


def broken(path: str, *, other: int = 0) -> str:
    if "7" in path:
        raise OSError("broken file")
    return path


def test_an_error_names_its_element(ex: Executor) -> None:
    paths = [f"{i}.csv" for i in range(10)]
    with pytest.raises(OSError, match="broken file") as caught:
        list(ex.map(broken, paths))
    assert caught.value.__notes__ == ["in element 7 of a map: broken('7.csv')"]
    errors = [
        e for e in ex.map(tasks.half_of_even, range(1200, 1204), return_exceptions=True) if type(e) is not int
    ]
    assert [e.__notes__[-1] for e in errors] == [
        f"in element {i} of a map: half_of_even({1200 + i})" for i in (1, 3)
    ]
    several = list(ex.map(divided, [1, 2], [1, 0], return_exceptions=True))
    assert several[1].__notes__ == ["in element 1 of a map: divided(2, 0)"]
    of_a_list = list(ex.map(divided, [[1, 2]], [0], return_exceptions=True))
    assert "in element 0 of a map: divided" in of_a_list[0].__notes__[0]
    assert "[1, 2], 0" in of_a_list[0].__notes__[0]


def divided(x: Any, y: int) -> Any:
    return x / y


def locks_at_five(items: list[int]) -> list[Any]:
    return [tasks.lock_if(x, 5) for x in items]


@elsewhere
@pytest.mark.parametrize("batch", [False, True])
def test_a_result_that_cannot_be_sent_is_counted_as_failed(ex: Executor, batch: bool) -> None:
    before = ex.stats()
    if batch:
        results = ex.options(batch=True).map(locks_at_five, range(8), return_exceptions=True)
    else:
        results = ex.map(tasks.lock_if, range(8), [5] * 8, chunksize=8, return_exceptions=True)
    assert sum(isinstance(result, Exception) for result in list(results)) == 1
    now = ex.stats()
    assert (now.succeeded - before.succeeded, now.failed - before.failed) == (7, 1)
