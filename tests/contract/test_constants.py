"""`f.map(xs, window=3)`: constants given to each call of a map; and `starmap`."""

from __future__ import annotations

import functools
import itertools
import operator
import random
from collections.abc import Iterator
from typing import Any

import pytest

import cellmill
from cellmill import Executor, PayloadError, UsageError, parallel
from cellmill.diagnostics import notices
from cellmill.randomness import streams
from tests.contract.abilities import elsewhere
from tests.support import tasks


def scaled(x: int, y: int = 1, *, by: int = 2) -> tuple[int, int, int]:
    return x, y, by


def limited(x: int, timeout: int = 3) -> tuple[int, int]:
    return x, timeout


def placed(x: int, star: int = 0, fed: int = 0, instead: int = 0) -> tuple[int, int, int, int]:
    return x, star, fed, instead


def looked_up(x: int, table: Any) -> Any:
    return table[x]


def test_each_call_gets_the_constants(ex: Executor) -> None:
    f = parallel(scaled).options(executor=ex)
    assert list(f.map(range(3), by=5)) == [(x, 1, 5) for x in range(3)]
    assert list(f.map(range(3), [7, 8, 9], by=5)) == [(0, 7, 5), (1, 8, 5), (2, 9, 5)]
    assert list(f.map(range(3), y=4, ordered=True, prefetch=2)) == [(x, 4, 2) for x in range(3)]
    assert list(ex.map(scaled, range(3), by=6)) == [(x, 1, 6) for x in range(3)]
    assert list(ex.options(retries=1).map(scaled, range(2), by=7, chunksize=1)) == [(0, 1, 7), (1, 1, 7)]


def test_constants_may_have_the_names_of_what_users_do_not_set(ex: Executor) -> None:
    names = {"star": 1, "fed": 2, "instead": 3}
    assert list(ex.options(retries=1).map(placed, [0], **names)) == [(0, 1, 2, 3)]
    assert list(ex.map(placed, [0], **names)) == [(0, 1, 2, 3)]
    assert list(parallel(placed).options(executor=ex).map([0], **names)) == [(0, 1, 2, 3)]


def test_constants_of_methods_and_batches(ex: Executor) -> None:
    class Model:
        def __init__(self, factor: int) -> None:
            self.factor = factor

        @parallel(executor=ex)
        def predict(self, x: int, add: int = 0) -> int:
            return self.factor * x + add

    def raised(items: list[int], by: int = 0) -> list[int]:
        return [x + by for x in items]

    assert list(Model(3).predict.map(range(4), add=100)) == [100, 103, 106, 109]
    assert list(parallel(raised, batch=True, executor=ex).map(range(5), by=10)) == [10, 11, 12, 13, 14]


def test_a_call_that_does_not_fit_raises_at_once(ex: Executor) -> None:
    f = parallel(scaled).options(executor=ex)
    with pytest.raises(TypeError, match=r"scaled\(\) got an unexpected keyword argument 'bye'"):
        f.map([1], bye=3)
    with pytest.raises(TypeError, match=r"scaled\(\) got multiple values for argument 'x'"):
        f.map([1], x=3)
    with pytest.raises(TypeError, match=r"scaled\(\) takes from 1 to 2 positional arguments"):
        f.map([1], [2], [3], by=1)
    with pytest.raises(TypeError, match=r"scaled\(\) got an unexpected keyword argument 'bye'"):
        f.starmap([(1,)], bye=3)
    with pytest.raises(TypeError, match=r"got an unexpected keyword argument 'ordred'"):
        ex.map(scaled, [1], ordred=False)


def test_a_parameter_called_like_an_option_is_told(ex: Executor) -> None:
    f = parallel(limited).options(executor=ex)
    with pytest.raises(UsageError, match=r"timeout= could be meant for limited, .*map"):
        f.map([1], timeout=60)
    with pytest.raises(UsageError, match="timeout="):
        f.map([1], timeout=None)
    assert list(f.map([1, 2])) == [(1, 3), (2, 3)]
    assert list(parallel(lambda x: f(x, timeout=9)).options(executor=ex).map([1])) == [(1, 9)]
    assert list(ex.map(f, [1], timeout=60)) == [(1, 3)]


@elsewhere
def test_all_elements_see_the_constant_of_the_start(ex: Executor) -> None:
    table = ["old"] * 40
    f = parallel(looked_up).options(executor=ex)
    results = f.map(iter(range(40)), table=table, prefetch=2)
    found = [next(results)]
    table[:] = ["new"] * 40
    with pytest.warns(RuntimeWarning, match="table, which looked_up refers to, was changed"):
        found += results
    assert found == ["old"] * 40
    assert list(f.map(range(2), table=table)) == ["new", "new"]


@elsewhere
def test_arguments_of_a_partial_call_that_change_are_told(ex: Executor) -> None:
    table = ["old"] * 40
    results = ex.map(functools.partial(operator.getitem, table), iter(range(40)), prefetch=2)
    found = [next(results)]
    table[:] = ["new"] * 40
    with pytest.warns(RuntimeWarning, match="the arguments of getitem were changed while"):
        found += results
    assert found == ["old"] * 40


