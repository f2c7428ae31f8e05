"""Shared objects on the remote workers of a cluster: one copy for all remote workers of a process."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from typing import Any

from ....serialization.shared import Loaded
from ..values import stores

_objects: weakref.WeakValueDictionary[tuple[bytes, int], _Object] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class _Object:
    """A shared object in this process; the first remote worker that needs it loads it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: list[Any] = []


class Borrowed(Loaded):
    """Shared objects as one remote worker knows them."""

    def __init__(self, token: bytes, blobs: Mapping[int, memoryview | bytes]) -> None:
        super().__init__(blobs)
        self._token = token
        self._held: dict[int, _Object] = {}  # for as long as this remote worker knows them

    def pop(self, number: int, default: Any = None) -> None:
        """See `Loaded`."""
        super().pop(number)
        self._held.pop(number, None)

    def load(self, number: int, kind: str) -> Any:
        """See `Loaded`."""
        with _lock:
            found = _objects.get((self._token, number))
            if found is None:
                found = _objects[self._token, number] = _Object()
        with found.lock:
            if not found.values:
                found.values.append(super().load(number, kind))
        self._held[number] = found
        return found.values[0]


class Lent:
    """Pickles to what a worker reads from the store."""

    def __init__(self, source: stores.Source, key: Any, size: int) -> None:
        self._call = source, key, size

    def __reduce__(self) -> Any:
        return borrow, self._call


def borrow(source: stores.Source, key: Any, size: int) -> Any:
    """The object; it stays in the store. Raises `PayloadError`."""
    return stores.read(source, key, size)
