"""Memory for bytes that belong to one holder: a copy, or what comes from elsewhere.

Memory that is new to a process costs more than a copy into it: its pages have to be found and zeroed, and a virtual
machine that has given them back has to get them from its host. Large memory serves the next holder, for a second.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import queue
import threading
import time
import weakref
from collections import deque
from typing import Any

LARGE = 512 << 10  # bytes
SPARES = 2  # holders that have gone whose memory is kept
SPARE_SECONDS = 1.0
SLACK = 1.25  # times what is needed: a larger spare is of no use


def own_room(size: int) -> memoryview:
    """Return memory of so many bytes, with anything in it: in large pages where there are many."""
    return memoryview(bytearray(size)) if size < LARGE else _spares.room(size)


def own_copy(view: memoryview) -> memoryview | bytearray:
    """Copy bytes into memory of its own."""
    if view.nbytes < LARGE:
        return bytearray(view)
    own = _spares.room(view.nbytes)
    _spares.copied[threading.get_ident()] = True
    own[:] = view
    return own


def task_begins() -> None:
    """A task begins in this thread. If nothing large was copied for it, the memory of such copies for tasks before is
    let go: it may need as much for what it makes.
    """
    if _spares.copied:
        _spares.task_begins(threading.get_ident())


class _Spares:
    """Large memory. It comes back when nothing refers to it any more; a thread drops what is not used again."""

    def __init__(self) -> None:
        self._free: deque[tuple[float, int, mmap.mmap]] = deque()  # when it came back, and who had taken it
        self.copied: dict[int, bool] = {}  # threads that have, and whether since their last task began
        self._back: queue.SimpleQueue[None] = queue.SimpleQueue()  # an entry for each that was given back
        self._lock = threading.Lock()
        self._out = 0  # holders of which the thread has not seen the end
        self._thread: threading.Thread | None = None

    def room(self, size: int) -> memoryview:
        """Return memory that nothing else refers to."""
        made = self._taken(size)
        with self._lock:
            self._out += 1
            if self._thread is None:
                thread = threading.Thread(target=self._drop, name="cellmill-memory", daemon=True)
                thread.start()  # an interrupt in here leaves none that never runs
                self._thread = thread
        held: Any = (ctypes.c_ubyte * size).from_buffer(made)
        weakref.finalize(held, self._give_back, threading.get_ident(), made).atexit = False
        return memoryview(held).cast("B")

    def _taken(self, size: int) -> mmap.mmap:
        """Return memory of at least so many bytes."""
        while self._free:
            with contextlib.suppress(IndexError):  # another thread was first
                *_, made = self._free.popleft()
                if size <= len(made) <= SLACK * size:
                    return made
        made = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError, AttributeError):  # a system that has only small ones
            made.madvise(mmap.MADV_HUGEPAGE)
        return made

    def task_begins(self, thread: int) -> None:
        """See above."""
        copied = self.copied.pop(thread, None)
        if copied:
            self.copied[thread] = False
        elif copied is not None:
            for _ in range(len(self._free)):
                with contextlib.suppress(IndexError):  # another thread was first
                    spare = self._free.popleft()
                    if spare[1] != thread:
                        self._free.append(spare)

    def _give_back(self, thread: int, made: mmap.mmap) -> None:
        """From any thread, within anything: what drops the last reference may hold any lock."""
        if len(self._free) < SPARES:
            self._free.append((time.monotonic(), thread, made))
        self._back.put(None)

    def _drop(self) -> None:
        """Drop what was not used again, until there is nothing left."""
        while True:
            self._back.get()
            with self._lock:
                self._out -= 1
            while self._free:
                with contextlib.suppress(IndexError):
                    wait = self._free[0][0] + SPARE_SECONDS - time.monotonic()
                    if wait > 0:
                        time.sleep(wait)
                    elif self._free:
                        self._free.popleft()
            with self._lock:
                if not self._out:
                    self.copied.clear()
                    self._thread = None
                    return


_spares = _Spares()


def _begin_anew() -> None:
    """In a forked child, which lacks the thread."""
    global _spares
    _spares = _Spares()


os.register_at_fork(after_in_child=_begin_anew)
