"""What Dask says to a user about Cellmill's own messages and connections, and need not."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator
from typing import Any

_THRESHOLD = "distributed.admin.large-graph-warning-threshold"
_SMALL = 1 << 20  # bytes: smaller messages bring no warning
_MARGIN = 1 << 20  # of what a message has beside its data
_lock = threading.Lock()
_clusters = 0  # of our own
_levels: dict[logging.Handler, int] = {}  # that handlers of Dask's log had before the first of them


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Keep Dask's log from the terminal until the last of our clusters has ended: what Dask has for this ends with the
    first.
    """
    global _clusters
    with _lock:
        if not _clusters:
            handlers = logging.getLogger("distributed").handlers
            _levels.update((each, each.level) for each in handlers if isinstance(each, logging.StreamHandler))
        _clusters += 1
        for handler in _levels:
            handler.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        with _lock:
            _clusters -= 1
            if not _clusters:
                for handler, level in _levels.items():
                    handler.setLevel(level)
                _levels.clear()


@contextlib.contextmanager
def large_message(data: list[Any]) -> Iterator[None]:
    """Send this without Dask's warning of a large graph: its advice is for those who write graphs."""
    import dask

    size = sum(memoryview(each).nbytes for each in data)
    if size < _SMALL:
        yield
        return
    with _lock, dask.config.set({_THRESHOLD: 2 * size + _MARGIN}):
        yield


def leave(client: Any, seconds: float) -> None:
    """Close a client of ours. One that tries to reach a lost scheduler says of that no more than we have said."""
    log = logging.getLogger("distributed.client")
    log.addFilter(_is_news)
    try:
        with contextlib.suppress(Exception):
            client.close(timeout=seconds)
    finally:
        log.removeFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """Not that an attempt was broken off, which closing does."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
