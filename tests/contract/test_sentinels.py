"""A bare object is the same object in all tasks and here, as it is in the plain loop."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor
from cellmill.by_value import sentinels
from tests.support import tasks
from tests.support.helpers import SECONDS, prepend_to_path

Cell = Callable[[str], dict[str, Any]]
CELL = (
    "MISSING = object()\n"
    "def is_missing(x, default=MISSING):\n    return x is MISSING and x is default\n"
    "def parts(xs):\n    return [x is MISSING for x in xs]\n"
    "def missing(_):\n    return MISSING\n"
)


def test_arguments(ex: Executor, cell: Cell) -> None:
    space = cell(CELL)
    missing = space["MISSING"]
    assert ex.submit(space["is_missing"], missing).result(SECONDS)
    assert not ex.submit(space["is_missing"], object()).result(SECONDS)
    assert ex.submit(space["is_missing"], x=missing).result(SECONDS)
    assert list(ex.map(space["is_missing"], [missing, 1, missing, object()])) == [True, False, True, False]
    assert ex.submit(space["parts"], [missing, object(), missing]).result(SECONDS) == [True, False, True]
    assert list(ex.map(space["parts"], [[missing], [None, missing]])) == [[True], [False, True]]


def test_results(ex: Executor, cell: Cell) -> None:
    space = cell(CELL)
    missing = space["MISSING"]
    assert ex.submit(space["missing"], 0).result(SECONDS) is missing
    assert all(found is missing for found in ex.map(space["missing"], range(5)))
    assert ex.submit(tasks.same, {"a": [missing]}).result(SECONDS)["a"][0] is missing


def test_one_that_a_task_made(ex: Executor, cell: Cell) -> None:
    """It keeps its identity on its way here and to other tasks."""
    space = cell("def made():\n    return object()\ndef same(a, b):\n    return a is b")
    made = ex.submit(space["made"]).result(SECONDS)
    assert type(made) is object
    assert ex.submit(tasks.same, made).result(SECONDS) is made
    assert list(ex.map(space["same"], [made] * 4, [made, object(), made, None])) == [True, False, True, False]


def test_those_of_modules_of_the_users(ex: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as defaults of functions there, which a worker has from the file."""
    name = f"cellmill_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "NOTHING = object()\ndef is_nothing(x=NOTHING):\n    return x is NOTHING\ndef nothing(): return NOTHING\n"
    )
    prepend_to_path(monkeypatch, tmp_path)
    own = importlib.import_module(name)

    def asked(x: object) -> tuple[bool, ...]:
        return own.is_nothing(), own.is_nothing(x), x is own.NOTHING

    for _ in range(2):
        assert ex.submit(own.is_nothing).result(SECONDS)
        assert ex.submit(own.is_nothing, own.NOTHING).result(SECONDS)
        assert not ex.submit(own.is_nothing, object()).result(SECONDS)
        assert ex.submit(asked, own.NOTHING).result(SECONDS) == (True, True, True)
        assert ex.submit(own.nothing).result(SECONDS) is own.NOTHING
    sys.modules.pop(name)


def test_those_of_installed_modules(ex: Executor) -> None:
    unset = functools._initial_missing  # type: ignore[attr-defined]
    assert ex.submit(_is_unset, unset).result(SECONDS)


def _is_unset(x: object) -> bool:
    return x is functools._initial_missing  # type: ignore[attr-defined]


def test_those_without_references_are_dropped(ex: Executor) -> None:
    most = 10 * sentinels.LEAST_SWEPT
    for _ in range(5):
        assert sum(1 for _ in ex.map(tasks.same, [object() for _ in range(2 * sentinels.LEAST_SWEPT)])) > 0
    assert len(sentinels._by_key) < most
