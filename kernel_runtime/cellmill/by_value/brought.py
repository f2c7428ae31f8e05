"""Data of the user's modules as functions have brought it: found in the modules of a worker while tasks run."""

from __future__ import annotations

import contextlib
import importlib
import sys
import threading
import types
from collections import Counter
from collections.abc import Set
from enum import Enum
from hashlib import blake2b
from typing import Any, NamedTuple

from .pickling import dumps

Reads = dict[tuple[str, str], Any]  # by module and name, which is "Class.name" for data of a class


class Gone:
    """Marks data that a module had, and has no more."""


class ModuleNamed(NamedTuple):
    """Marks a module, which a process imports only where it has another one."""

    name: str


class Brought:
    """The data of modules that one function brings, with what tells it from other data of the same names.

    ``perhaps``: it may not be needed at all. So no module is imported for it, and in a process where several threads
    run tasks it is set where no other one needs other data, and no task waits for it.
    """

    def __init__(self, reads: Reads, *, perhaps: bool = False) -> None:
        self._perhaps = perhaps
        missing = {module for module, _ in reads}.difference(sys.modules)
        for module in missing if not perhaps else ():
            with contextlib.suppress(Exception):  # the function's own import of it tells
                importlib.import_module(module)
        self._reads = {place: (value, _digest(value)) for place, value in reads.items()}

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function with this data in its modules."""
        self.begin()
        try:
            return function(*args, **kwargs)
        finally:
            self.end()

    def begin(self) -> None:
        """Put this data into its modules, once no other thread needs other data there."""
        if not several_threads:
            self._apply()
            return
        with _using:
            if self._perhaps:
                if not self._others_in_use():
                    self._apply()
                return
            while self._others_in_use():
                _using.wait(SLICE_S)
            self._apply()
            self._count(1)

    def end(self, _: None = None) -> None:
        """It is not needed any more."""
        if not several_threads:
            if _added:
                self._withdraw()
            return
        if self._perhaps:
            return
        with _using:
            self._count(-1)
            self._withdraw()
            _using.notify_all()

    def _apply(self) -> None:
        """Set it where other data was set last.

        What tasks bind anew or change stays as long as the kernel's data does: a model loaded once per worker.
        """
        for place, (value, digest) in self._reads.items():
            if self._perhaps and place[0] not in sys.modules:
                continue
            before = _applied.get(place)
            if before != digest:
                if before is not None or place not in made_here:
                    made_here.discard(place)
                    _set(place, value)
                _applied[place] = digest
            elif value is not Gone and place in _added:
                _set(place, _added[place])

    def _withdraw(self) -> None:
        """Take away the names that modules do not have by themselves: tasks of earlier versions do not find them.

        An earlier version of a function cannot say that such a name is missing: the name was not known then.
        """
        for place in self._reads.keys() & _added.keys():
            if place not in _in_use:
                _added[place] = _value_at(*owner_of(place))
                _set(place, Gone)

    def _others_in_use(self) -> bool:
        """Whether a task of another thread runs with other data: modules belong to the whole process."""
        for place, (_, digest) in self._reads.items():
            used, count = _in_use.get(place, (digest, 0))
            if used != digest and count > _here.held[place]:
                return True
        return False

    def _count(self, by: int) -> None:
        for place, (_, digest) in self._reads.items():
            _here.held[place] += by
            count = _in_use.get(place, (digest, 0))[1] + by
            if count:
                _in_use[place] = (digest, count)
            else:
                del _in_use[place]


def _digest(value: Any) -> bytes:
    return blake2b(dumps(value), digest_size=16).digest()


SLICE_S = 0.05  # of a wait, which hears Stop in between
several_threads = False  # may run tasks in this process
_using = threading.Condition()


class _Here(threading.local):
    def __init__(self) -> None:
        self.held: Counter[tuple[str, str]] = Counter()  # data of tasks of this thread, one in another


_here = _Here()
_in_use: dict[tuple[str, str], tuple[bytes, int]] = {}  # data of tasks that run now, and how many those are
_applied: dict[tuple[str, str], bytes] = {}  # what was set last
made_here: set[tuple[str, str]] = set()  # set by the initializer, or by a call on each worker
_added: dict[
    tuple[str, str], Any
] = {}  # names that modules have only while a function that brought them runs
NOTHING: tuple[dict[Any, Any], dict[Any, Any], set[Any]] = ({}, {}, set())


def set_aside(modules: Set[str]) -> tuple[dict[Any, Any], dict[Any, Any], set[Any]]:
    """Modules of these names leave this process for a while: what is known of their data leaves with them."""
    places = [place for place in [*_applied, *_added, *made_here] if place[0] in modules]
    found: tuple[dict[Any, Any], dict[Any, Any], set[Any]] = ({}, {}, set())
    for place in places:
        for known, kept in ((_applied, found[0]), (_added, found[1])):
            if place in known:
                kept[place] = known.pop(place)
        if place in made_here:
            made_here.discard(place)
            found[2].add(place)
    return found


def put_back(aside: tuple[dict[Any, Any], dict[Any, Any], set[Any]]) -> None:
    """They are back."""
    _applied.update(aside[0])
    _added.update(aside[1])
    made_here.update(aside[2])


def owner_of(place: tuple[str, str]) -> tuple[Any, str]:
    """Return the module, or the class, function or member of an enumeration in it, that has the name of a place, None
    if there is none; and the name there.
    """
    owner: Any = sys.modules.get(place[0])
    *path, name = place[1].split(".")
    for part in path:
        owner = None if owner is None else getattr(owner, part, None)
    return owner, name


def _value_at(owner: Any, name: str) -> Any:
    """Return the owner's own value of a name; `Gone` if it has none, even if a base class has one."""
    held = vars(owner) if isinstance(owner, (type, types.ModuleType, Enum)) else None
    return getattr(owner, name, Gone) if held is None else held.get(name, Gone)


def _set(place: tuple[str, str], value: Any) -> None:
    owner, name = owner_of(place)
    if owner is None:
        return
    there = _value_at(owner, name) is not Gone
    if value is not Gone:
        if not there:
            _added[place] = value
        setattr(owner, name, value)
    elif there:
        delattr(owner, name)
