"""The user's own modules that are loaded again: what the program and other modules have of before."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill import Executor, PayloadError
from tests.by_value.own_module_source import SOURCE
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate
from tests.support.told import nothing_told, told


def test_a_module_that_was_imported_anew_beside_the_one_that_a_function_has(
    fresh: Executor, own: ModuleType
) -> None:
    """A worker could only have the new one; functions of the one before are sent as they are."""
    limited = own.limited
    del sys.modules[own.__name__]
    importlib.import_module(own.__name__).limit = 50
    for call in (lambda: fresh.submit(lambda: own.limit), lambda: fresh.submit(vars, own)):
        with pytest.raises(PayloadError, match="was imported anew since"):
            call()
    assert fresh.submit(limited, 9).result(SECONDS) == limited(9) == 1


def test_a_module_that_is_loaded_again_while_tasks_wait_is_told(
    fresh: Executor, own: ModuleType, gate: Gate
) -> None:
    """Those that have not begun run with what it is then. Other modules are not told of, nor one that is the same."""

    def other(x: int) -> int:
        return x

    file = Path(str(own.__file__))
    assert fresh.submit(own.twice, 1).result(SECONDS) == 2
    held = [fresh.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started(2)
    waiting = fresh.submit(own.twice, 1)
    importlib.reload(own)
    beside: list[Any] = []
    assert told(lambda: beside.append(fresh.submit(other, 1)), "loaded again") == []
    file.write_text(SOURCE.replace("2 * x", "20 * x"))
    importlib.reload(own)
    with pytest.warns(
        RuntimeWarning, match=rf"{own.__name__} was loaded again while \d+ tasks had not begun"
    ):
        last = fresh.submit(own.twice, 1)
    gate.release(2)
    assert [each.result(SECONDS) for each in (*held, last)] == [0, 1, 20]
    assert waiting.result(SECONDS) in (2, 20)
    assert beside[0].result(SECONDS) == 1
    file.write_text(SOURCE.replace("2 * x", "200 * x"))
    importlib.reload(own)
    assert told(lambda: fresh.submit(own.twice, 1).result(SECONDS), "loaded again") == []
    assert fresh.submit(own.twice, 1).result(SECONDS) == 200


USER = """
from cellmill_test_own_module import Scale, twice as double, below, decorated
import cellmill_test_own_module as whole

class Longer(Scale):
    pass

def used(x):
    return double(x), Scale().of(x), below(x), decorated(x), whole.twice(x)

def longer(x):
    return Longer().of(x)
"""


def test_what_another_module_has_of_one_that_was_loaded_again(
    fresh: Executor, own: ModuleType, tmp_path: Path, notices_anew: None
) -> None:
    """It goes on with the functions and classes of before until it is loaded again itself; a class below one of those
    is told of.
    """
    (tmp_path / "cellmill_test_user.py").write_text(USER)
    user = importlib.import_module("cellmill_test_user")
    file = Path(str(own.__file__))
    file.write_text(
        SOURCE.replace("2 * x", "20 * x")
        .replace("return self.factor * x", "return -x")
        .replace("x + limit", "x")
    )
    try:
        importlib.reload(own)
        with nothing_told():
            assert fresh.submit(user.used, 9).result(SECONDS) == user.used(9)
            assert fresh.submit(lambda: user.used(9)).result(SECONDS) == user.used(9)
        assert user.used(9)[::4] == (18, 180)
        with pytest.warns(
            RuntimeWarning, match=r"cellmill_test_user.Longer is made of .*reload\(cellmill_test_user\)"
        ):
            fresh.submit(user.longer, 9).result(SECONDS)
        importlib.reload(user)
        with nothing_told():
            assert fresh.submit(user.used, 9).result(SECONDS) == user.used(9)
            assert fresh.submit(user.longer, 9).result(SECONDS) == user.longer(9) == -9
    finally:
        del sys.modules["cellmill_test_user"]


def test_an_enumeration_that_autoreload_has_changed_in_part(fresh: Executor, own: ModuleType) -> None:
    """It has the earlier members as attributes, and the later ones by name."""
    update_class: Any = pytest.importorskip("IPython.extensions.autoreload").update_class
    file, kinds = Path(str(own.__file__)), []
    for value in (1, 22):
        file.write_text(f"{SOURCE}\nimport enum\nclass Colour(enum.Enum):\n    RED = {value}\n")
        kinds.append(importlib.reload(own).Colour)
    before, now = kinds
    update_class(before, now)
    assert before.RED.value == 1
    with pytest.raises(PayloadError, match=r"Import it again .from cellmill_test_own_module import Colour."):
        fresh.submit(lambda: before.RED.value)
    assert fresh.submit(lambda: now.RED.value).result(SECONDS) == 22


def test_a_class_that_only_the_kernel_has_still(fresh: Executor, own: ModuleType) -> None:
    """The file defines it no more, and `reload` leaves it: tasks say what they lack."""

    def half() -> None:
        own.Half()

    file = Path(str(own.__file__))
    file.write_text(SOURCE + "class Half:\n    def __init__(self, x=1):\n        self.x = x\n")
    importlib.reload(own)
    file.write_text(SOURCE)
    importlib.reload(own)
    with pytest.raises(AttributeError, match=f"module {own.__name__!r} has no attribute 'Half'"):
        fresh.submit(half).result(SECONDS)
