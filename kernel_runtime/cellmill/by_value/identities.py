"""Objects that a call is given and that its function refers to as well, and that only their identity tells apart.

In a task both are copies, and two: `x is root`, `x in visited` and `names.get(x)` find nothing, where a plain call
does.
Within the arguments of one call, and within what a function refers to, objects stay the same.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from itertools import chain
from types import FunctionType
from typing import Any

from ..diagnostics import notices
from .module_reads import of_users
from .unsettled import first_of

_MOST_MEMBERS = 1000  # that are looked at
_CONTAINERS = (list, tuple, set, frozenset)
Captured = Mapping[int, Any]  # by id: they are kept
NONE: Captured = {}


@functools.lru_cache(maxsize=1024)
def told_by_identity(kind: type) -> bool:
    """Whether objects of a class of the user's are equal to none but themselves."""
    if not kind.__flags__ & 1 << 9 or issubclass(kind, type) or _equality(kind) is not _equality(object):
        return False
    return of_users(kind)


def _equality(kind: type) -> Any:
    """As its class has it: read from the class, that of a mock is another one each time."""
    return next(vars(each)["__eq__"] for each in kind.__mro__ if "__eq__" in vars(each))


def look(given: Iterable[Any], captured: Captured, name: str, function: Any = None) -> None:
    """Tell of an object among those ``given`` to a call of the function of this name, or in a container among them,
    that is one of those ``captured``.
    """
    for each in given:
        for part in chain((each,), members(each)):
            if id(part) in captured:
                _tell(part, name, function)
                return


def members(value: Any) -> tuple[Any, ...]:
    """The first members of a container."""
    kind = type(value)
    if kind is dict:
        return first_of(chain(value, value.values()), _MOST_MEMBERS)
    return first_of(value, _MOST_MEMBERS) if kind in _CONTAINERS else ()


def _tell(value: Any, name: str, function: Any) -> None:
    plain, kind = type(value) is FunctionType, type(value).__qualname__
    shown = value.__name__ if plain else f"an object of {kind}"
    or_so = "" if plain else f", or give {kind} an __eq__ and a __hash__ that tell its objects apart"
    notices.give(
        ("identity", name),
        f"{name} is given {shown}, which it refers to as well. In a task these are two: `is`, `in` and look-ups in a "
        "dict do not find that they are the same. If it compares them, give it what to find the object by, an index or "
        f"a key{or_so}.",
        function,
    )
