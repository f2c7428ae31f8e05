"""Large values, and values that cannot travel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, PayloadError
from cellmill.magics.body import TaskBody
from tests.contract import work
from tests.contract.abilities import Abilities, each_cluster, elsewhere
from tests.support import tasks
from tests.support.helpers import SECONDS

MEGABYTE = 10**6


@each_cluster
def test_arrays_in_and_out(ex: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(MEGABYTE // 8)
    result = ex.submit(work.mirror, array).result(SECONDS)
    assert (result.dtype, result.shape) == (array.dtype, array.shape)
    assert (result == array + 1).all()
    for i, made in enumerate(ex.map(work.mirror, [array + i for i in range(20)])):
        assert int(made[0]) == i + 1


def test_arrays_that_come_back_as_they_are(ex: Executor) -> None:
    numpy = pytest.importorskip("numpy")
    array = numpy.arange(MEGABYTE // 8)
    results = [ex.submit(tasks.same, array) for _ in range(5)]
    assert all((f.result(SECONDS) == array).all() for f in results)
    first = results[0].result()
    del results
    assert int(first.sum()) == int(array.sum())


@elsewhere
def test_arrays_the_caller_writes_to(ex: Executor) -> None:
    """What was submitted is what the task gets. Tasks in this process read the caller's own objects."""
    numpy = pytest.importorskip("numpy")
    array = numpy.ones(MEGABYTE // 8)
    futures = []
    for i in range(10):
        array[:] = i
        futures.append(ex.submit(numpy.mean, array))
    assert [float(f.result(SECONDS)) for f in futures] == list(range(10))


@each_cluster
@pytest.mark.parametrize(
    "value", [b"x" * MEGABYTE, "y" * MEGABYTE, list(range(100_000)), bytearray(MEGABYTE)]
)
def test_other_large_values(ex: Executor, value: Any) -> None:
    assert ex.submit(tasks.same, value).result(SECONDS) == value


def test_a_result_that_cannot_be_pickled(ex: Executor, able: Abilities) -> None:
    future = ex.submit(tasks.lock)
    if not able.apart:
        assert future.result(SECONDS).acquire(False)
        return
    error = future.exception(SECONDS)
    assert isinstance(error, cellmill.PayloadError)
    assert "the result of lock" in str(error)
    results = list(ex.map(tasks.lock_if, range(5), [3] * 5, return_exceptions=True))
    assert isinstance(results.pop(3), cellmill.PayloadError)
    assert results == [0, 1, 2, 4]


def test_an_argument_that_cannot_be_pickled(ex: Executor, able: Abilities) -> None:
    lock = tasks.lock()
    if not able.apart:
        assert ex.submit(tasks.same, lock).result(SECONDS) is lock
        return
    with pytest.raises(cellmill.PayloadError, match=r"argument 1 of same.*cannot be sent"):
        ex.submit(tasks.same, lock).result(SECONDS)


def test_an_error_that_plain_pickle_does_not_bring_back(ex: Executor) -> None:
    error = ex.submit(tasks.raise_needs_two).exception(SECONDS)
    assert "salt and pepper" in str(error)
    assert isinstance(error, tasks.NeedsTwo)


@elsewhere
def test_an_argument_that_does_not_load(ex: Executor) -> None:
    error = ex.submit(tasks.same, tasks.FailsToLoad()).exception(SECONDS)
    assert error is not None
    assert ex.submit(tasks.double, 1).result(SECONDS) == 2


def test_of_a_task_of_a_notebook_the_variables_come_without_a_value_that_cannot(
    ex: Executor, able: Abilities
) -> None:
    code = compile(
        "y = 1\nz = (i for i in range(2))\n__cellmill_value__ = (i for i in range(3))", "<cell>", "exec"
    )
    body = TaskBody("t", code, {}, "", here=not able.apart)
    outcome = ex.submit(body).result(SECONDS)
    assert outcome.load({})["y"] == 1
    if not able.apart:
        assert list(outcome.result()) == [0, 1, 2]
        assert list(outcome.load({})["z"]) == [0, 1]
        return
    with pytest.raises(
        cellmill.PayloadError, match="value of the last expression of task t, a generator, cannot"
    ):
        outcome.result()
    with pytest.raises(cellmill.PayloadError, match="z is not here: task t assigned it"):
        list(outcome.load({})["z"])


@pytest.mark.parametrize("data", [b"abcdefgh", bytearray(b"abcdefgh"), bytes(MEGABYTE)])
def test_views_of_memory(ex: Executor, data: bytes | bytearray) -> None:
    for view in (
        memoryview(data),
        memoryview(data).cast("i"),
        memoryview(data).cast("B", (2, len(data) // 2)),
    ):
        found = ex.submit(tasks.same, view).result(SECONDS)
        assert type(found) is memoryview
        assert (found.readonly, found.format, found.shape) == (view.readonly, view.format, view.shape)
        assert found == view
    assert ex.submit(tasks.same, memoryview(data)[::2]).result(SECONDS) == memoryview(data)[::2]


@elsewhere
def test_open_files_are_refused(ex: Executor, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    with (
        open(tmp_path / "a.txt") as file,
        pytest.raises(PayloadError, match="an open file stays in the process that opened it; send its name"),
    ):
        ex.submit(tasks.same, file).result(SECONDS)
    with pytest.raises(PayloadError, match=r"the result of open, .*an open file stays in the process"):
        ex.submit(open, str(tmp_path / "a.txt")).result(SECONDS)


def nested(depth: int, limit: int = 0) -> list[Any]:
    if limit:
        sys.setrecursionlimit(limit)
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


@elsewhere
def test_what_is_nested_too_deep_says_what_helps(ex: Executor) -> None:
    before = sys.getrecursionlimit()
    with pytest.raises(
        PayloadError, match=r"nested deeper .*sys.setrecursionlimit\(20_000\) in the function"
    ):
        ex.submit(nested, 5_000).result(SECONDS)
    with pytest.raises(
        PayloadError, match=r"nested deeper .*sys.setrecursionlimit\(20_000\) before the call"
    ):
        ex.submit(len, nested(5_000)).result(SECONDS)
    try:
        assert len(ex.submit(nested, 5_000, 20_000).result(SECONDS)) == 1
        sys.setrecursionlimit(20_000)
        assert ex.submit(len, nested(5_000)).result(SECONDS) == 1
    finally:
        sys.setrecursionlimit(before)
        for _ in range(4):
            ex.submit(sys.setrecursionlimit, before).result(SECONDS)


@elsewhere
def test_context_variables_say_what_to_pass(ex: Executor, cell: Callable[[str], dict[str, Any]]) -> None:
    space = cell(
        "import contextvars\nuser = contextvars.ContextVar('user')\ndef f(x):\n    return user.get()"
    )
    with pytest.raises(PayloadError, match=r"it refers to 'user', a ContextVar\. .*pass user\.get\(\)"):
        ex.submit(space["f"], 1).result(SECONDS)
