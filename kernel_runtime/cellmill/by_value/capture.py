"""Captured state: what a function refers to at any depth, as it was at one moment, and whether it still is.

`capture` walks from a function through globals, closures, defaults, attributes, classes, instances and containers,
as far as pickling by value would, and notes what each of them holds. `Capture.changed` compares (capture.c):
members by identity with what is kept alive here, memory of arrays by its bytes, and objects of which only their
own code knows the state by pickling them again. What the walk meets is sorted in `capture_kinds`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from ..diagnostics.signatures import ANY_NUMBER
from . import pickling
from .capture_entries import CELL, ITEM
from .capture_kinds import Walk
from .references import ABSENT, constants_of


class _Comparing(NamedTuple):
    """The functions that csched/python/capture.c and take.c make."""

    capture: Callable[[list[Any], Any, int, int, int], Any]
    changed: Callable[[Any], int]
    memory: Callable[[Any], bytes]
    take: Callable[[Any, int, Any, Any, type, list[Any]], tuple[int, int]]


@functools.cache
def _comparing() -> _Comparing:
    try:
        from .. import _csched_with_gil
    except ImportError:  # on a machine that the C scheduler is not for nothing is compared
        return _Comparing(lambda *_: None, lambda _: -1, bytes, lambda *_: (0, 0))
    made: list[Any] = []
    target = _csched_with_gil.ffi.cast("void *", id(made))
    _csched_with_gil.lib.csched_captures(target)
    _csched_with_gil.lib.csched_take(target)
    return _Comparing(*made)


class Capture:
    """The state that a function or class referred to when this object was made.

    ``capsule``: the same for C, with the number given and how many arguments fit a call (see `signatures.limits`).
    ``light``: to compare it costs about a microsecond at most. ``mutable``: whether anything that it refers to can be
    changed in place. ``largest``: the variable that costs most.
    """

    __slots__ = ("_changed", "capsule", "largest", "light", "mutable", "names")

    def __init__(self, walk: Walk, number: int, fitting: tuple[int, int] = (0, ANY_NUMBER)) -> None:
        self.capsule = _comparing().capture(walk.entries, ABSENT, number, *fitting)
        self._changed = _comparing().changed
        self.names = walk.names
        self.light = walk.weight < MOST_LIGHT
        self.mutable = walk.mutable
        self.largest = walk.largest()

    def changed(self) -> str | None:
        """The variable of which something has changed; None: all is as it was."""
        first = self._changed(self.capsule)
        return None if first < 0 else self.names[first]

    def let_go(self) -> None:
        """Keep nothing alive any more. From now on it differs."""
        self._changed, self.names = _differs, [""]
        self.capsule = None


def _differs(_: Any) -> int:
    return 0


DIFFERS, OTHER_KIND = 1, 2  # why `take` ended


def take(
    source: Any, wanted: int, before: Capture, kinds: set[type], packed: type, items: list[Any]
) -> tuple[int, int]:
    """Append to ``items`` what an iterator gives, up to one after which captured state differs or of another kind.

    Plain data that is of none of the ``kinds`` is packed as one of the kind ``packed``. `DIFFERS`, `OTHER_KIND`, or
    both, of the last item, 0: there were as many as wanted, or there are no more; and how many bytes were packed.
    """
    return _comparing().take(source, wanted, before.capsule, kinds, packed, items)


MOST_LIGHT = 1000  # members and bytes / 64 to compare: a microsecond or two


def memory_of(value: Any) -> bytes:
    """A copy of the bytes of an array of numbers."""
    return _comparing().memory(value)


def new_walk(*, in_worker: bool = False) -> Walk:
    """A walk that has not begun."""
    return Walk(_comparing().memory, in_worker=in_worker)


def walked(root: Any, *, in_worker: bool = False) -> Walk:
    """All that a function or class refers to, and what it holds now."""
    walk = new_walk(in_worker=in_worker)
    for name, value in constants_of(root).items():
        walk.go(value, name)
    walk.go(root)
    return walk


def capture(root: Any) -> Capture:
    """Return the present state of what a function or class refers to."""
    return Capture(walked(root), 0)


def bindings(root: Any) -> Capture:
    """Return the present bindings of those variables only, without state that is changed in place."""
    walk = walked(root)
    kept = [i for i, entry in enumerate(walk.entries) if entry[0] in (ITEM, CELL)]
    walk.entries, walk.names = [walk.entries[i] for i in kept], [walk.names[i] for i in kept]
    return Capture(walk, 0)


def _changes_of(cls: type, /) -> Callable[[], str | None]:
    return capture(cls).changed


pickling.changes_of = _changes_of
