"""Samples the tasks of one caller in this process, while it wants that: in a thread that sleeps in between.

Nothing is sent from here: the caller asks, now and then, for what is new. One that does not ask any more is gone.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NamedTuple

from ....telemetry.call_tree import CallTree, NewNode, Times, user_part
from .measure import process
from .runner import RemoteRunner

LEASE_SECONDS = 30.0  # without a question
MOST_FRAMES = 1000  # of a stack; deeper ones are read from their innermost frame on
MOST_SHARE = 0.01  # of processor time for the samples of all threads together


class Samples(NamedTuple):
    """What is new since the last question."""

    process: tuple[bytes, int]  # whose samples they are
    epoch: int  # of the profile that they belong to; 0: none was wanted
    first: int  # number of the first new node
    new: list[NewNode]
    times: Times


class RemoteProfiler:
    """Of one caller. ``runners`` returns those of its lanes here."""

    def __init__(self, runners: Callable[[], Sequence[RemoteRunner]]) -> None:
        self._runners = runners
        self._lock = threading.Lock()
        self._tree = CallTree()
        self._epoch = 0
        self._until = 0.0
        self._ended = threading.Event()

    def ask(self, epoch: int, rate: int) -> Samples:
        """Return what is new, and sample for this profile from now on; 0: no more."""
        with self._lock:
            before = self._epoch
            found = Samples(process(), before, *self._tree.news())
            if epoch == before:
                self._until = time.monotonic() + LEASE_SECONDS
            else:
                self._ended.set()
                self._epoch, self._tree = epoch, CallTree()
                if epoch:
                    self._begin(1 / rate)
        return found

    def leave(self) -> None:
        """The caller has gone."""
        self.ask(0, 1)

    def _begin(self, pause: float) -> None:
        self._ended, self._until = threading.Event(), time.monotonic() + LEASE_SECONDS
        threading.Thread(
            target=self._run, args=(self._ended, pause), name="cellmill-profile", daemon=True
        ).start()

    def _run(self, ended: threading.Event, least: float) -> None:
        before, pause = time.monotonic(), least
        while not ended.wait(pause):
            began, now = time.thread_time(), time.monotonic()
            with self._lock:
                if ended.is_set():
                    return
                if now > self._until:
                    self._epoch, self._tree = 0, CallTree()
                    return
                self._sample(int((now - before) * 1e9))
            before = now
            pause = max(least, (time.thread_time() - began) / MOST_SHARE)

    def _sample(self, ns: int) -> None:
        frames = _current_frames()
        for runner in self._runners():
            function, top = runner.function, frames.get(runner.thread)
            if not runner.ticket or top is None:
                continue
            part = user_part(_stack(top), RemoteRunner.calls)
            if part is not None:
                self._tree.add(function, part, ns)


def _current_frames() -> dict[int, FrameType]:
    """Return the frames of all threads, without a collection meanwhile: before Python 3.12 one that lets another thread
    run may end in a deadlock with that.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if collects:
            gc.enable()


def _stack(frame: FrameType | None) -> list[Any]:
    """Return code and line of each frame, the innermost first."""
    found: list[Any] = []
    while frame is not None and len(found) < 2 * MOST_FRAMES:
        found += (frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return found
