"""What Dask says to a user about Cellmill's own messages, and need not."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

_THRESHOLD = "distributed.admin.large-graph-warning-threshold"
_MARGIN = 1 << 20  # of what a message has beside its data
_lock = threading.Lock()


@contextlib.contextmanager
def large_message(data: list[Any]) -> Iterator[None]:
    """Send this without Dask's warning of a large graph: its advice is for those who write graphs."""
    import dask
    from dask.utils import parse_bytes

    size = sum(memoryview(each).nbytes for each in data)
    if size + _MARGIN < parse_bytes(dask.config.get(_THRESHOLD, "10MB")):
        yield
        return
    with _lock, dask.config.set({_THRESHOLD: 2 * size + _MARGIN}):
        yield
