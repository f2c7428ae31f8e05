"""Outcomes of the elements of a chunk or batch: values, and errors by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..by_value.first_calls import no_looks
from . import payload
from .exceptions import encode_error
from .function_code import check_batch


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
                    problem = payload.explain_result(name, value, error)
                    self.errors[self.first + i] = encode_error(problem, name)
                    values[i] = None
            return payload.encode((self.first, values, self.errors))


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
