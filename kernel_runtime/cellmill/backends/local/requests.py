"""Requests to workers beside their tasks, and what they answer."""

from __future__ import annotations

import itertools
import pickle
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ... import payload
from ...errors import BackendError, UsageError
from ...functions import encode_function
from ...raised import encode_error, load_error
from ...worker import CALL
from ..scheduled import outcomes
from ..scheduled.scheduler import Full, check, held

if TYPE_CHECKING:
    from .backend import LocalBackend

REPLY_SECONDS = 60.0


class Requests:
    """Sends them through the rings of tasks; from any thread."""

    def __init__(self, backend: LocalBackend) -> None:
        self._backend = backend
        self._numbers = itertools.count(1)
        self._replies: dict[int, tuple[threading.Event, list[Any]]] = {}

    def send(self, index: int, number: int, body: Any) -> None:
        """To one worker, if it is still there; the answer will carry the number, 0: there is none."""
        data = pickle.dumps(body)
        while True:
            try:
                rc = held.csched_control(self._backend.scheduler.handle, index, number, data, len(data))
                if rc == held.CSCHED_EINVAL:  # that worker has just gone
                    return
                check(rc, "a request to a worker")
                return
            except Full:
                self._backend.scheduler.wait(5)

    def call(self, function: Callable[..., Any], workers: Iterable[int]) -> list[Any]:
        """Call ``function()`` on each of these workers; their values in this order."""
        body = encode_function(function)
        if body.buffers or body.size > payload.INLINE_MAX:
            raise UsageError(
                "a function for run_on_workers must be small (8 kB pickled): share data by a file"
            )
        waiting = []
        for index in workers:
            number = next(self._numbers)
            answer: tuple[threading.Event, list[Any]] = (threading.Event(), [])
            self._replies[number] = answer
            self.send(index, number, (CALL, body.data))
            waiting.append((index, number, answer))
        try:
            return [self._value(index, *answer) for index, _, answer in waiting]
        finally:
            for _, number, _ in waiting:
                del self._replies[number]

    def _value(self, index: int, event: threading.Event, replies: list[Any]) -> Any:
        backend = self._backend
        deadline = time.monotonic() + REPLY_SECONDS
        while not event.is_set():
            backend.scheduler.wait(10)  # nobody else drains while no task is outstanding
            backend.resolver.resolve()
            if backend.broken is not None:
                raise BackendError(f"this executor is broken: {backend.broken}") from backend.broken
            if index not in backend.pool.members or time.monotonic() > deadline:
                raise BackendError(f"worker {index} did not answer within {REPLY_SECONDS:.0f} s")
        good, value = replies[0]
        if not good:
            raise load_error(value)
        return value

    def reply(self, number: int, data: bytes) -> None:
        """What a worker answered."""
        answer = self._replies.get(number)
        if answer is not None:
            value, problem = outcomes.load_value(memoryview(data))
            answer[1].append((False, encode_error(problem, "run_on_workers")) if problem else value)
            answer[0].set()
