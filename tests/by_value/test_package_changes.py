"""Names of packages that the kernel has set anew: tasks see them as a plain loop would, and see when they are back."""

from __future__ import annotations

import builtins
import functools
import heapq
import json
import json.encoder
import math
import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy
import pytest

import cellmill
from cellmill import Executor
from cellmill.by_value import brought, package_changes
from cellmill.by_value.capture import walked
from cellmill.diagnostics import notices
from cellmill.errors import UsageError
from tests.support.helpers import SECONDS


def run(pool: Executor, function: Callable[[int], Any], n: int = 6) -> set[Any]:
    """What single calls and a map give."""
    return {*(pool.submit(function, i).result(SECONDS) for i in range(n)), *pool.map(function, range(n))}


def test_a_constant(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def area(_: int) -> float:
        return math.pi

    assert run(pool, area) == {math.pi}
    with monkeypatch.context() as patch:
        patch.setattr(math, "pi", 3)
        assert run(pool, area) == {3}
    assert run(pool, area) == {math.pi}


def test_a_constant_in_a_module_of_a_package(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def infinity(_: int) -> Any:
        return json.encoder.INFINITY  # type: ignore[attr-defined]

    with monkeypatch.context() as patch:
        patch.setattr(json.encoder, "INFINITY", "much")
        assert run(pool, infinity) == {"much"}
    assert run(pool, infinity) == {math.inf}


def test_builtins(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new one, and one in the place of Python's."""

    def asked(value: int) -> Any:
        return abs(value), cellmill_test_builtin  # type: ignore[name-defined]  # noqa: F821

    def mine(value: int) -> str:
        return f"mine {value}"

    for number in (1, 2):
        monkeypatch.setattr(builtins, "cellmill_test_builtin", number, raising=False)
        assert pool.submit(asked, 3).result(SECONDS) == (3, number)
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "abs", mine)
        assert pool.submit(asked, 3).result(SECONDS) == ("mine 3", 2)
    assert run(pool, asked) == {(value, 2) for value in range(6)}
    monkeypatch.undo()
    with pytest.raises(NameError, match="cellmill_test_builtin"):
        pool.submit(asked, 3).result(SECONDS)


def test_a_new_name(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(_: int) -> Any:
        return getattr(math, "tau2", None) or (hasattr(math, "tau2") and math.tau2)  # type: ignore[attr-defined]

    with monkeypatch.context() as patch:
        patch.setattr(math, "tau2", 2.0, raising=False)
        assert run(pool, found) == {2.0}


def test_a_function_of_the_users_in_its_place(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def written(value: int) -> str:
        return json.dumps(value)

    assert run(pool, written, 2) == {"0", "1"}
    prefix = "mine"
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", lambda value: f"{prefix} {value}")
        assert run(pool, written, 2) == {"mine 0", "mine 1"}
        prefix = "ours"
        assert run(pool, written, 2) == {"ours 0", "ours 1"}
    assert run(pool, written, 2) == {"0", "1"}


class Answers:
    def __call__(self, *_: Any) -> int:
        return 42

    def method(self, *_: Any) -> int:
        return 43


def mean(values: int) -> Any:
    return numpy.mean([values, 1])


@pytest.mark.parametrize(
    "replacement",
    [
        lambda values: sum(values),
        numpy.max,
        numpy.cbrt,
        str,
        functools.partial(numpy.sum, axis=0),
        functools.partial(lambda factor, values: factor * len(values), 5),
        Answers(),
        Answers().method,
    ],
    ids=lambda value: repr(value).partition(" at ")[0],
)
def test_any_callable_in_the_place_of_one(
    pool: Executor, monkeypatch: pytest.MonkeyPatch, replacement: Any
) -> None:
    """In place of a function that is neither of Python nor built in; after tasks have run with that."""

    def asked(value: int) -> str:
        return str(mean(value))

    plain = {asked(value) for value in range(3)}
    assert run(pool, asked, 3) == plain
    with monkeypatch.context() as patch:
        patch.setattr(numpy, "mean", replacement)
        changed = {asked(value) for value in range(3)}
        assert changed != plain
        assert run(pool, asked, 3) == changed
    assert run(pool, asked, 3) == plain


def test_a_name_that_packages_once_had(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(value: int) -> float:
        return numpy.float(value)  # type: ignore[attr-defined, no-any-return]

    monkeypatch.setattr(numpy, "float", float, raising=False)
    assert run(pool, asked, 2) == {0.0, 1.0}


def test_names_that_are_not_those_of_their_functions() -> None:
    """They are the same in a worker."""

    def asked(value: int) -> Any:
        return numpy.abs(value), heapq.heappush([value], 1), functools.reduce, json.JSONDecodeError

    names = walked(asked).package_names
    assert names["numpy", "abs"] is numpy.absolute
    assert not package_changes.differing(names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numpy, "abs", functools.partial(numpy.add, 1))
        changed = walked(asked).package_names
        assert [*package_changes.differing(names)] == [("numpy", "abs")]
        patch.setattr(numpy, "abs", functools.partial(numpy.add, 1))  # an equal one
        assert not package_changes.differing(changed)


def test_mocks_are_used_in_tasks(pool: Executor) -> None:
    def asked(value: int) -> bool:
        made = mock.Mock()
        made(value)
        return made.call_args == mock.call(value)

    assert run(pool, asked, 2) == {True}


def test_other_functions_find_the_package_as_it_is(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def patched(_: int) -> Any:
        return math.e

    def by_text(_: int) -> Any:
        return vars(math)["e"]

    with monkeypatch.context() as patch:
        patch.setattr(math, "e", 2)
        for _ in range(4):
            assert pool.submit(patched, 0).result(SECONDS) == 2
            assert pool.submit(by_text, 0).result(SECONDS) != 2


def test_one_that_cannot_be_sent_is_said(pool: Executor) -> None:
    def written(value: int) -> Any:
        return json.dumps(value)

    notices.forget()
    lock = threading.Lock()

    def mine(_: Any) -> str:
        with lock:
            return "mine"

    with (
        mock.patch("json.dumps", mine),
        pytest.warns(
            RuntimeWarning, match=r"json\.dumps was set anew in this process, and workers keep their own"
        ),
    ):
        assert pool.submit(written, 1).result(SECONDS) == "1"


def test_workers_that_have_it_from_an_initializer() -> None:
    def use() -> None:
        math.pi = 3  # type: ignore[misc]

    def area(_: int) -> float:
        return math.pi

    before = math.pi
    with Executor(1, initializer=use) as executor:
        try:
            use()
            assert executor.submit(area, 0).result(SECONDS) == 3
        finally:
            math.pi = before  # type: ignore[misc]
        assert executor.submit(area, 0).result(SECONDS) == before


def test_threads_that_share_a_process_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brought, "several_threads", True)
    call = package_changes.Patched("area", {("math", "pi"): 3}).call
    with pytest.raises(
        UsageError, match=r"area reads math\.pi, which the kernel has otherwise than this worker"
    ):
        call(lambda: math.pi, (), {})
    assert math.pi != 3


def test_a_result_that_is_kept_is_not_found_again(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    @cellmill.parallel(memo=True, executor=pool)
    def area(radius: int) -> float:
        return math.pi * radius

    assert area(1).result(SECONDS) == math.pi
    with monkeypatch.context() as patch:
        patch.setattr(math, "pi", 3)
        assert area(1).result(SECONDS) == 3

    @cellmill.parallel(memo=True, executor=pool)
    def between(low: int, high: int) -> float:
        return float(numpy.mean([low, high]))

    assert between(1, 2).result(SECONDS) == 1.5
    with monkeypatch.context() as patch:
        patch.setattr(numpy, "mean", numpy.max)
        assert between(1, 2).result(SECONDS) == 2
