"""Arrays that a function refers to, or that are shared, are read-only in tasks, whatever their size."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import each_cluster, elsewhere
from tests.support.helpers import SECONDS

numpy = pytest.importorskip("numpy")
pytestmark = elsewhere
SIZES = [1, 1_000, pytest.param(50_000, marks=each_cluster)]


def made(size: int) -> dict[str, Any]:
    """Arrays of every kind, and what has some in it."""
    array = numpy.arange(float(size))
    return {
        "array": array,
        "strided": numpy.arange(2.0 * size)[::2],
        "dates": numpy.arange(size).astype("M8[s]"),
        "objects": numpy.array([1, "x"] * size, dtype=object),
        "record": numpy.zeros(size, dtype=[("a", "f4"), ("b", "i4")]),
        "masked": numpy.ma.array(array, mask=array > 5),
        "square": numpy.asfortranarray(numpy.ones((size % 1000, 3))),
    }


@pytest.mark.parametrize("size", SIZES)
def test_what_a_closure_has(ex: Executor, size: int) -> None:
    kinds = made(size)
    box = SimpleNamespace(inside={"list": [kinds["array"]]})

    def look() -> list[tuple[str, bool]]:
        found = [(name, bool(array.flags.writeable)) for name, array in kinds.items()]
        return [*found, ("box", bool(box.inside["list"][0].flags.writeable))]

    writeable = ex.submit(look).result(SECONDS)
    assert [name for name, can in writeable if can] == []

    def same(name: str) -> Any:
        return kinds[name]

    for name, array in kinds.items():
        back = ex.submit(same, name).result(SECONDS)
        assert back.dtype == array.dtype
        assert (back == array).all()


@pytest.mark.parametrize("size", SIZES)
def test_who_writes_is_told_the_variable(ex: Executor, size: int) -> None:
    total = numpy.zeros(size)

    def add(i: int) -> None:
        nonlocal total
        total += i

    def put(i: int) -> None:
        total[0] = i

    for write in (add, put):
        for error in (ex.submit(write, 1).exception(SECONDS), *ex.map(write, [1], return_exceptions=True)):
            assert type(error) is ValueError
            assert "is read-only" in str(error)
            note = error.__notes__[0]  # a map notes the element, too
            assert "In tasks total is read-only" in note
            assert "as an argument" in note
            assert ".copy()" in note
            assert "return" in note
            assert "In tasks total is read-only" in str(error.__cause__)
    assert not total.any()


def test_a_global_with_an_array_in_it(ex: Executor) -> None:
    namespace: dict[str, Any] = {"TABLE": SimpleNamespace(weights=numpy.ones(3)), "__name__": "__main__"}
    exec("def write(i):\n    TABLE.weights[i] = 1", namespace)
    error = ex.submit(namespace["write"], 1).exception(SECONDS)
    assert error is not None
    assert "In tasks TABLE is read-only" in error.__notes__[0]


@pytest.mark.parametrize("size", SIZES)
def test_shared_ones(ex: Executor, size: int) -> None:
    shared = cellmill.share({"weights": numpy.ones(size)})

    def closure() -> None:
        shared["weights"][0] = 5

    calls: list[Callable[[], Any]] = [
        functools.partial(ex.submit, work.write_weights, shared),
        functools.partial(ex.submit, closure),
    ]
    for call, name in zip(calls, ("model", "shared"), strict=True):
        error = call().exception(SECONDS)
        assert type(error) is ValueError
        assert f"In tasks {name} is read-only" in error.__notes__[0]
    shared.close()


def test_frames(ex: Executor) -> None:
    pandas = pytest.importorskip("pandas")
    for rows in (3, 20_000):
        frame = pandas.DataFrame({"a": numpy.arange(rows), "b": numpy.ones(rows)})

        def write() -> None:
            frame.loc[0, "a"] = 5  # noqa: B023

        error = ex.submit(write).exception(SECONDS)
        assert type(error) is ValueError
        assert "In tasks frame is read-only" in error.__notes__[0]


def test_dates_in_a_frame(ex: Executor) -> None:
    """For these pandas raises an error of its own in the place of numpy's."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": pandas.date_range("2020", periods=3)})

    def write() -> None:
        frame.loc[0, "a"] = frame.loc[1, "a"]

    error = ex.submit(write).exception(SECONDS)
    assert error is not None
    assert "In tasks frame is read-only" in error.__notes__[0]


def test_an_error_of_ones_own_is_left_as_it_is(ex: Executor) -> None:
    captured = numpy.ones(3)

    def fail() -> None:
        raise ValueError(f"something else {captured[0]}")

    error = ex.submit(fail).exception(SECONDS)
    assert all(note.startswith("in ") for note in error.__notes__)
    error = ex.submit(work.write_locked, numpy.ones(3)).exception(SECONDS)
    assert type(error) is ValueError
    assert all(note.startswith("in ") for note in error.__notes__)


def test_a_copy_can_be_written_to(ex: Executor) -> None:
    captured = numpy.zeros(5)

    def work_on_a_copy(i: int) -> Any:
        mine = captured.copy()
        mine[i] = 1
        return mine

    assert [int(a.argmax()) for a in ex.map(work_on_a_copy, range(5))] == list(range(5))


@pytest.mark.parametrize("size", SIZES)
def test_what_elements_of_a_map_have_in_common(ex: Executor, size: int) -> None:
    """Each has its own, or it is read-only where that is too much: none sees what another one wrote."""
    array = numpy.zeros(size)
    for found in (
        ex.map(work.add_in_place, [array] * 8, [1] * 8, chunksize=8, return_exceptions=True),
        ex.map(work.add_one_in_place, [array] * 8, chunksize=8, return_exceptions=True),
    ):
        results = list(found)
        if size < 4_000:
            assert results == [size] * 8
        else:  # one that has a chunk for itself has its own
            errors = [error for error in results if error != size]
            assert errors
            assert all("read-only" in str(error) and error.__notes__ for error in errors)


def test_results_can_be_written_to_whatever_is_beside_them(ex: Executor) -> None:
    table = numpy.zeros(10_000)

    def both() -> Any:
        return table, numpy.ones(10_000)

    captured, own = ex.submit(both).result(SECONDS)
    captured += 1
    own += 1
    assert (captured[0], own[0], table[0]) == (1, 2, 0)
