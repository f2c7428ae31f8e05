"""Classes of the user's own modules: tasks find in them what the kernel has, whatever was set anew, and in what way."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS, prepend_to_path
from tests.support.told import nothing_told

SOURCE = """
import enum
import functools
import cellmill_test_slow as engine

class Base:
    rate = 1
    engine = engine

    def area(self):
        return 1

    @staticmethod
    def plain(x):
        return x

    @functools.cached_property
    def kept(self):
        return 1

    def run(self):
        return self.engine.run()

class Fine(Base):
    def all(self):
        return self.area(), self.plain(2), self.rate, self.kept, self.run()

class Color(enum.Enum):
    RED = 1
    BLUE = [1, 2]

    def told(self):
        return self.name, self.value, getattr(self, "label", None)

def colors():
    return [color.told() for color in Color]

def whole():
    return Fine().all()

def run():
    return engine.run()
"""
NAMES = "cellmill_test_slow", "cellmill_test_fast", "cellmill_test_classes_module"
SOURCES = "speed = 1\ndef run(): return speed", "speed = 2\ndef run(): return speed", SOURCE


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, as its file makes it, and two others that it may use."""
    for name, source in zip(NAMES, SOURCES, strict=True):
        (tmp_path / f"{name}.py").write_text(source)
    prepend_to_path(monkeypatch, tmp_path)
    modules = [importlib.import_module(name) for name in NAMES]
    yield modules[-1]
    for name in NAMES:
        sys.modules.pop(name, None)


def all_of(model: Any) -> Any:
    return model.all()


def of_main(function: Any) -> Any:
    """The function as one of a script."""
    function.__module__ = "__main__"
    return function


def agree(ex: Executor, own: ModuleType) -> Any:
    """A function of the module, one of a script that calls it, and one that is given an instance."""

    def calls() -> Any:
        return own.whole()

    plain = own.whole()
    assert ex.submit(own.whole).result(SECONDS) == plain
    assert ex.submit(calls).result(SECONDS) == plain
    assert ex.submit(all_of, own.Fine()).result(SECONDS) == plain
    assert list(ex.map(all_of, [own.Fine()])) == [plain]
    return plain


FIRST = (1, 2, 1, 1, 1)
CHANGES: dict[str, tuple[str, str, Callable[[], Any], tuple[Any, ...]]] = {
    "a static method for a method": (
        "Base",
        "area",
        lambda: staticmethod(of_main(lambda: 5)),
        (5, 2, 1, 1, 1),
    ),
    "a class method for a method": (
        "Base",
        "area",
        lambda: classmethod(of_main(lambda cls: cls.rate + 6)),
        (7, 2, 1, 1, 1),
    ),
    "a property for a method": (
        "Base",
        "area",
        lambda: property(of_main(lambda self: lambda: 8)),
        (8, 2, 1, 1, 1),
    ),
    "a callable object": ("Base", "area", lambda: functools.partial(int, 9), (9, 2, 1, 1, 1)),
    "a built-in function": ("Base", "plain", lambda: abs, (1, 2, 1, 1, 1)),
    "another static method": ("Base", "plain", lambda: staticmethod(of_main(lambda x: -x)), (1, -2, 1, 1, 1)),
    "a cached property": (
        "Base",
        "kept",
        lambda: _named(functools.cached_property(of_main(lambda self: self.rate + 3))),
        (1, 2, 1, 4, 1),
    ),
    "data that was inherited": ("Fine", "rate", lambda: 11, (1, 2, 11, 1, 1)),
    "a method that was inherited": (
        "Fine",
        "area",
        lambda: of_main(lambda self: self.rate + 12),
        (13, 2, 1, 1, 1),
    ),
    "a static method that was inherited": (
        "Fine",
        "plain",
        lambda: staticmethod(of_main(lambda x: 3 * x)),
        (1, 6, 1, 1, 1),
    ),
    "a property that was inherited": (
        "Fine",
        "rate",
        lambda: property(of_main(lambda self: 14)),
        (1, 2, 14, 1, 1),
    ),
    "a module": ("Base", "engine", lambda: sys.modules[NAMES[1]], (1, 2, 1, 1, 2)),
    "a module that was inherited": ("Fine", "engine", lambda: sys.modules[NAMES[1]], (1, 2, 1, 1, 2)),
}


def _named(made: Any) -> Any:
    made.attrname = "kept"
    return made


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_set_anew(fresh: Executor, own: ModuleType, kind: str) -> None:
    """Before the first call and later, and as it was once it is set back."""
    cls, name, make, changed = CHANGES[kind]
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(getattr(own, cls), name, make())
            assert agree(fresh, own) == changed
        assert agree(fresh, own) == FIRST


def test_what_is_patched_by_mock(fresh: Executor, own: ModuleType) -> None:
    with mock.patch.object(own.Base, "area", staticmethod(of_main(lambda: 5))):
        assert agree(fresh, own) == (5, *FIRST[1:])
    with mock.patch.object(own.Base, "area", of_main(lambda self: 6)):
        assert agree(fresh, own) == (6, *FIRST[1:])
    assert agree(fresh, own) == FIRST


def test_data_that_is_added_and_taken_away(fresh: Executor, own: ModuleType) -> None:
    def label() -> Any:
        return getattr(own.Fine(), "label", None)

    for value in (None, "first", None, "second"):
        if value is not None:
            own.Fine.label = value
        elif "label" in vars(own.Fine):
            del own.Fine.label
        assert fresh.submit(label).result(SECONDS) == label() == value


def test_members_of_enumerations(fresh: Executor, own: ModuleType) -> None:
    """Of the module, and of a script: their attributes, and values that change."""

    class Mine(Enum):
        RED = 1
        BLUE = [1, 2]  # noqa: RUF012

        def told(self) -> Any:
            return self.name, self.value, getattr(self, "label", None)

    Mine.__module__ = "__main__"

    def mine() -> Any:
        return [color.told() for color in Mine]

    def label(color: Any) -> Any:
        return color.label if hasattr(color, "label") else None

    def all_agree() -> None:
        with nothing_told():
            for function in (mine, own.colors, lambda: own.colors()):
                assert fresh.submit(function).result(SECONDS) == function()
            for color in (Mine.RED, own.Color.RED):
                assert fresh.submit(label, color).result(SECONDS) == label(color)

    for _ in range(2):
        for kind in (Mine, own.Color):
            kind.RED.label = "rot"
            all_agree()
            kind.RED.label = ["r", "o", "t"]
            kind.BLUE.value.append(3)
            all_agree()
            del kind.RED.label
            kind.BLUE.value.pop()
            all_agree()


def test_methods_of_enumerations(fresh: Executor, own: ModuleType) -> None:
    first = own.colors()
    for _ in range(2):
        assert fresh.submit(own.colors).result(SECONDS) == first
        with mock.patch.object(own.Color, "told", of_main(lambda self: self.value)):
            assert fresh.submit(own.colors).result(SECONDS) == own.colors() == [1, [1, 2]]


def test_modules_that_a_module_binds_anew(fresh: Executor, own: ModuleType) -> None:
    """With the data that a function reads of the other one."""

    def calls() -> Any:
        return own.run(), own.engine.run()

    slow, fast = (sys.modules[name] for name in NAMES[:2])
    for engine, speed in ((slow, 1), (fast, 2), (fast, 5), (slow, 1), (fast, 7)):
        own.engine, engine.speed = engine, speed  # type: ignore[attr-defined]
        assert fresh.submit(own.run).result(SECONDS) == own.run() == speed
        assert fresh.submit(calls).result(SECONDS) == calls() == (speed, speed)
