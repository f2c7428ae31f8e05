"""Functions of the user's own modules: tasks find what they keep besides their code as the kernel has it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill import Executor
from cellmill.by_value.capture import walked
from cellmill.by_value.references import dispatch_registry
from tests.support.helpers import SECONDS, prepend_to_path

SOURCE = """
import dataclasses, functools, os, pathlib

scale = 1
nothing = object()

def times(x=2, k=3):
    return x * k

def computed(x=int(os.environ.get("CELLMILL_X", 2)), *, within=pathlib.Path.cwd(), most=10**2):
    return x, str(within), most, late(), Kind.made(), Size()

@functools.cache
def late(x=int(os.environ.get("CELLMILL_X", 2))):
    return x

def named(x=2, *, b=[1], c=2):
    return len(b) * x * c

@dataclasses.dataclass(slots=True)
class Plain:
    x: int = 2 * 8

def plain(x=1 << 20, *, y=-0.5 * 3):
    return x * y

def known(given=nothing):
    return type(given).__name__

def counted():
    return getattr(counted, "n", 0)

@dataclasses.dataclass
class Size:
    x: int = 1 << 4
    y: int = int(os.environ.get("CELLMILL_X", 2))

class Kind:
    def of(self, x=4):
        return x

    @classmethod
    def made(cls, x=int(os.environ.get("CELLMILL_X", 2))):
        return x

@functools.singledispatch
def shown(x):
    return "object"

@shown.register
def _(x: str):
    return "text", scale

@functools.cache
def kept(x=1):
    return x * scale

def whole():
    return times(), computed(), named(), known(), counted(), Kind().of(), shown(3), shown("a")
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, as its file makes it."""
    name = f"cellmill_{tmp_path.name}"  # another one in each test: what functions took along is remembered
    (tmp_path / f"{name}.py").write_text(SOURCE)
    prepend_to_path(monkeypatch, tmp_path)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


def call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


def agree(ex: Executor, own: ModuleType, name: str) -> Any:
    """A function, one of its module and one of a script that call it, and one that is given it."""

    def calls() -> Any:
        return own.whole()

    function = getattr(own, name)
    args = (3,) if name == "shown" else ()
    for each in (own.whole, calls):
        assert ex.submit(each).result(SECONDS) == each()
    plain = function(*args)
    assert ex.submit(function, *args).result(SECONDS) == plain
    assert ex.submit(call, function, *args).result(SECONDS) == plain
    return plain


def _number(x: int) -> str:
    return f"number {x}"


_number.__module__ = "__main__"  # as a script's


def _withdraw(shown: Any) -> None:
    registry = dispatch_registry(shown)
    assert registry is not None
    del registry[int]
    shown._clear_cache()


# what changes, what then undoes it, and what the function gives before and in between
CHANGES: dict[str, tuple[str, Callable[[Any], Any], Callable[[Any], Any], Any, Any]] = {
    "defaults": (
        "times",
        lambda own: setattr(own.times, "__defaults__", (2, 10)),
        lambda own: setattr(own.times, "__defaults__", (2, 3)),
        *(6, 20),
    ),
    "defaults of other kinds": (
        "times",
        lambda own: setattr(own.times, "__defaults__", (5, True)),
        lambda own: setattr(own.times, "__defaults__", (2, 3)),
        *(6, 5),
    ),
    "a member of a named default": (
        "named",
        lambda own: own.named.__kwdefaults__["b"].append(3),
        lambda own: own.named.__kwdefaults__["b"].pop(),
        *(4, 8),
    ),
    "one named default": (
        "named",
        lambda own: own.named.__kwdefaults__.update(c=7),
        lambda own: own.named.__kwdefaults__.update(c=2),
        *(4, 14),
    ),
    "named defaults": (
        "named",
        lambda own: setattr(own.named, "__kwdefaults__", {"b": [], "c": 1}),
        lambda own: setattr(own.named, "__kwdefaults__", {"b": [1], "c": 2}),
        *(4, 0),
    ),
    "an attribute": (
        "counted",
        lambda own: setattr(own.counted, "n", 4),
        lambda own: delattr(own.counted, "n"),
        *(0, 4),
    ),
    "a registered function": (
        "shown",
        lambda own: own.shown.register(int, _number),
        lambda own: _withdraw(own.shown),
        *("object", "number 3"),
    ),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_what_is_set_anew(fresh: Executor, own: ModuleType, kind: str) -> None:
    """Before the first call and later, and as it was once it is undone."""
    name, change, undo, first, changed = CHANGES[kind]
    for _ in range(2):
        change(own)
        assert agree(fresh, own, name) == changed
        undo(own)
        assert agree(fresh, own, name) == first


def test_defaults_of_a_method(fresh: Executor, own: ModuleType) -> None:
    def calls(kind: Any) -> Any:
        return own.Kind().of(), kind.of()

    for default in (4, 9, 4):
        own.Kind.of.__defaults__ = (default,)
        assert fresh.submit(calls, own.Kind()).result(SECONDS) == (default, default)


def test_objects_that_are_set_as_defaults_later(fresh: Executor, own: ModuleType) -> None:
    first = own.known.__defaults__
    for defaults in (first, (Path("a"),), first):
        own.known.__defaults__ = defaults
        assert agree(fresh, own, "known") == type(defaults[0]).__name__


def test_defaults_that_a_later_import_would_compute_otherwise(
    fresh: Executor, own: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``limit=int(os.environ[...])``: a worker's import comes after the change."""
    monkeypatch.setenv("CELLMILL_X", "5")
    here = Path.cwd()
    monkeypatch.chdir(tmp_path)
    assert agree(fresh, own, "computed") == (2, str(here), 100, 2, 2, own.Size(16, 2))


def test_defaults_as_the_file_has_them_do_not_go_along(own: ModuleType) -> None:
    assert {
        name for function in (own.times, own.plain, own.Plain.__init__) for _, name in walked(function).reads
    } == set()
    own.times.__defaults__ = (2, 4)
    assert {name for _, name in walked(own.times).reads} == {"times.__defaults__"}


def test_data_that_registered_and_wrapped_functions_read(fresh: Executor, own: ModuleType) -> None:
    for scale in (2, 5):
        own.scale = scale
        assert fresh.submit(own.shown, "a").result(SECONDS) == ("text", scale)
        assert fresh.submit(own.kept, scale).result(SECONDS) == scale * scale
