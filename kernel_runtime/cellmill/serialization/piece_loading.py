"""What the pickle of a chunk calls where it is loaded, to get elements that were packed one by one; see `pieces`."""

from __future__ import annotations

import pickle
import threading
from typing import Any


def load_bares(items: list[bytes]) -> list[Any]:
    """Where a chunk is unpickled: its elements."""
    load = pickle.loads
    return [load(item) for item in items]  # an element that raises StopIteration would end a `map`


class _Loading(threading.local):
    parts: tuple[Any, ...] = ()


_loading = _Loading()


def load_piece(data: bytes, buffers: tuple[Any, ...], parts: tuple[Any, ...]) -> Any:
    """Where a chunk is unpickled: the object."""
    before, _loading.parts = _loading.parts, parts
    try:
        return pickle.loads(data, buffers=buffers)
    finally:
        _loading.parts = before


def load_part(place: int) -> Any:
    """While a piece is unpickled: what it refers to."""
    return _loading.parts[place]
