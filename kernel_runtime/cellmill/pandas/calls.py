"""What workers do for the accessors, and how pandas puts the values together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

import numpy as np
import pandas as pd

from ..errors import InternalError, UsageError


class _Itself(Enum):
    """In the place of an object that pandas tells from others by ``is``, as a copy is another one."""

    NAN = "numpy.nan"


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
            value = next(self._values)
            return np.nan if value is _Itself.NAN else value
        except StopIteration:
            raise InternalError(
                "pandas made more calls here than the workers did: please report it"
            ) from None


def apply_rows(part: pd.DataFrame, call: Callable[[Any], Any], alone: bool) -> list[Any]:
    """Return the values of ``call`` for each row; ``alone``: there is one only."""
    found: list[Any] = []

    def note(row: Any) -> None:
        value = call(row)
        if not alone and _holds(value, row, 3):
            raise UsageError(
                "the function returns a row within another object. pandas has one object for all rows, so that each "
                "of them would become the last row: return row.copy() there"
            )
        # pandas fills one row with the values of the next
        found.append(value.copy() if value is row else value)

    part.apply(note, axis=1)
    return found


def _holds(value: Any, row: Any, depth: int) -> bool:
    """Whether a list, tuple or dict has the row in it, or within others so many deep."""
    kind = type(value)
    if not depth or (kind is not tuple and kind is not list and kind is not dict):
        return False
    return any(
        each is row or _holds(each, row, depth - 1) for each in (value.values() if kind is dict else value)
    )


def call_each(part: Any, call: Callable[[Any], Any], writeable: bool) -> list[Any]:
    """Return the values of ``call`` for each row of an array; ``writeable``: they are so for pandas' own calls."""
    for row in part if type(part) is list else [part]:
        if not writeable:
            row.flags.writeable = False
    return [call(row) for row in part]


def call_column(column: Any, call: Callable[[Any], Any]) -> list[Any]:
    """Return the value of ``call`` for a column."""
    return [call(column)]


def map_values(part: pd.Series, call: Callable[[Any], Any], na_action: Any) -> list[Any]:
    """Return the values of ``call`` for each value that pandas calls it with."""
    found: list[Any] = []

    def note(value: Any) -> Any:
        found.append(call(value))
        return found[-1]  # pandas looks at those of sparse values

    part.map(note, na_action)
    return [_Itself.NAN if value is np.nan else value for value in found]


def call_group(part: tuple[Any, Any], call: Callable[[Any], Any]) -> list[Any]:
    """Return the value of ``call`` for a group, which has its name as pandas gives it."""
    group, name = part
    object.__setattr__(group, "name", name)
    return [call(group)]
