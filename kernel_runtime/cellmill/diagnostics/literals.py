"""Values as Python source that evaluates to equal values of the same types, where there is such source.

Only kinds whose source needs no import are written. A value of any other kind has none: no source is better than one
that gives another value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST_DEPTH = 20  # of containers in containers; the interpreter refuses source that is nested much deeper
_LONGEST_DECIMAL = 4000  # bits of an integer: longer ones are in base 16, which has no limit of digits
_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
}
_EMPTY: dict[type, str] = {set: "set()", frozenset: "frozenset()"}


class _NoSource(Exception):
    pass


def literal(value: Any, *, mutable: bool = True) -> str | None:
    """Return source of a value; None where there is none. ``mutable=False``: nor is there of what can be changed."""
    try:
        return _source(value, mutable, 0)
    except _NoSource:
        return None


def call_literal(
    args: tuple[Any, ...], kwargs: Mapping[str, Any], *, mutable: bool = True
) -> tuple[str, str] | None:
    """Return the arguments of a call as source: a tuple, and a dict ("" for none); None where there is no source."""
    positional = literal(tuple(args), mutable=mutable)
    parts = {name: literal(value, mutable=mutable) for name, value in kwargs.items()}
    if positional is None or None in parts.values():
        return None
    named = ", ".join(f"{name!r}: {source}" for name, source in parts.items())
    return positional, f"{{{named}}}" if named else ""


def _source(value: Any, mutable: bool, depth: int) -> str:
    kind = type(value)
    if value is None or value is Ellipsis or kind in (bool, str, bytes):
        return repr(value)
    if kind is int:
        return repr(value) if value.bit_length() < _LONGEST_DECIMAL else hex(value)
    if kind is float:
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if kind is complex:
        return f"complex({_source(value.real, mutable, depth)}, {_source(value.imag, mutable, depth)})"
    if kind is bytearray and mutable:
        return f"bytearray({bytes(value)!r})"
    if depth >= MOST_DEPTH:
        raise _NoSource
    if kind in (range, slice):
        parts = (value.start, value.stop, value.step)
        return f"{kind.__name__}({', '.join(_source(part, mutable, depth + 1) for part in parts)})"
    if kind in (tuple, frozenset) or (mutable and kind in (list, set)):
        if not value and kind in _EMPTY:
            return _EMPTY[kind]
        opening, closing = _BRACKETS[kind]
        inner = ", ".join(_source(part, mutable, depth + 1) for part in value)
        return f"{opening}{inner}{',' if kind is tuple and len(value) == 1 else ''}{closing}"
    if kind is dict and mutable:
        entries = (
            f"{_source(key, mutable, depth + 1)}: {_source(part, mutable, depth + 1)}"
            for key, part in value.items()
        )
        return f"{{{', '.join(entries)}}}"
    raise _NoSource
