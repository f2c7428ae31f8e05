"""Outcomes of the elements of a chunk or batch: values, and errors by element."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from ..by_value.first_calls import no_looks
from ..errors import PayloadError
from . import payload
from .exceptions import encode_error
from .function_code import check_batch
from .unpicklable import rest


class Outcomes:
    """Values and errors of the elements from ``first`` on that have not been sent yet."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.values: Any = []
        self.errors: dict[int, Any] = {}  # as the worker encodes them

    def encode(self, name: str) -> payload.Encoded:
        """Encode the outcomes for the kernel; a value that cannot be pickled becomes an error."""
        try:
            return payload.encode((self.first, self.values, self.errors))
        except BaseException:
            values = list(self.values)
            for i, value in enumerate(values):
                try:
                    payload.encode(value)
                except BaseException as error:
                    values[i] = self._rest(i, name, value, error)
            return payload.encode((self.first, values, self.errors))

    def _rest(self, place: int, name: str, value: Any, error: BaseException) -> Any:
        try:
            return rest(name, value, error)
        except PayloadError as problem:
            self.errors[self.first + place] = encode_error(problem.with_traceback(None), name)
            return None


class Teller(Protocol):
    """A worker, as it tells the kernel of elements that are over while their chunk runs."""

    def encode_outcomes(self, outcomes: Outcomes, name: str) -> Any: ...

    def end_output(self, native: bool = False) -> None: ...

    def show_output(self) -> None: ...

    def partial(self, end: int, failures: int, encoded: Any) -> None: ...


class Unsent:
    """Outcomes of a chunk's elements. Those that are over are sent while a later one runs for long: by the main thread
    between elements, and by another one while the main thread is in user code.

    ``values`` has one for each element that is over, None in the place of those sent. The main thread adds an error
    before its place in ``values``.
    """

    def __init__(self, worker: Teller, name: str) -> None:
        self.values: list[Any] = []
        self.errors: dict[int, Any] = {}
        self._worker = worker
        self._name = name
        self._sent = 0
        self.refused = 0  # values that were sent as errors, since they cannot be pickled
        self._over = False
        self._lock = threading.Lock()

    def send(self, *, aside: bool = False) -> None:
        """Send what there is, so that it is neither lost nor late; ``aside``: while the main thread goes on."""
        worker = self._worker
        with self._lock:
            end = len(self.values)
            if self._over or end == self._sent:
                return
            outcomes = self._outcomes(end)
            raised = len(outcomes.errors)
            encoded = worker.encode_outcomes(outcomes, self._name)
            self.refused += len(outcomes.errors) - raised
            if aside:
                worker.show_output()
            else:
                worker.end_output(native=True)
            worker.partial(end, sum(i < end for i in self.errors.copy()) + self.refused, encoded)
            self.values[self._sent : end] = [None] * (end - self._sent)
            self._sent = end

    def close(self) -> Outcomes:
        """Return what was not sent; nothing is sent from now on."""
        with self._lock:
            self._over = True
            return self._outcomes(len(self.values))

    def _outcomes(self, end: int) -> Outcomes:
        outcomes = Outcomes(self._sent)
        outcomes.values = self.values[self._sent : end] if self._sent or not self._over else self.values
        if self.errors:
            outcomes.errors = {i: error for i, error in self.errors.copy().items() if self._sent <= i < end}
        return outcomes


def run_batch(
    function: Any,
    name: str,
    items: list[Any],
    first: int,
    errors: dict[int, Any],
    encode: Callable[[BaseException, str], Any] = encode_error,
) -> Any:
    """Call the function with the whole list; a list that raises is split until the culprit is alone."""
    try:
        with no_looks():
            return check_batch(name, function(list(items)), len(items))  # it may change its list
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if len(items) == 1:
            errors[first] = encode(error, name)
            return [None]
    half = len(items) // 2
    before = run_batch(function, name, items[:half], first, errors, encode)
    after = run_batch(function, name, items[half:], first + half, errors, encode)
    return [*before, *after]
