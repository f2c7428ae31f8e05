"""A child that user code forked: the pools that it holds copies of are its parent's, and it leaves them alone.

In the child other threads are gone, in the middle of anything: no lock that one of them may hold is waited for here.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from typing import Any, Protocol

from ...futures import Future
from .. import forked_backend
from .chunks import Chunk
from .gate import Gate
from .protocols import OutputListener
from .scheduler import Scheduler, with_gil
from .slots import SlotTable
from .stream import Stream


class Forked(Protocol):
    """A backend that a forked child has a copy of."""

    scheduler: Scheduler
    gate: Gate
    slots: SlotTable

    @property
    def listener(self) -> OutputListener: ...

    def batch_streams(self) -> list[Stream]: ...


_backends: weakref.WeakSet[Forked] = weakref.WeakSet()


def watch(backend: Forked) -> None:
    """Have forked children disown this backend from now on."""
    _backends.add(backend)


def _disown() -> None:
    for backend in _backends:
        gate = backend.gate
        if gate.foreign:  # a child of such a child: all is closed, and the numbers are others' by now
            continue
        gate.foreign = gate.closed = True
        with_gil.csched_forked(backend.scheduler.handle)
        backend.scheduler.close_passed()
        backend.listener.disown()
        for future in _unfinished(backend):
            future.disown(forked_backend.error())


def _unfinished(backend: Forked) -> Iterator[Future]:
    for entry in backend.slots.entries:
        if isinstance(entry, Future):
            yield entry
        elif isinstance(entry, Chunk):
            yield from _futures(entry.keys)
    for stream in backend.batch_streams():
        yield from _futures([*stream.waiting.keys(), *stream.parked.keys()])


def _futures(keys: Any) -> Iterator[Future]:
    """Elements of a batch are futures; those of a map are numbers."""
    return (key for key in keys if isinstance(key, Future))


os.register_at_fork(after_in_child=_disown)
