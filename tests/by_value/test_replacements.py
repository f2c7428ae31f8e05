"""Which functions have taken the names of others: those set anew, not those that a module's file decorates."""

from __future__ import annotations

import functools
import json
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cellmill.by_value import pickling
from cellmill.by_value.references import importable
from cellmill.by_value.replacements import is_replacement
from tests.support.own_module import imported

SOURCE = """
import functools

def plain(x):
    return x

def other(x):
    return -x

def wrapped(function):
    @functools.wraps(function)
    def inner(*args):
        return function(*args)
    return inner

@wrapped
def decorated(x):
    return x

def later(x):
    return x

later = wrapped(later)

if True:
    def nested(x):
        return x

@functools.cache
def cached(x):
    return x

def quick(x):
    return x

try:
    from operator import neg as quick
except ImportError:
    pass

def set_by_a_function(x):
    return x

def set_it():
    global set_by_a_function
    set_by_a_function = wrapped(set_by_a_function)

set_it()

class Kind:
    def method(self):
        return 1

    @wrapped
    def decorated(self):
        return 1

    def afterwards(self):
        return 1

Kind.afterwards = wrapped(Kind.afterwards)

def all_wrapped(cls):
    cls.wrapped = wrapped(cls.wrapped)
    return cls

@all_wrapped
class Decorated:
    def wrapped(self):
        return 1
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    with imported(monkeypatch, tmp_path, "cellmill_test_replaced_module", SOURCE) as module:
        yield module


def traced(function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def run(*args: Any) -> Any:
        return "traced", function(*args)

    return run


def test_what_a_module_makes_is_its_own(own: ModuleType) -> None:
    functions = (own.plain, own.decorated, own.later, own.nested, own.set_by_a_function)
    methods = (own.Kind.method, own.Kind.decorated, own.Kind.afterwards, own.Decorated.wrapped)
    for function in (*functions, *methods):
        assert not is_replacement(function)
        assert importable(function)
        assert pickling.dumps(function) == pickle.dumps(function, 5)
    assert importable(own.cached)
    assert own.quick(1) == -1
    assert importable(json.dumps)


@pytest.mark.parametrize("name", ["plain", "nested", "Kind.method"])
def test_what_is_set_anew_under_its_name(own: ModuleType, name: str) -> None:
    """By functions of the kernel's, of another module, and of the same one."""
    *path, last = name.split(".")
    owner = getattr(own, path[0]) if path else own
    before = getattr(owner, last)
    for made in (traced(before), own.wrapped(before), functools.wraps(before)(own.other)):
        setattr(owner, last, made)
        assert is_replacement(made)
        assert not importable(made)
        assert pickling.dumps(made) != pickle.dumps(made, 5)
        setattr(owner, last, before)
        assert importable(before)


def test_cached_and_of_packages(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    own.plain = functools.cache(traced(own.plain))
    assert not importable(own.plain)
    monkeypatch.setattr(json, "dumps", traced(json.dumps))
    assert not importable(json.dumps)
