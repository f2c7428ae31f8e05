"""`memo=`: an equal call gives the result that was kept; any other one runs."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import cellmill
from cellmill import Executor, UsageError
from cellmill.memo import calls
from tests.memo.work import memo
from tests.support import tasks
from tests.support.helpers import Gate


def test_an_equal_call_gives_what_was_kept(ex: Executor, tmp_path: Path) -> None:
    for where in True, str(tmp_path / "store"):
        ran = tmp_path / f"ran {where is True}"

        def square(x: int, power: int = 2, ran: Path = ran) -> list[int]:
            with ran.open("a") as file:
                file.write(f"{x} ")
            return [x**power]

        f = memo(square, ex, memo=where)
        assert [f(3).result(), f(3).result(), f(4).result(), f(3, power=3).result()] == [[9], [9], [16], [27]]
        assert ran.read_text() == "3 4 3 "
        assert f.cache_info()[:3] == (1, 3, 3)
        assert f.cache_info().bytes > 0
        assert f.cache_clear() == 3
        assert f(3).result() == [9]
        assert ran.read_text() == "3 4 3 3 "


def test_a_function_without_memo_says_how_to_have_it(ex: Executor) -> None:
    for ask in memo(len, ex, memo=False).cache_info, memo(len, ex, memo=False).cache_clear:
        with pytest.raises(AttributeError, match=r"no results of len are kept.*f\.options\(memo=True\)"):
            ask()


def test_each_has_a_value_of_its_own(ex: Executor) -> None:
    def make(n: int) -> tuple[list[int], Any]:
        return [n], numpy.full(2000, n)

    f = memo(make, ex)
    for _ in range(3):
        items, array = f(1).result()
        assert items == [1]
        assert array[0] == 1
        items.append(2)
        array[:] = 7


def test_maps_bring_kept_and_new_results_in_their_places(ex: Executor) -> None:
    def f(x: int, y: int = 1) -> int:
        return x * 10 + y

    g = memo(f, ex)
    assert list(g.map([5, 1, 7])) == [51, 11, 71]
    assert list(g.map(range(10))) == [x * 10 + 1 for x in range(10)]
    assert list(g.map(iter(range(12)))) == [x * 10 + 1 for x in range(12)]
    assert sorted(g.map(iter(range(14)), ordered=False)) == [x * 10 + 1 for x in range(14)]
    assert list(g.map(range(3), y=4)) == list(g.map(range(3), y=4)) == [4, 14, 24]
    assert list(g.map([1, 2], [3, 4])) == list(g.starmap([(1, 3), (2, 4)])) == [13, 24]
    assert g.cache_info()[:2] == (3 + 10 + 12 + 3 + 2, 3 + 7 + 2 + 2 + 3 + 2)


def test_a_map_of_kept_results_alone_runs_nothing_and_tells_how_far_it_is(ex: Executor) -> None:
    f = memo(abs, ex)
    list(f.map(range(100)))
    before = ex.stats().submitted
    results = f.map(range(100))
    assert results.__length_hint__() == 100
    assert repr(results) == "<map of abs: 100 of 100 done>"
    assert next(results) == 0
    assert list(results) == list(range(1, 100))
    assert ex.stats().submitted == before


def test_an_endless_input_of_kept_results_is_read_piece_by_piece(
    ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.memo.maps._MOST_PENDING", 10)
    f = memo(abs, ex)
    f(1).result()

    def ones() -> Iterator[int]:
        while True:
            yield 1

    results = f.map(ones(), prefetch=4)
    assert [next(results) for _ in range(100)] == [1] * 100
    results.close()


def test_a_map_that_is_left_behind_a_kept_result_runs_no_others(fresh: Executor) -> None:
    f = memo(abs, fresh)
    f(1).result()
    taken = itertools.count(1)
    fresh.pause()
    for _ in f.map(range(1, 50)):
        break
    assert cellmill.runs()[-1].cancelled == 48
    for _ in f.map((x for x in taken), prefetch=2):  # no warning that the results were never read
        break
    assert next(taken) <= 5
    fresh.resume()


def test_kept_results_are_given_as_a_slow_input_gives_their_elements(pool: Executor) -> None:
    f = memo(abs, pool)
    f(0).result()
    taken, most = 0, 0

    def slow() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            end = time.perf_counter() + 0.001
            while time.perf_counter() < end:
                pass
            yield 0

    results = f.map(slow())
    begun = taken
    for x in range(100):
        assert next(results) == 0
        most = max(most, taken - x)
    assert begun < 5000
    assert most <= begun + 200
    results.close()


def test_an_endless_input_of_kept_results_that_is_not_read(
    ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.backends.taking.LONGEST_SEARCH_S", 0.1)
    f = memo(abs, ex)
    f(1).result()
    with pytest.warns(RuntimeWarning, match="does not come to an end"):
        f.map(itertools.repeat(1), prefetch=2)


def test_an_input_may_depend_on_results_that_are_kept(ex: Executor) -> None:
    def twice(x: int) -> int:
        return 2 * x

    f = memo(twice, ex)
    for _ in range(2):
        numbers, found = [1], []
        for result in f.map((x for x in numbers), prefetch=1):
            found.append(result)
            if result < 100:
                numbers.append(result)
        assert found == [2, 4, 8, 16, 32, 64, 128]
    assert f.cache_info().hits == 7


def test_what_an_input_changes_between_kept_results_counts(
    ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.memo.maps._LONGEST_S", 0.0)  # the reader has a turn behind each
    more = [0]

    def add(x: int) -> int:
        return x + more[0]

    def numbers(step: int) -> Iterator[int]:
        for more[0] in range(0, 100, step):
            yield 1

    f = memo(add, ex)
    assert list(f.map(numbers(20))) == [1, 21, 41, 61, 81]
    assert list(f.map(numbers(10))) == [1, 11, 21, 31, 41, 51, 61, 71, 81, 91]
    assert f.cache_info().hits == 5


def test_what_an_input_with_a_length_changes_counts(ex: Executor) -> None:
    more = [0]

    class Numbers:
        def __len__(self) -> int:
            return 5

        def __iter__(self) -> Iterator[int]:
            for more[0] in range(0, 50, 10):
                yield 1

    f = memo(lambda x: x + more[0], ex)
    assert list(f.map(Numbers())) == list(f.map(Numbers())) == [1, 11, 21, 31, 41]
    assert f.cache_info().hits == 5


def test_kept_results_that_wait_are_bounded_by_their_size(
    ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cellmill.memo.maps.AHEAD_BYTES", 2500)
    f = memo(bytes, ex)
    f(1000).result()
    taken = itertools.count()
    results = f.map(1000 for _ in taken)
    assert [len(next(results)) for _ in range(20)] == [1000] * 20
    results.close()
    assert next(taken) < 30
    assert f.cache_info().misses == 1


def test_errors_come_in_their_places_name_their_call_and_are_not_kept(ex: Executor) -> None:
    def f(x: Any) -> int:
        return x + 1

    g = memo(f, ex)
    assert list(g.map([1, 3])) == [2, 4]
    results = g.map([1, 2, "a", 3])
    assert [next(results), next(results)] == [2, 3]
    with pytest.raises(TypeError) as caught:
        next(results)
    text = "\n".join(caught.value.__notes__)
    assert "f('a')" in text
    assert "it is element 2 of the input" in text
    assert "Key" not in text
    with pytest.raises(TypeError) as caught:
        g("b").result()
    assert any(note.endswith("f('b')") for note in caught.value.__notes__)
    found = list(g.map([1, "a", 3], return_exceptions=True))
    assert [found[0], type(found[1]), found[2]] == [2, TypeError, 4]
    assert g.cache_info().results == 3


def test_an_error_of_the_input_comes_behind_the_results_before_it(ex: Executor) -> None:
    f = memo(abs, ex)
    assert list(f.map([1, 2])) == [1, 2]

    def items() -> Iterator[int]:
        yield from (1, 2)
        raise LookupError("no more")

    results = f.map(items())
    assert [next(results), next(results)] == [1, 2]
    with pytest.raises(LookupError, match="no more"):
        next(results)


def test_batches(ex: Executor) -> None:
    def f(xs: list[Any], by: int = 2) -> list[Any]:
        return [x * by for x in xs]

    g = memo(f, ex, batch=True)
    assert list(g.map([1, 2, 3])) == [2, 4, 6]
    assert list(g.map([3, 4])) == [6, 8]
    assert list(g.map([3, 4], by=3)) == [9, 12]
    assert [g(1).result(), g(9).result()] == [2, 18]
    assert g.cache_info()[:2] == (2, 7)


class Scale:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @cellmill.parallel(memo=True)
    def of(self, x: int) -> int:
        return self.factor * x


def test_methods_by_their_instance_as_it_is(ex: Executor) -> None:
    scale = Scale(2)
    of = scale.of.options(executor=ex)
    assert [of(3).result(), of(3).result(), list(of.map([3, 4])), list(of.map([4]))] == [6, 6, [6, 8], [8]]
    assert of.cache_info()[:2] == scale.of.cache_info()[:2] == (2, 3)
    scale.factor = 5
    assert [of(3).result(), *of.map([3, 4])] == [15, 15, 20]
    assert of.cache_info()[:2] == (2, 6)


def test_options_of_an_executor(ex: Executor) -> None:
    kept = ex.options(memo=True)
    assert [kept.submit(abs, -5).result(), kept.submit(abs, -5).result()] == [5, 5]
    assert list(kept.map(abs, [-5, -6])) == [5, 6]
    assert calls.stores()[0].held("abs").results == 2


def test_a_kept_result_is_an_input_and_a_call_that_waits_is_not_looked_up(
    fresh: Executor, gate: Gate
) -> None:
    f = memo(abs, fresh)
    f(-2).result()
    assert f(f(-2)).result() == 2  # a future that is over counts by its value
    waiting = f(fresh.submit(tasks.hold, gate.folder))
    before = f.cache_info()
    gate.wait_started()
    gate.release()
    with pytest.raises(TypeError):
        waiting.result()  # hold returns None
    assert f.cache_info() == before


def test_arguments_of_all_kinds(ex: Executor) -> None:
    f = memo(repr, ex)
    import pandas

    for value in (
        [1],
        {"a": {1, 2}},
        numpy.arange(3),
        pandas.DataFrame({"a": [1]}),
        (1, [2]),
        functools.partial(abs, 1),
    ):
        assert f(value).result() == f(value).result()
    assert f.cache_info()[:2] == (6, 6)
    with pytest.raises(
        UsageError, match=r"a result of repr cannot be kept under these arguments: .*cannot be pickled"
    ):
        f(open(os.devnull))  # noqa: SIM115


def test_the_order_of_names_counts_where_a_function_sees_it(ex: Executor) -> None:
    rows = memo(lambda **row: list(row), ex)
    assert rows(a=1, b=2).result() == ["a", "b"]
    assert rows(b=2, a=1).result() == ["b", "a"]
    named = memo(lambda a, b: [a, b], ex)
    assert named(a=1, b=2).result() == named(b=2, a=1).result() == [1, 2]
    assert named.cache_info()[:2] == (1, 1)


def test_generators_of_random_numbers_are_refused(ex: Executor) -> None:
    rng = numpy.random.default_rng(1)
    f = memo(lambda x: rng.random() + x, ex)
    with pytest.raises(UsageError, match="draws from a generator of random numbers"):
        f(1)
    with pytest.raises(UsageError, match="draws from a generator of random numbers"):
        f.map([1])


def test_senseless_options(ex: Executor) -> None:
    for wrong in 3, "", None:
        with pytest.raises(UsageError, match="memo takes True, False or the name of a folder"):
            cellmill.parallel(memo=wrong)(abs)
    with pytest.raises(AttributeError):
        cellmill.parallel(tasks.double).cache_info()

    @functools.cache
    def cached(x: int) -> int:
        return x

    assert cellmill.parallel(cached).cache_info() == cached.cache_info()


@pytest.mark.parametrize("batch", [False, True])
def test_a_task_in_the_kernels_process_that_saw_a_later_state(gate: Gate, batch: bool) -> None:
    """What it gave is no result of the call's moment: it is not kept."""
    factor = 2

    def times(x: list[int]) -> int:
        return factor * len(x)

    def times_each(xs: list[list[int]]) -> list[int]:
        return [factor * len(x) for x in xs]

    def late(change: Callable[[], object]) -> int:
        """The result of a call after which something changes before its task begins."""
        ex.submit(tasks.hold, gate.folder)
        result = f(items)
        change()
        gate.release()
        return int(result.result())

    with Executor(1, backend="threads") as ex:
        f = memo(times_each if batch else times, ex, batch=batch)
        items = [1]
        assert [f(items).result(), f(items).result()] == [2, 2]
        assert f.cache_info()[:3] == (1, 1, 1)
        f.cache_clear()
        assert late(lambda: items.append(1)) == 4
        assert f([1]).result() == 2
        factor = 5
        assert f([1]).result() == 5
        f.cache_clear()

        def change() -> None:
            nonlocal factor
            factor = 3

        items, factor = [1], 2
        assert late(change) == 3
        factor = 2
        assert f([1]).result() == 2
