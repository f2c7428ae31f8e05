"""Pickling of bound methods that their object does not give under their function's name.

Plain pickle has a method as that name of its object. By it a worker would find another method where a base class's was
bound (`super().of`), or where a class has the function under another name.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

from .references import importable

PICKLED = b"\x8c\x07getattr\x94"  # what the pickle of a method has in it, by the plain pickler


def reduced(method: MethodType) -> tuple[Any, ...]:
    """Return the reduction that a bound method pickles to."""
    owner, function = method.__self__, method.__func__
    if not importable(owner if isinstance(owner, type) else type(owner)):
        return MethodType, (function, owner)  # a class that is still being made there has no names yet
    name = getattr(function, "__name__", "")
    try:
        found = getattr(owner, name)
    except Exception:  # of a property or `__getattr__`
        found = None
    if type(found) is MethodType and found.__self__ is owner and found.__func__ is function:
        return getattr, (owner, name)
    return MethodType, (function, owner)
