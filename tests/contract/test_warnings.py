"""Warnings of tasks are shown as the kernel shows its own: kept in a list, by another function, as log records; each
place as often as the filters say.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS


class Careful(UserWarning):
    """A warning with a part of its own."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(text)
        self.number = number

    def __reduce__(self) -> Any:
        return Careful, (str(self), self.number)


class Stays(UserWarning):
    """One with a part that cannot be taken to another process."""

    def __init__(self, lock: Any) -> None:
        super().__init__(f"with {type(lock).__name__}")
        self.lock = lock


def careful(number: int) -> int:
    warnings.warn(Careful("careful", number), stacklevel=1)
    return number


def same(number: int) -> int:
    warnings.warn("the same", stacklevel=1)
    return number


def numbered(number: int) -> int:
    warnings.warn(f"number {number}", stacklevel=1)
    return number


def of_the_caller(number: int) -> int:
    def inner() -> None:
        warnings.warn("outer", DeprecationWarning, stacklevel=2)

    inner()
    return number


def stays() -> None:
    import threading

    warnings.warn(Stays(threading.Lock()), stacklevel=1)


@pytest.fixture
def kept() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def test_a_list_of_warnings(ex: Executor, kept: list[warnings.WarningMessage]) -> None:
    """Those of single calls are in it when their results are there, and those of a map when it is read."""
    assert ex.submit(careful, 7).result(SECONDS) == 7
    (one,) = kept
    assert (one.category, str(one.message), one.message.number) == (Careful, "careful", 7)  # type: ignore[union-attr]
    assert (one.filename, one.lineno) == (__file__, careful.__code__.co_firstlineno + 1)
    kept.clear()
    assert list(ex.map(careful, range(100))) == list(range(100))
    assert sorted(each.message.number for each in kept) == list(range(100))  # type: ignore[union-attr]
    kept.clear()
    ex.submit(of_the_caller, 1).result(SECONDS)
    assert [(each.category, each.lineno) for each in kept] == [
        (DeprecationWarning, of_the_caller.__code__.co_firstlineno + 4)
    ]


def test_what_does_not_travel_is_left_out(ex: Executor, kept: list[warnings.WarningMessage]) -> None:
    ex.submit(stays).result(SECONDS)
    (one,) = kept
    assert (one.category, str(one.message)) == (Stays, "with lock")


def test_another_function_shows_them(ex: Executor) -> None:
    shown: list[tuple[str, type[Warning]]] = []

    def show(message: Any, category: type[Warning], *_: Any) -> None:
        shown.append((str(message), category))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show  # type: ignore[assignment]
        ex.submit(numbered, 1).result(SECONDS)
    assert shown == [("number 1", UserWarning)]


def test_as_log_records(ex: Executor, caplog: pytest.LogCaptureFixture) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = warnings._showwarning_orig  # type: ignore[attr-defined]  # not pytest's
        logging.captureWarnings(True)
        try:
            ex.submit(numbered, 3).result(SECONDS)
        finally:
            logging.captureWarnings(False)
    (record,) = caplog.records
    assert record.name == "py.warnings"
    assert "UserWarning: number 3" in record.getMessage()


@pytest.mark.parametrize("filter", ["default", "module", "once"])
def test_each_place_warns_once(ex: Executor, kept: list[warnings.WarningMessage], filter: Any) -> None:
    """Whichever worker it is in, and once more where the filters changed."""
    warnings.simplefilter(filter)
    assert list(ex.map(same, range(200), chunksize=10)) == list(range(200))
    for number in range(10):
        ex.submit(same, number).result(SECONDS)
    assert [str(each.message) for each in kept] == ["the same"]
    kept.clear()
    for number in range(20):
        ex.submit(numbered, number % 5).result(SECONDS)
    assert sorted(str(each.message) for each in kept) == [f"number {n}" for n in range(5)]
    kept.clear()
    warnings.simplefilter("always")
    for number in range(3):
        ex.submit(same, number).result(SECONDS)
    assert len(kept) == 3


def test_a_task_that_keeps_its_own(ex: Executor, kept: list[warnings.WarningMessage]) -> None:
    def task() -> int:
        with warnings.catch_warnings(record=True) as inner:
            warnings.simplefilter("always")
            warnings.warn("inside", stacklevel=1)
        warnings.warn("outside", stacklevel=1)
        return len(inner)

    assert ex.submit(task).result(SECONDS) == 1
    assert [str(each.message) for each in kept] == ["outside"]
