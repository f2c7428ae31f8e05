"""Messages between the kernel and its bridge: a small pickled head, and buffers as they are.

Sound for any number of senders; one thread receives. Lengths go first, so what is small is read into memory made once,
of which its buffers are views, and each large buffer into its own.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import socket
import struct
import threading
from collections.abc import Sequence
from typing import Any

from ...values.own_memory import LARGE, own_room

MOST_PIECES = 512  # of one system call; the system takes 1,024
_START = struct.Struct("<II")  # bytes of the head, number of buffers


class Wire:
    """One end of the connection."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._lock = threading.Lock()

    def send(self, head: tuple[Any, ...], buffers: Sequence[Any] = ()) -> bool:
        """Whether the other end was still there."""
        packed = pickle.dumps(head, protocol=5)
        views = [memoryview(each).cast("B") for each in buffers]
        sizes = struct.pack(f"<{len(views)}Q", *(view.nbytes for view in views))
        pieces = [memoryview(_START.pack(len(packed), len(views)) + sizes + packed)]
        pieces += [view for view in views if view.nbytes]
        try:
            with self._lock:
                self._write(pieces)
        except OSError:
            return False
        return True

    def _write(self, pieces: list[memoryview]) -> None:
        at = 0
        while at < len(pieces):
            sent = self.socket.sendmsg(pieces[at : at + MOST_PIECES])
            while at < len(pieces) and sent >= pieces[at].nbytes:
                sent -= pieces[at].nbytes
                at += 1
            if sent:
                pieces[at] = pieces[at][sent:]

    def receive(self) -> tuple[tuple[Any, ...], list[memoryview]] | None:
        """The next message; None when the other end is closed."""
        start = self._read(_START.size)
        if start is None:
            return None
        length, count = _START.unpack(start)
        sizes = self._read(8 * count)
        if sizes is None:
            return None
        views: list[memoryview] = []
        for large, group in itertools.groupby(
            (length, *struct.unpack(f"<{count}Q", sizes)), lambda size: bool(size >= LARGE)
        ):
            each = list(group)
            for together in [[size] for size in each] if large else [each]:
                body = self._read(sum(together))
                if body is None:
                    return None
                edges = itertools.accumulate(together, initial=0)
                views += [body[a:b] for a, b in itertools.pairwise(edges)]
        head: tuple[Any, ...] = pickle.loads(views[0])
        return head, views[1:]

    def _read(self, size: int) -> memoryview | None:
        data = own_room(size)
        at = 0
        while at < size:
            try:
                got = self.socket.recv_into(data[at:])
            except OSError:
                return None
            if not got:
                return None
            at += got
        return data

    def close(self) -> None:
        """Both ends see that it is over; a thread that receives wakes."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
