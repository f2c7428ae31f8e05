"""A child that user code forked: the pools that it holds copies of are its parent's, and it leaves them alone.

In the child other threads are gone, in the middle of anything: no lock that one of them may hold is waited for here.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...futures import Future
from .. import forked_backend
from .scheduler import with_gil
from .stream import Chunk

if TYPE_CHECKING:
    from .backend import ScheduledBackend

_backends: weakref.WeakSet[ScheduledBackend] = weakref.WeakSet()


def watch(backend: ScheduledBackend) -> None:
    """From now on forked children disown this backend."""
    _backends.add(backend)


def _disown() -> None:
    for backend in _backends:
        if backend.foreign:  # a child of such a child: all is closed, and the numbers are others' by now
            continue
        backend.foreign = backend.closed = True
        with_gil.csched_forked(backend.scheduler.handle)
        backend.scheduler.close_passed()
        backend.listener.disown()
        for future in _unfinished(backend):
            future.disown(forked_backend.error())


def _unfinished(backend: ScheduledBackend) -> Iterator[Future]:
    table: list[Any] = backend.resolver.table
    for entry in table:
        if isinstance(entry, Future):
            yield entry
        elif isinstance(entry, Chunk):
            yield from _futures(entry.keys)
    for stream in list(backend.sender.batches.values()):
        yield from _futures(stream.waiting.keys())


def _futures(keys: Any) -> Iterator[Future]:
    """Elements of a batch are futures; those of a map are numbers."""
    return (key for key in keys if isinstance(key, Future))


os.register_at_fork(after_in_child=_disown)
