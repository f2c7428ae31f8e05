"""What packs have returned beside their replies, in Ray's object store: held here until the kernel needs it no more."""

from __future__ import annotations

import functools
import threading
from typing import Any

from ...remote.ray_values import placed
from .wire import Wire


class KeptObjects:
    """Called by the bridge's main thread, and called back by Ray's."""

    def __init__(self, ray: Any, wire: Wire) -> None:
        self._ray = ray
        self._wire = wire
        self._lock = threading.Lock()
        self._held: dict[
            bytes, list[Any]
        ] = {}  # by Ray's name: the reference, how many values of it are needed

    def keep(self, reference: Any, mark: bytes, count: int, reply: memoryview) -> memoryview:
        """Hold an object of so many values; return the reply that says where they are."""
        worker = self._ray._private.worker.global_worker
        found, owner, status = worker.core_worker.serialize_object_ref(reference)
        name = found.binary()
        with self._lock:
            self._held[name] = [reference, count]
        return placed(reply, mark, (name, "", owner, status, None))

    def release(self, name: bytes) -> None:
        """One of its values is not needed any more."""
        with self._lock:
            held = self._held.get(name)
            if held is None:
                return
            held[1] -= 1
            if not held[1]:
                del self._held[name]

    def fetch(self, number: int, name: bytes, index: int) -> None:
        """Send a value to the kernel, as the answer with this number; nothing of it where it is lost."""
        with self._lock:
            reference = self._held.get(name, [None])[0]
        if reference is None:
            self._wire.send(("fetched", number))
        else:
            reference.future().add_done_callback(functools.partial(self._fetched, number, index))

    def _fetched(self, number: int, index: int, told: Any) -> None:
        found = [] if told.exception() is not None else [memoryview(part) for part in told.result()[index]]
        self._wire.send(("fetched", number), found)
