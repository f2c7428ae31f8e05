"""What `functions.FunctionTable` knows of a function: its present content, and what that depends on."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Collection
from operator import is_
from typing import Any

from . import runs
from .references import ABSENT, References, cell_value, members_of
from .shared import Shared


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
    __slots__ = ("by_value", "epoch", "function", "number", "references", "version")

    def __init__(self, function: Any, by_value: bool) -> None:
        self.function = function
        self.by_value = by_value
        self.epoch = -1
        self.number = -1
        self.version: Version | None = None
        self.references = References([], [], changing=False)

    def target(self) -> Any:
        """The function; None when it is gone."""
        return self.function

    def fresh(self) -> bool:
        """Of a function by value: nothing it refers to has been bound anew since it was pickled."""
        if self.epoch != runs._epoch:
            return False
        bindings, members, _ = self.references
        for namespace, key, value in bindings:
            if namespace is not None:
                if namespace.get(key, ABSENT) is not value:
                    return False
            elif cell_value(key) is not value:
                return False
        for container, length, before in members:
            if len(container) != length:
                return False
            if before is not None and not all(map(is_, members_of(container), before)):
                return False
        return True


class SharingEntry(Entry):
    """Of a function that refers to shared objects: it keeps neither, or they would stay for the table's sake."""

    __slots__ = ("handles",)

    def __init__(self, function: Any, by_value: bool) -> None:
        super().__init__(weakref.ref(function), by_value)
        # (namespace, name) or (None, place of the cell in the function's closure), and what was bound there
        self.handles: list[tuple[dict[str, Any] | None, Any, weakref.ref[Any]]] = []

    def target(self) -> Any:
        return self.function()

    def fresh(self) -> bool:
        if not super().fresh():
            return False
        cells = _cells_of(self.target())
        return all(
            (namespace.get(key) if namespace is not None else cell_value(cells[key])) is handle() is not None
            for namespace, key, handle in self.handles
        )

    def loosen(self, references: References) -> References:
        """Those that keep nothing shared; of the others, and of helpers, weak references are kept here."""
        cells = _cells_of(self.target())
        places = {id(cell): place for place, cell in enumerate(cells)}
        self.handles, others = [], []
        for binding in references.bindings:
            namespace, key, value = binding
            if namespace is None:
                key = places.get(id(key))
            if type(value) in (Shared, types.FunctionType) and key is not None:
                self.handles.append((namespace, key, weakref.ref(value)))
            else:
                others.append(binding)
        return references._replace(bindings=others)


def _cells_of(function: Any) -> tuple[types.CellType, ...]:
    return getattr(function, "__closure__", None) or ()


class Key:
    """Stands in the table for a function that it does not keep, and is found by it."""

    __slots__ = ("_hash", "_ref")

    def __init__(self, function: Any, gone: Callable[[Any], None]) -> None:
        self._hash = hash(function)
        self._ref = weakref.ref(function, lambda _: gone(self))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or self._ref() is other
