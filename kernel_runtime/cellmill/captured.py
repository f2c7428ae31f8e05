"""Captured state: what a function refers to at any depth, as it was at one moment, and whether it still is.

`capture` walks from a function through globals, closures, defaults, attributes, classes, instances and containers,
as far as pickling by value would, and notes what each of them holds. `Capture.changed` compares (capture.c):
members by identity with what is kept alive here, memory of arrays by its bytes, and objects of which only their
own code knows the state by pickling them again. What the walk meets is sorted in ``captured_kinds``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from .captured_kinds import Walk
from .references import ABSENT

_held: Any = None
with contextlib.suppress(ImportError):  # on a machine that the C scheduler is not for nothing is compared
    from . import _csched_held as _held

_capture: Callable[[list[Any], Any, int], Any]
_changed: Callable[[Any], int]
_memory: Callable[[Any], bytes]


def _bind() -> None:
    global _capture, _changed, _memory
    if _held is None:
        _capture, _changed, _memory = lambda *_: None, lambda _: -1, bytes
        return
    ffi, made = _held.ffi, list[Any]()
    _held.lib.csched_captures(ffi.cast("void *", id(made)))
    _capture, _changed, _memory = made


_bind()


class Capture:
    """What a function, or a class, referred to when this was made.

    ``capsule``: the same for C, with the number given. ``light``: to compare it costs about a microsecond at most.
    ``mutable``: whether anything that it refers to can be changed in place. ``largest``: the variable that costs most.
    """

    __slots__ = ("capsule", "largest", "light", "mutable", "names")

    def __init__(self, walk: Walk, number: int) -> None:
        self.capsule = _capture(walk.entries, ABSENT, number)
        self.names = walk.names
        self.light = walk.weight < MOST_LIGHT
        self.mutable = walk.mutable
        self.largest = walk.largest()

    def changed(self) -> str | None:
        """The variable of which something has changed; None: all is as it was."""
        first = _changed(self.capsule)
        return None if first < 0 else self.names[first]


MOST_LIGHT = 1000  # members and bytes / 64 to compare: a microsecond or two


def walked(root: Any, *, in_worker: bool = False) -> Walk:
    """All that a function or class refers to, and what it holds now."""
    walk = Walk(_memory, in_worker=in_worker)
    walk.go(root)
    return walk


def capture(root: Any) -> Capture:
    """The present state of what a function or class refers to."""
    return Capture(walked(root), 0)
