"""The kernel's end of results that stay in Ray's object store (see `remote.ray_values`)."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

from ..remote.ray_values import RayKey, RayValues
from ..values.stores import Parts


class HeldByRay:
    """A connector: what actors have put is read and released."""

    elsewhere = RayValues

    def __init__(
        self, fetch: Callable[[bytes, int], list[memoryview]], release: Callable[[bytes], None]
    ) -> None:
        """``fetch``: return the parts of the value at this index of an object of Ray's, none where it is lost;
        ``release``: one value of that object is not needed any more.
        """
        self._fetch = fetch
        self._release = release
        self._name = os.urandom(8).hex()  # other executors have sources of their own

    def config(self) -> dict[str, Any]:
        """Return what a remote worker has to know."""
        return {"name": self._name}

    def get(self, key: RayKey) -> Parts | None:
        """Fetch a value's parts; None where no node has them."""
        found = self._fetch(_object(key), key.number)
        return Parts(found, alone=True) if found else None

    def evict(self, key: RayKey) -> None:
        self._release(_object(key))


def _object(key: RayKey) -> bytes:
    name: bytes = pickle.loads(key.place)[0]
    return name
