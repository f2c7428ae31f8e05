"""Stop is KeyboardInterrupt at any instruction of the main thread. What must not be torn apart holds it back.

A block under `uninterrupted` is short: it settles results that have arrived, or hands elements to the scheduler. It
never waits.
"""

from __future__ import annotations

import os
import sys
import threading
from _signal import SIGINT, getsignal, signal  # type: ignore[import-not-found]  # C: faster than signal.signal
from collections.abc import Callable
from importlib import _bootstrap
from types import CodeType, FrameType
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


# Whatever has a module loaded runs below one of these.
_LOADERS = {getattr(_bootstrap, name).__code__ for name in ("_find_and_load", "_exec")}


def loads_module(frame: FrameType | None, outermost: CodeType | None = None) -> bool:
    """Whether a module is being loaded there; frames beyond that of ``outermost`` do not count.

    An interrupt waits until it is there: a package that is left half loaded is broken for all that the process does
    later (numpy cannot be loaded twice).
    """
    while frame is not None and frame.f_code is not outermost:
        if frame.f_code in _LOADERS:
            return True
        frame = frame.f_back
    return False


RETRY_SECONDS = 0.05


def acquired(condition: threading.Condition, acquires: Callable[[CodeType], bool]) -> threading.Condition:
    """Acquire a condition that only the functions that `acquires` is true of acquire, and release before they wait.

    Where no thread runs one of them, an interrupt has kept one from releasing it (`concurrent.futures.as_completed`
    acquires the conditions of all its futures in a loop): a new condition is acquired and returned instead.
    """
    while not condition.acquire(blocking=False):
        if _run_by_another(acquires):
            if condition.acquire(timeout=RETRY_SECONDS):
                break
        elif condition.acquire(blocking=False):  # released meanwhile
            break
        else:
            condition = threading.Condition()
    return condition


_WAITS = {threading.Event.wait.__code__, threading.Condition.wait.__code__, acquired.__code__}


def _run_by_another(acquires: Callable[[CodeType], bool]) -> bool:
    own = threading.get_ident()
    return any(_runs(frame, acquires) for ident, frame in sys._current_frames().items() if ident != own)


def _runs(frame: FrameType | None, acquires: Callable[[CodeType], bool]) -> bool:
    while frame is not None and frame.f_code not in _WAITS:
        if acquires(frame.f_code):
            return True
        frame = frame.f_back
    return False


def _in_child() -> None:
    global _main
    _main = threading.get_ident()


os.register_at_fork(after_in_child=_in_child)
