"""Requests to threads: the functions themselves are called, only their numbers go through the rings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..scheduled.requests import Answer, Requests


class ThreadRequests(Requests):
    """A thread answers at once, by `answer`."""

    def send(self, index: int, number: int, asked: Any) -> None:
        """The number alone."""
        self._hand_over(index, number, b"\0")

    def call(self, function: Callable[..., Any], workers: Iterable[int]) -> list[Any]:
        """Call ``function()`` in each of these threads; their values in this order."""
        return self._ask(function, workers)

    def answer(self, number: int) -> None:
        """Call the requested function in this thread."""
        answer = self._answers.get(number)
        if answer is None:
            return
        try:
            answer.take(True, answer.asked())
        except BaseException as error:
            answer.take(False, error)

    def _came(self, answer: Answer) -> bool:
        return answer.came.wait(0.05)

    def _error(self, value: Any) -> BaseException:
        assert isinstance(value, BaseException)
        return value
