"""Requests to workers beside their tasks, and what they answer."""

from __future__ import annotations

import itertools
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...by_value.capture import walked
from ...errors import BackendError, UsageError
from ...serialization import payload
from ...serialization.exceptions import encode_error, load_error
from ...serialization.function_code import encode_function
from ...worker_process.protocol import CALL
from . import outcomes
from .gate import Gate
from .scheduler import Full, Scheduler, check, with_gil

REPLY_SECONDS = 60.0


class Answer:
    """Answer of one worker to a request."""

    __slots__ = ("asked", "came", "good", "member", "value")

    def __init__(self, asked: Any, member: Any) -> None:
        self.asked = asked
        self.member = member  # of the pool, that was asked
        self.came = threading.Event()
        self.good = False  # the value is one, and no error
        self.value: Any = None

    def take(self, good: bool, value: Any) -> None:
        self.good, self.value = good, value
        self.came.set()


class Requests:
    """Sends them through the rings of tasks; from any thread."""

    def __init__(
        self,
        scheduler: Scheduler,
        gate: Gate,
        resolve: Callable[[], object],
        members: Mapping[int, Any],
    ) -> None:
        """``members``: the workers of the pool, by index, as they come and go."""
        self._scheduler = scheduler
        self._gate = gate
        self._resolve = resolve
        self._members = members
        self._numbers = itertools.count(1)
        self._answers: dict[int, Answer] = {}

    def send(self, index: int, number: int, asked: Any) -> None:
        """Send a request to one worker, if it still exists. Its answer carries ``number``; 0: none is wanted."""
        self._hand_over(index, number, pickle.dumps(asked))

    def _hand_over(self, index: int, number: int, data: bytes) -> None:
        while True:
            try:
                rc = with_gil.csched_control(self._scheduler.handle, index, number, data, len(data))
                if rc != with_gil.CSCHED_EINVAL:  # else that worker has just gone
                    check(rc, "a request to a worker")
                return
            except Full:
                self._scheduler.wait(5)

    def tell_latest(self, index: int, topic: int, asked: Any) -> None:
        """Send a request without an answer, which replaces earlier ones of its topic that wait for room: a worker may
        be at one task for hours. It precedes the worker's next task.
        """
        data = pickle.dumps(asked)
        rc = with_gil.csched_control_latest(self._scheduler.handle, index, topic, data, len(data))
        if rc != with_gil.CSCHED_EINVAL:  # else that worker has just gone
            check(rc, "a request to a worker")

    def call(self, function: Callable[..., Any], workers: Iterable[int]) -> list[Any]:
        """Call ``function()`` on each of these workers, which are asked for once it is known that the function can be
        sent; their values in this order.
        """
        body = encode_function(function, walk=walked(function))
        if body.buffers or body.size > payload.INLINE_MAX:
            raise UsageError(
                "a function for run_on_workers must be small (8 kB pickled): share data by a file"
            )
        return self._ask((CALL, body.data), workers)

    def _ask(self, asked: Any, workers: Iterable[int]) -> list[Any]:
        waiting = []
        for index in workers:
            number, answer = next(self._numbers), Answer(asked, self._members.get(index))
            self._answers[number] = answer
            self.send(index, number, asked)
            waiting.append((index, number, answer))
        try:
            return [self._value(index, answer) for index, _, answer in waiting]
        finally:
            for _, number, _ in waiting:
                del self._answers[number]

    def _value(self, index: int, answer: Answer) -> Any:
        gate = self._gate
        deadline = time.monotonic() + REPLY_SECONDS
        while not self._came(answer):
            if gate.broken is not None:
                raise BackendError(f"this executor is broken: {gate.broken}") from gate.broken
            # another one may have its number by now
            if self._members.get(index) is not answer.member and not self._came(answer):
                raise BackendError(f"worker {index} ended before it answered; ask again")
            if time.monotonic() > deadline:
                raise BackendError(f"worker {index} did not answer within {REPLY_SECONDS:.0f} s")
        if not answer.good:
            raise self._error(answer.value)
        return answer.value

    def _came(self, answer: Answer) -> bool:
        """Whether it is there, after a look for it."""
        if not answer.came.is_set():
            self._scheduler.wait(10)  # no other thread drains while no task is outstanding
            self._resolve()
        return answer.came.is_set()

    def _error(self, value: Any) -> BaseException:
        return load_error(value)

    def refuse(self, number: int, problem: BaseException) -> None:
        """Answer a request with an error: it did not reach its worker."""
        answer = self._answers.get(number)
        if answer is not None:
            answer.take(False, encode_error(problem, "run_on_workers"))

    def reply(self, number: int, data: bytes) -> None:
        """Deliver a worker's answer."""
        answer = self._answers.get(number)
        if answer is not None:
            value, problem = outcomes.load_value(memoryview(data), payload.decode_own)
            answer.take(*((False, encode_error(problem, "run_on_workers")) if problem else value))
