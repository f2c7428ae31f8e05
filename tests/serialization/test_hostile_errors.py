"""Exceptions that do not travel well, and what is raised though it is no error."""

from __future__ import annotations

import os
import traceback
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from tests.support import hostile, tasks
from tests.support.helpers import SECONDS
from tests.support.hostile import COUNT, KINDS, alone, raised_by

HERE = os.getpid()
pytestmark = pytest.mark.usefixtures("next_task_works")


@pytest.mark.parametrize("how", [*KINDS, "in a batch"])
def test_a_task_that_raises_what_is_no_error(pool: Executor, workers: None, how: str) -> None:
    if how == "in a batch":

        def many(items: list[int]) -> list[int]:
            return [hostile.act("exits") if i == 5 else i for i in items]

        results = pool.options(batch=True).map(many, range(COUNT), chunksize=COUNT, return_exceptions=True)
        assert isinstance(alone(results, 5), SystemExit)
        return
    assert type(pool.submit(hostile.act, how).exception(SECONDS)) is raised_by(how)

    def one(index: int) -> int:
        return hostile.act(how) if index == 5 else index  # type: ignore[no-any-return]

    error = alone(pool.map(one, range(COUNT), chunksize=COUNT, return_exceptions=True), 5)
    assert type(error) is (RuntimeError if how == "stops" else raised_by(how))


@pytest.mark.parametrize(
    ("kind", "args", "kept"),
    [
        (hostile.Mute, (), ()),
        (hostile.Locked, (), ("holds a lock",)),
        (hostile.EndsReduce, ("bye",), ("bye",)),
        (hostile.EndsLoad, (HERE,), (HERE,)),
    ],
    ids=["cannot be told", "cannot be pickled", "ends pickling", "ends loading"],
)
def test_exceptions_that_are_hard_to_bring(
    pool: Executor, workers: None, kind: type[Exception], args: tuple[Any, ...], kept: tuple[Any, ...]
) -> None:
    def one(index: int) -> int:
        if index == 5:
            hostile.raise_new(kind, *args)
        return index

    for error in (
        pool.submit(hostile.raise_new, kind, *args).exception(SECONDS),
        alone(pool.map(one, range(COUNT), chunksize=COUNT, return_exceptions=True), 5),
    ):
        assert type(error) is kind
        assert error.args == kept
        assert "raise_new" in str(error.__cause__)


def test_odd_exceptions_that_do_come_back(pool: Executor, workers: None) -> None:
    for kind in (hostile.Wordy, hostile.Closed):
        error = pool.submit(hostile.raise_new, kind, 1).exception(SECONDS)
        assert type(error) is kind
        assert error.args == (1,)
        assert "raise_new" in str(error.__cause__)
        with pytest.raises(kind):
            pool.submit(hostile.raise_new, kind, 1).result(SECONDS)


def test_notes_and_causes(pool: Executor, workers: None) -> None:
    error = pool.submit(hostile.raise_noted).exception(SECONDS)
    assert type(error) is LookupError
    assert error.__notes__ == ["a note of the task", "in raise_noted()"]
    text = "".join(traceback.format_exception(error))
    assert "KeyError: 'the first'" in text
    assert "direct cause" in text
    error = pool.submit(hostile.raise_odd_notes).exception(SECONDS)
    assert "with odd notes" in str(error)


def test_exception_groups(pool: Executor, workers: None) -> None:
    group = pool.submit(hostile.raise_group, False).exception(SECONDS)
    assert isinstance(group, ExceptionGroup)
    assert str(group.exceptions[0]) == "v"
    inner = group.exceptions[1]
    assert isinstance(inner, ExceptionGroup)
    assert [type(e) for e in inner.exceptions] == [TypeError, FileNotFoundError]
    assert "inner" in str(group.__cause__)
    both = pool.submit(hostile.raise_base_group).exception(SECONDS)
    assert type(both) is BaseExceptionGroup
    caught: list[BaseException] = []
    try:
        pool.submit(hostile.raise_group, False).result(SECONDS)
    except* ValueError as some:
        caught.extend(some.exceptions)
    except* (TypeError, OSError) as rest:
        caught.append(rest)
    assert len(caught) == 2


def test_an_exception_as_large_as_a_payload(pool: Executor, workers: None) -> None:
    error = pool.submit(hostile.raise_new, ValueError, "x" * 3_000_000).exception(SECONDS)
    assert type(error) is ValueError
    assert len(str(error)) == 3_000_000


def test_a_failed_input_whose_text_raises(pool: Executor, workers: None) -> None:
    bad = pool.submit(hostile.raise_new, hostile.Mute)
    error = pool.submit(tasks.same, [bad]).exception(SECONDS)
    assert isinstance(error, cellmill.DependencyError)
    assert "Mute: <its str() raises SystemExit>" in str(error)
