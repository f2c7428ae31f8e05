"""Iterators and files in memory as arguments: a task goes on with a copy, and the caller's own stays where it is."""

from __future__ import annotations

import io
import itertools
from typing import Any

from ..diagnostics import notices

_MADE: tuple[Any, ...] = (
    *([], (), {}, {}.values(), {}.items(), set(), range(0), range(1 << 70)),
    *("", "é", b"", bytearray()),
)
_BOTH_WAYS: tuple[Any, ...] = ([], {}, {}.values(), {}.items(), range(0))
ITERATORS = frozenset(
    (
        *(type(iter(each)) for each in _MADE),
        *(type(reversed(each)) for each in _BOTH_WAYS),
        *(zip, map, filter, enumerate, reversed),
        *(kind for kind in vars(itertools).values() if isinstance(kind, type)),
        *(io.StringIO, io.BytesIO),
    )
)
ONLY_LOOK = frozenset(
    ("getvalue", "getbuffer", "tell", "__length_hint__")
)  # methods that leave it where it is


def is_iterator(value: Any) -> bool:
    """Whether it is one of these. Only kinds that are plain types are looked up: a metaclass may have no hash."""
    kind = type(value)
    return type(kind) is type and kind in ITERATORS


def tell_of(kind: type, name: str, function: Any) -> None:
    """Warn that a call of the function of this name is given one of a kind; once for each function."""
    notices.give(
        ("iterator as an argument", name),
        f"{name} is given a {kind.__name__}. A task has a copy of it, which goes on from where it is at the call. The "
        "caller's own stays there, and the next call begins at the same place. Pass what is to be taken from it: "
        f"{'it.read() or it.readline()' if kind in (io.StringIO, io.BytesIO) else 'next(it) or list(it)'}.",
        function,
    )
