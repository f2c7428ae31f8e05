"""Samples what a worker executes, while the kernel wants it: in a thread of its own, which sleeps in between."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from typing import Any

from ..backends.scheduled.scheduler import ffi, with_gil
from ..telemetry.call_tree import CallTree, user_part
from .protocol import PROFILE_EPOCH, PROFILE_RATE

TELL_MS = 300  # between two messages: what a worker that is killed loses


class Profiler:
    """``base`` is the code of the loop that runs tasks, in the main thread; ``send`` takes messages for the kernel."""

    def __init__(self, handle: Any, base: Any, send: Callable[[bytes], None]) -> None:
        self._handle = handle
        self._base = base
        self._send = send
        self._main = threading.get_ident()
        self._samples: list[tuple[int, int, list[Any]]] = []  # C adds function, nanoseconds and stack
        self._tree = CallTree()
        self._epoch = 0
        self._telling = threading.Lock()  # the main thread tells the rest when the worker ends
        self._sampler = self._run  # borrowed by C
        os.register_at_fork(after_in_child=self._leave)
        with_gil.csched_worker_sampler(handle, ffi.cast("void *", id(self._sampler)))

    def _run(self) -> None:
        """Sample until no more is wanted. C calls it in a thread that is none of `threading`'s."""
        samples = ffi.cast("void *", id(self._samples))
        while wanted := int(with_gil.csched_worker_profile_wanted(self._handle)):
            if wanted >> PROFILE_EPOCH != self._epoch:
                self._begin(wanted >> PROFILE_EPOCH)
            rate = wanted & PROFILE_RATE
            with_gil.csched_worker_take_samples(self._handle, samples, self._main, rate, TELL_MS)
            self.tell()
        self.tell(last=True)
        self._epoch = 0

    def _leave(self) -> None:
        """A child that user code forked has no sampler."""
        self._telling, self._epoch = threading.Lock(), 0

    def _begin(self, epoch: int) -> None:
        with self._telling:
            self._samples.clear()
            self._tree, self._epoch = CallTree(), epoch
        self.tell(hello=True)

    def _fold(self) -> None:
        count = len(self._samples)  # the main thread may add one at any moment
        taken, self._samples[:count] = self._samples[:count], []
        for function, ns, stack in taken:
            frames = user_part(stack, self._base)
            if frames is not None:
                self._tree.add(function, frames, ns)

    def tell(self, hello: bool = False, last: bool = False) -> None:
        """Send what came since the last message, if there is anything."""
        with self._telling:
            if not self._epoch:
                return
            self._fold()
            first, new, times = self._tree.news()
            if new or times or hello or last:
                self._send(pickle.dumps((self._epoch, last, first, new, times), pickle.HIGHEST_PROTOCOL))
