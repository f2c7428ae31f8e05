"""Bare objects, as `MISSING = object()`: their identity is their only use, so it holds across processes.

Each has a number, given by the process that sends it first, and is the same object wherever that number arrives. One
that only this table refers to is dropped: no code there can tell another object under its number from it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from .import_log import is_installed
from .replacements import MAINS

LEAST_SWEPT = 1024  # objects in the table before those without another reference are removed
PICKLED = b"\x8c\x06object\x94\x93"  # what the pickle of one has in it, by the plain pickler

_Key = tuple[int, int]  # the process that gave the number, and the number
_lock = threading.RLock()
_by_key: dict[_Key, object] = {}
_keys: dict[int, _Key] = {}  # by id
_of_modules: dict[
    int, tuple[str, str]
] = {}  # by id: the objects in modules; the tables do not keep those of installed ones


class _State:
    """This process's random id and counters."""

    process = int.from_bytes(os.urandom(8), "little")
    numbered = 0
    sweep_at = LEAST_SWEPT
    modules = 0  # how many were looked through
    own = frozenset[str]()  # those of the user's among them


def _in_child() -> None:
    """Start numbers of its own in a forked child, and keep those that it inherits."""
    global _lock
    _lock = threading.RLock()
    _State.process, _State.numbered = int.from_bytes(os.urandom(8), "little"), 0


os.register_at_fork(after_in_child=_in_child)


def reduced(sentinel: object) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Return the function and arguments that a bare object pickles to."""
    with _lock:
        place = _place(sentinel)
        if place is not None and place[0] not in _State.own:
            return of_module, place
        key = _keys.get(id(sentinel))
        if key is None:
            _State.numbered += 1
            key = (_State.process, _State.numbered)
            _keep(key, sentinel)
        return (numbered, key) if place is None else (numbered_of_own, (*place, *key))


def numbered(process: int, number: int) -> object:
    """Return the object with this number; make it if it is new here."""
    with _lock:
        found = _by_key.get((process, number))
        if found is None:
            found = object()
            _keep((process, number), found)
        return found


def numbered_of_own(module: str, name: str, process: int, number: int) -> object:
    """Return the object with this number. One that is new here is that which a module of the user's has under a name:
    also where the module keeps it in other places, as in the defaults of its functions.
    """
    with contextlib.suppress(Exception):  # of an import: what needs the module tells
        importlib.import_module(module)
    with _lock:
        here = getattr(sys.modules.get(module), name, None)
        if (process, number) not in _by_key and type(here) is object and id(here) not in _keys:
            _keep((process, number), here)
    return numbered(process, number)


def of_module(module: str, name: str) -> Any:
    """Return the object that an installed module has under a name."""
    return getattr(importlib.import_module(module), name)


def _keep(key: _Key, sentinel: object) -> None:
    _by_key[key] = sentinel
    _keys[id(sentinel)] = key
    if len(_by_key) >= _State.sweep_at:
        for unused in _only_here(_by_key, sentinel):
            del _keys[id(_by_key.pop(unused))]
        _State.sweep_at = max(LEAST_SWEPT, 2 * len(_by_key))


def _only_here(table: dict[_Key, object], but: object) -> list[_Key]:
    """Return the keys of a table's objects that nothing else refers to, except ``but``."""
    return [key for key, found in table.items() if sys.getrefcount(found) <= _ALONE and found is not but]


def _count_alone() -> int:
    return next(sys.getrefcount(found) for _, found in {0: object()}.items())


_ALONE = _count_alone()


def _place(sentinel: object) -> tuple[str, str] | None:
    """Return the (module, name) of an object that is a variable of a module, or None."""
    if _State.modules != len(sys.modules):
        _State.modules, own = len(sys.modules), set()
        _of_modules.clear()
        for module in list(sys.modules.values()):
            file = str(getattr(module, "__file__", None) or "") if type(module) is ModuleType else ""
            if file and module.__name__ not in MAINS:
                name = module.__name__
                if not is_installed(file):
                    own.add(name)
                for key, value in vars(module).copy().items():
                    if type(value) is object and sys.modules.get(name) is module:
                        _of_modules.setdefault(id(value), (name, key))
        _State.own = frozenset(own)
    found = _of_modules.get(id(sentinel))
    if found is not None and getattr(sys.modules.get(found[0]), found[1], None) is sentinel:
        return found
    return None
