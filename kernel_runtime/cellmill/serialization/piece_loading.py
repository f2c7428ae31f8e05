"""Functions that the pickle of a chunk calls to load elements that were packed one by one; see `pieces`."""

from __future__ import annotations

import pickle
import threading
from typing import Any


def load_bares(items: list[bytes]) -> list[Any]:
    """Unpickle the elements of a chunk."""
    load = pickle.loads
    return [load(item) for item in items]  # an element that raises StopIteration would end a `map`


class _Loading(threading.local):
    parts: tuple[Any, ...] = ()


_loading = _Loading()


def load_piece(data: bytes, buffers: tuple[Any, ...], parts: tuple[Any, ...]) -> Any:
    """Unpickle the object of a piece."""
    before, _loading.parts = _loading.parts, parts
    try:
        return pickle.loads(data, buffers=buffers)
    finally:
        _loading.parts = before


def load_part(place: int) -> Any:
    """Return an object that the piece being unpickled refers to."""
    return _loading.parts[place]
