"""What workers do for the accessors, and how pandas puts the values together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from ..errors import InternalError


class Replay:
    """Values in the order of the calls that pandas makes: given back one by one, they become its result.

    How pandas shapes a result depends on all values together, so that results of parts cannot be joined.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = iter(values)

    def through(self, call: Callable[[Callable[..., Any]], Any]) -> Any:
        """Return what ``call`` makes of the values."""
        result = call(self._next)
        if next(self._values, self) is not self:
            raise InternalError("pandas made fewer calls here than the workers did: please report it")
        return result

    def _next(self, *_: Any) -> Any:
        try:
            return next(self._values)
        except StopIteration:
            raise InternalError(
                "pandas made more calls here than the workers did: please report it"
            ) from None


def apply_rows(
    part: pd.DataFrame, func: Callable[..., Any], args: Any, keywords: Any, how: tuple[bool]
) -> list[Any]:
    """Return the values of ``func`` for each row."""
    found: list[Any] = []

    def call(row: Any) -> None:
        value = func(row, *args, **keywords)
        # pandas fills one row with the values of the next
        found.append(value.copy() if value is row else value)

    part.apply(call, axis=1, raw=how[0])
    return found


def call_column(column: Any, func: Callable[..., Any], args: Any, keywords: Any, how: tuple[()]) -> list[Any]:
    """Return the value of ``func`` for a column: a series or, with ``raw``, an array."""
    return [func(column, *args, **keywords)]


def map_values(
    part: pd.Series, func: Callable[..., Any], args: Any, keywords: Any, how: tuple[Any]
) -> list[Any]:
    """Return the values of ``func`` for each value that pandas calls it with."""
    found: list[Any] = []

    def call(value: Any) -> Any:
        found.append(func(value, *args, **keywords))
        return found[-1]  # pandas looks at those of sparse values

    part.map(call, how[0])
    return found


def call_group(
    part: tuple[Any, Any], func: Callable[..., Any], args: Any, keywords: Any, how: tuple[()]
) -> list[Any]:
    """Return the value of ``func`` for a group, which has its name as pandas gives it."""
    group, name = part
    object.__setattr__(group, "name", name)
    return [func(group, *args, **keywords)]
