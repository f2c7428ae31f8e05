"""A thread that hears of tasks that are over, and tells joblib.

The done-callbacks of futures have a thread of their own, woken by one that settles results, woken by a third. joblib
hands over the next call where it hears that one is over, and would wait for all three. This thread waits for results
itself; where joblib takes long, the others settle them meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures._base import LOGGER
from typing import Any

from ..diagnostics import unasked
from ..futures import OVER, Future

LOOK_SECONDS = 0.02  # a call that fails is over before all is told
Told = Callable[[Any], Any]


class Listener:
    """Tells of futures when they are over. ``listen`` settles what is over, or will be within a moment."""

    def __init__(self, listen: Callable[[], None]) -> None:
        self._listen = listen
        self._new: deque[tuple[Future, Told]] = deque()
        self._wanted = threading.Event()  # there may be something new, or no more comes
        self._told_all = threading.Event()  # since a thread began to wait
        self._closed = False
        self._thread: threading.Thread | None = None

    def add(self, future: Future, told: Told) -> None:
        """Have ``told(future)`` called; by one thread at a time, which may be this one's."""
        future._asks_to_be_seen = False  # where joblib has heard of one failure, it asks for no others
        failed = future._exception
        if failed is not None:  # already: it may have been noted
            unasked.forget(future, failed)
        self._new.append((future, told))
        if not self._wanted.is_set():
            self._wanted.set()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="cellmill-joblib", daemon=True)
            self._thread.start()

    def wait(self, over: Callable[[], bool], seconds: float | None) -> None:
        """Return when ``over()`` is true, which it becomes with what is told, or the time is."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            self._told_all.clear()
            left = LOOK_SECONDS if end is None else end - time.monotonic()
            if left <= 0 or over():
                return
            self._told_all.wait(left)

    def close(self) -> None:
        """End when all have been told of."""
        self._closed = True
        self._wanted.set()

    def _run(self) -> None:
        waiting: list[tuple[Future, Told]] = []
        while True:
            while self._new:
                waiting.append(self._new.popleft())
            if not waiting:
                if self._closed:
                    return
                self._told_all.set()
                self._wanted.clear()
                if not self._new and not self._closed:
                    self._wanted.wait()
                continue
            still: list[tuple[Future, Told]] = []
            over: list[tuple[Future, Told]] = []
            for each in waiting:
                (over if each[0]._state in OVER else still).append(each)
            waiting = still
            if not over:
                self._listen()
            for future, told in over:
                try:
                    told(future)
                except BaseException:  # the others are told all the same
                    LOGGER.exception("exception calling callback for %r", future)
            over.clear()
