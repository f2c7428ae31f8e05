"""Futures among the elements of maps, whose results are changed in place while elements wait to be sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cellmill import DependencyError, Executor, Future, UsageError
from cellmill.api import questions_of
from cellmill.task import NO_RUN
from tests.contract.abilities import elsewhere, later, same_on_clusters
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate

pytestmark = [later, elsewhere]  # threads work on the objects themselves

MANY = 60  # elements, of which some are sent while the first ones run
Held = Callable[[list[Any]], Iterator[Any]]


@pytest.fixture
def held(ex: Executor, gate: Gate) -> Held:
    """Start a map of these elements, each of which waits for the gate."""
    return lambda items: iter(ex.map(tasks.hold, [gate.folder] * len(items), items, chunksize=1))


@pytest.mark.parametrize("when", ["running", "over", "given"])
@pytest.mark.parametrize("deep", [False, True])
def test_each_element_has_the_result_as_it_was(
    ex: Executor, gate: Gate, held: Held, when: str, deep: bool
) -> None:
    """Whether the task runs when the element is taken, is over, or has given its result to the notebook."""
    made = ex.submit(tasks.hold, gate.folder, [1, 2])
    gate.wait_started()
    if when != "running":
        gate.release()
        ex.submit(tasks.same, made).result(SECONDS)
    if when == "given":
        made.result(SECONDS).append(3)
    wanted = [1, 2, 3] if when == "given" else [1, 2]
    results = held([[made, i] if deep else made for i in range(MANY)])
    if when == "running":
        gate.release()
    made.result(SECONDS).append(9)
    gate.release(MANY)
    assert list(results) == [[wanted, i] if deep else wanted for i in range(MANY)]
    assert made.result() == [*wanted, 9]


def test_two_maps_of_one_future(ex: Executor, gate: Gate, held: Held) -> None:
    made = ex.submit(list, "ab")
    before = held([made] * MANY)
    made.result(SECONDS).append("c")
    after = held([made] * MANY)
    made.result().append("d")
    gate.release(2 * MANY)
    assert list(before) == [["a", "b"]] * MANY
    assert list(after) == [["a", "b", "c"]] * MANY


@pytest.mark.parametrize("how", ["one by one", "in chunks"])
def test_elements_do_not_share_what_they_change(ex: Executor, how: str) -> None:
    """As a map of equal lists does not, whether they came with a chunk or as inputs of it."""
    size = 1 if how == "one by one" else 10
    made = ex.submit(list, "ab")
    assert list(ex.map(_appended, [made] * 40, chunksize=size)) == [3] * 40
    made.result(SECONDS)
    assert list(ex.map(_appended, [made] * 40, chunksize=size)) == [3] * 40
    assert list(ex.map(_appended, (made for _ in range(40)), chunksize=size)) == [3] * 40
    pair = [(one, one) for one in (ex.submit(list, "ab"), made)]
    assert list(ex.starmap(_are_one, pair * 10, chunksize=size)) == [True] * 20


def _appended(given: list[str]) -> int:
    given.append("x")
    return len(given)


def _are_one(one: Any, other: Any) -> bool:
    return one is other


@same_on_clusters
def test_arrays(ex: Executor, gate: Gate, held: Held) -> None:
    numpy = pytest.importorskip("numpy")
    size = 100_000
    arrays = [ex.submit(numpy.zeros, size) for _ in range(20)]
    assert [each.exception(SECONDS) for each in arrays] == [None] * len(arrays)
    results = held(list(arrays))
    for each in arrays:
        each.result(SECONDS).fill(5)
    gate.release(len(arrays))
    assert [float(each.sum()) for each in results] == [0.0] * len(arrays)
    assert {float(each.result().sum()) for each in arrays} == {5.0 * size}
    # each is its element's own, although many came with one chunk
    fresh = [ex.submit(numpy.zeros, size) for _ in range(20)]
    assert list(ex.map(_filled, fresh, chunksize=10)) == [float(size)] * 20
    assert list(ex.map(_filled, arrays, chunksize=10)) == [float(size)] * 20


def _filled(array: Any) -> float:
    array[:] = 1
    return float(array.sum())


@same_on_clusters
def test_failed_elements_show_the_result_and_can_be_run_again(ex: Executor) -> None:
    made = ex.submit(list, "ab")
    failed = list(ex.map(_refused, [made, [made]], return_exceptions=True))
    assert [str(each) for each in failed] == ["['a', 'b']", "[['a', 'b']]"]
    ex.submit(tasks.double, 1).result(SECONDS)
    questions = questions_of(ex)
    group = next(each for each in questions.failures(100) if each.function == "_refused")
    found = questions.failed_calls(group.id)
    assert found is not None
    kept = found[1]
    assert sorted(each.arguments for each in kept) == ["['a', 'b']", "[['a', 'b']]"]
    again: Future = questions.again(kept[0].task, kept[0].element)
    assert isinstance(again.exception(SECONDS), ValueError)


@same_on_clusters
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("chunksize", [1, 5])
def test_an_element_whose_input_failed_has_a_row_as_a_call_has(
    ex: Executor, known: bool, chunksize: int
) -> None:
    """Whether the kernel knows of the failure when the element is sent, or hears of it later."""
    began = time.monotonic_ns()  # not the number of rows: as many are kept as there is room for
    ex.pause()
    bad = ex.submit(tasks.fail, "as asked")
    if known:
        ex.resume()
        bad.exception(SECONDS)
    results = ex.map(tasks.double, [1, bad, 2, [bad], 3], return_exceptions=True, chunksize=chunksize)
    ex.resume()
    values = list(results)
    assert [values[0], values[2], values[4]] == [2, 4, 6]
    assert {type(values[1]), type(values[3])} == {DependencyError}
    assert {values[1].__cause__, values[3].__cause__} == {bad.exception()}
    ex.submit(tasks.double, 1).result(SECONDS)
    rows = [row for row in ex.journey_rows() if row["submitted"] >= began and row["run"] != NO_RUN]
    ended = [row for row in rows if row["status"] != "retried"]  # a chunk is sent again, with less in it
    assert sorted(row["status"] for row in ended) == ["dependency"] * 2 + ["done"] * 3
    not_run = [row for row in ended if row["status"] == "dependency"]
    assert [row["worker"] for row in not_run] == [None, None]
    questions = questions_of(ex)
    group = next(each for each in questions.failures(100) if each.type == "DependencyError")
    found = questions.failed_calls(group.id)
    assert found is not None
    kept = [each for each in found[1] if each.task in {row["task"] for row in not_run}]
    shown = "<cellmill.Future fail('as asked') failed LookupError>"
    assert sorted(each.arguments for each in kept) == [shown, f"[{shown}]"]
    with pytest.raises(UsageError, match="did not run, since its input failed"):
        questions.again(kept[0].task, kept[0].element)


def _refused(given: Any) -> None:
    raise ValueError(str(given))
