"""Stop is KeyboardInterrupt at any instruction of the main thread. What must not be torn apart holds it back.

A block under `uninterrupted` is short: it settles results that have arrived, or hands elements to the scheduler. It
never waits.
"""

from __future__ import annotations

import os
import threading
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]  # C: faster than signal.signal
from collections.abc import Callable
from types import FrameType
from typing import Any

_main = threading.main_thread().ident


class uninterrupted:
    """Defer SIGINT in the main thread until the block ends; its handler is called then."""

    __slots__ = ("_came", "_handler")

    def __enter__(self) -> None:
        self._came = False
        self._handler: Callable[[int, FrameType | None], Any] | None = None
        if threading.get_ident() == _main:
            handler = getsignal(SIGINT)
            if callable(handler) and not isinstance(getattr(handler, "__self__", None), uninterrupted):
                self._handler = handler
                # the last thing: an interrupt before it has nothing to undo, one after it waits
                signal(SIGINT, self._hold)

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal(SIGINT, self._handler)
            if self._came:
                self._handler(SIGINT, None)

    def _hold(self, number: int, frame: FrameType | None) -> None:
        self._came = True


def interrupt_pending() -> bool:
    """Whether the block that this thread is in holds back a SIGINT: what it waits for is not wanted any more."""
    holder = getattr(getsignal(SIGINT), "__self__", None)
    return isinstance(holder, uninterrupted) and holder._came and threading.get_ident() == _main


def _in_child() -> None:
    global _main
    _main = threading.get_ident()


os.register_at_fork(after_in_child=_in_child)
