"""Entries of `functions.FunctionTable`: a function's present content and its dependencies."""

from __future__ import annotations

import time
import types
import weakref
from collections.abc import Callable, Collection
from typing import Any

from ..by_value.capture import Capture
from ..by_value.capture_entries import ATTRIBUTE, CELL, ITEM
from ..by_value.capture_kinds import Walk
from ..by_value.identities import NONE
from ..by_value.references import ABSENT, cell_value
from ..diagnostics import notices
from ..diagnostics.signatures import limits
from .shared import Shared

COSTLY_NS = 1_000_000  # of one look at captured state: said once per function


class Version:
    """One content of a function, as the scheduler has it. ``needs``: numbers of the shared objects it refers to."""

    __slots__ = ("key", "needs", "number", "size", "users")

    def __init__(self, key: bytes, number: int, size: int, needs: Collection[int]) -> None:
        self.key = key
        self.number = number
        self.size = size
        self.needs = needs
        self.users = 0  # entries whose current content it is


class Entry:
    """A function, its number and the state that its pickle has captured."""

    __slots__ = ("by_value", "capture", "captured", "function", "generators", "number", "said", "version")

    def __init__(self, function: Any, by_value: bool) -> None:
        self.function = function
        self.by_value = by_value
        self.generators: list[Any] = []  # of random numbers, that it refers to
        self.captured = NONE  # what it refers to that only its identity tells
        self.number = -1
        self.version: Version | None = None
        self.capture: Capture | None = None  # None: it is to be pickled anew
        self.said = False  # what a look costs

    def target(self) -> Any:
        """The function; None when it is gone."""
        return self.function

    def hold(self, walk: Walk, number: int) -> None:
        """Note this as the state of the present content."""
        self.captured = walk.identities
        self.capture = Capture(walk, number, limits(self.target()))

    def fresh(self) -> bool:
        """Whether all that it refers to is as it was when it was pickled."""
        capture = self.capture
        if capture is None:
            return False
        if capture.light or self.said:
            return capture.changed() is None
        start = time.perf_counter_ns()
        fresh = capture.changed() is None
        if time.perf_counter_ns() - start > COSTLY_NS and fresh:
            start = (
                time.thread_time_ns()
            )  # once more, by processor time: a busy machine has waits that no look costs
            fresh = capture.changed() is None
            cost = time.thread_time_ns() - start
            if cost > COSTLY_NS:
                self.said = True
                self._say(cost, capture)
        return fresh

    def _say(self, cost: int, capture: Capture) -> None:
        name = str(getattr(self.target(), "__qualname__", "the function"))
        notices.give(
            id(self),
            f"each call of {name} first looks whether {capture.largest} has changed, which takes {cost / 1e6:.1f} ms. "
            f"If it does not change, share it once: {capture.largest} = cellmill.share({capture.largest}). If it "
            "does, pass it as an argument to the calls that need it.",
            self.target(),
        )


class SharingEntry(Entry):
    """The entry of a function that refers to shared objects: it keeps neither, so that the table does not keep them
    alive.
    """

    __slots__ = ("handles",)

    def __init__(self, function: Any, by_value: bool) -> None:
        super().__init__(weakref.ref(function), by_value)
        # Each says whether something that is not kept is still where it was.
        self.handles: list[Callable[[], bool]] = []

    def target(self) -> Any:
        return self.function()

    def fresh(self) -> bool:
        return super().fresh() and all(there() for there in self.handles)

    def hold(self, walk: Walk, number: int) -> None:
        places = {id(cell): place for place, cell in enumerate(_cells_of(self.target()))}
        self.handles, kept, names = [], [], []
        for entry, name in zip(walk.entries, walk.names, strict=True):
            handle = self._handle(entry, places)
            if handle is None:
                kept.append(entry)
                names.append(name)
            else:
                self.handles.append(handle)
        walk.entries, walk.names = kept, names
        super().hold(walk, number)
        self.captured = NONE  # which would keep the function

    def _handle(self, entry: tuple[int, Any, Any, Any], places: dict[int, int]) -> Callable[[], bool] | None:
        """The same comparison without keeping a function or a shared object; None where it keeps none."""
        kind, owner, key, value = entry
        if kind == ATTRIBUTE and type(owner) is types.FunctionType:
            function = weakref.ref(owner)
            return lambda: getattr(function(), key, ABSENT) is value
        if type(value) not in (Shared, types.FunctionType):
            return None
        there = weakref.ref(value)
        if kind == ITEM:
            return lambda: owner.get(key) is there() is not None
        place = places.get(id(owner))
        if kind == CELL and place is not None:
            return lambda: cell_value(_cells_of(self.target())[place]) is there() is not None
        return None


def _cells_of(function: Any) -> tuple[types.CellType, ...]:
    return getattr(function, "__closure__", None) or ()


class Key:
    """Represents in the table a function that it does not keep, and is found by it."""

    __slots__ = ("_hash", "_ref")

    def __init__(self, function: Any, gone: Callable[[Any], None]) -> None:
        self._hash = hash(function)
        self._ref = weakref.ref(function, lambda _: gone(self))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or self._ref() is other