@elsewhere
def test_a_generator_among_constants_is_told_by_its_name_and_no_change(ex: Executor) -> None:
    def drawn_beside(x: int, rng: random.Random) -> float:
        return rng.random()

    streams._said.clear()  # with another backend
    notices.forget()
    with pytest.warns(RuntimeWarning) as told:
        list(ex.map(drawn_beside, range(4), rng=random.Random(3)))
    (note,) = told
    assert "draw from children of rng, one per task" in str(note.message)


class Counted:
    """Counts how often it is pickled."""

    pickled = 0

    def __getitem__(self, x: int) -> int:
        return x

    def __reduce__(self) -> Any:
        type(self).pickled += 1
        return Counted, ()


@elsewhere
def test_constants_are_sent_once(ex: Executor) -> None:
    f = parallel(looked_up).options(executor=ex)
    counts = []
    for elements in (4, 400):
        Counted.pickled = 0
        assert list(f.map(range(elements), table=Counted(), chunksize=1)) == list(range(elements))
        counts.append(Counted.pickled)
    assert counts[0] == counts[1]


@elsewhere
def test_a_constant_that_cannot_be_sent_is_named(ex: Executor) -> None:
    f = parallel(looked_up).options(executor=ex)
    with pytest.raises(PayloadError, match="it is given 'table', a lock"):
        f.map([1], table=tasks.lock())


def test_large_and_shared_constants(ex: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    table = numpy.arange(200_000)
    f = parallel(looked_up).options(executor=ex)
    assert [int(x) for x in f.map(range(5), table=table)] == list(range(5))
    with cellmill.share(table) as shared:
        assert [int(x) for x in f.map(range(5), table=shared)] == list(range(5))


def test_a_future_among_constants_is_an_input(ex: Executor) -> None:
    f = parallel(looked_up).options(executor=ex)
    table = ex.submit(tasks.same, [5, 6, 7])
    assert list(f.map(range(3), table=table)) == [5, 6, 7]
    assert list(f.map(iter([2, 0]), table=[table, 1, table])) == [[5, 6, 7], [5, 6, 7]]
    with pytest.raises(UsageError, match=r"table=table\.result\(\)"):
        f.starmap([(1,)], table=table)


def test_the_note_of_an_element_shows_them(ex: Executor) -> None:
    f = parallel(looked_up).options(executor=ex)
    with pytest.raises(KeyError) as caught:
        list(f.map([0, 1], table={0: "a"}))
    assert "in element 1 of a map: looked_up(1, table={0: 'a'})" in caught.value.__notes__


def test_in_a_task(ex: Executor) -> None:
    f = parallel(scaled).options(executor=ex)

    @parallel(executor=ex)
    def outer(x: int) -> list[Any]:
        return [*f.map([x, x + 1], by=9), *f.starmap([(x, 2), [3, 4]], by=8)]

    assert outer(5).result() == [(5, 1, 9), (6, 1, 9), (5, 2, 8), (3, 4, 8)]


# -- starmap


def pairs() -> Iterator[tuple[int, int]]:
    yield from [(1, 2), (3, 4), (5, 6)]


def test_starmap_is_like_the_one_of_itertools(ex: Executor) -> None:
    f = parallel(scaled).options(executor=ex)
    for given in ([(1, 2), [3, 4], (5,)], [(x, x) for x in range(900)], [range(2)], ["ab"]):
        assert list(f.starmap(given)) == list(itertools.starmap(scaled, given))
    assert list(f.starmap(pairs(), by=0)) == [(1, 2, 0), (3, 4, 0), (5, 6, 0)]
    assert list(ex.starmap(pow, [(2, 5), (3, 2), (10, 3)])) == [32, 9, 1000]
    assert sorted(ex.options(retries=1).starmap(pow, [(2, 5), (3, 2)], ordered=False)) == [9, 32]


@pytest.mark.parametrize("chunksize", [None, 1, 2])
def test_starmap_keeps_outcomes_apart(ex: Executor, chunksize: int | None) -> None:
    f = parallel(scaled).options(executor=ex)
    given: list[Any] = [(1, 2), 5, (1, 2, 3), [6]]
    found = list(f.starmap(given, return_exceptions=True, chunksize=chunksize))
    assert (found[0], found[3]) == ((1, 2, 2), (6, 1, 2))
    assert [type(x) for x in found[1:3]] == [TypeError, TypeError]
    assert "iterable" in str(found[1])
    assert "takes from 1 to 2 positional arguments" in str(found[2])


def test_starmap_tells_its_progress_and_names_elements(ex: Executor) -> None:
    results = ex.starmap(divmod, [(7, 2), (1, 0)], prefetch=4)
    assert next(results) == (3, 1)
    with pytest.raises(ZeroDivisionError) as caught:
        next(results)
    assert "in element 1 of a map: divmod(1, 0)" in caught.value.__notes__
    assert repr(results) == "<map of divmod: 2 of 2 done, 1 failed>"


def test_starmap_of_a_batch_function_says_what_to_do(ex: Executor) -> None:
    def doubled(items: list[int]) -> list[int]:
        return [2 * x for x in items]

    with pytest.raises(UsageError, match="batch function"):
        parallel(doubled, batch=True, executor=ex).starmap([(1,)])
