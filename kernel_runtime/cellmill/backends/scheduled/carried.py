"""Large objects that call after call carries as an argument: the same one each time, put into memory anew."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

LEAST_BYTES = 1 << 20
MOST_FUNCTIONS = 64


@dataclass(frozen=True, slots=True)
class Same:
    """An object, and since when every call of a function has carried it."""

    owner: weakref.ref[Any]  # of the memory
    argument: str  # "" where it is part of one
    bytes: int
    since: int  # on the monotonic clock, in ns


class CarriedObjects:
    """The last one of each function, by the function's number. Only objects whose memory travels apart, such as arrays,
    are looked at: that one which lives on is the same one is certain, since it is referred to weakly.
    """

    def __init__(self) -> None:
        self._same: dict[int, Same] = {}

    def of(self, function: int) -> Same | None:
        """Return what the latest calls of a function carried."""
        return self._same.get(function)

    def note(
        self,
        number: int,
        function: Callable[..., Any],
        arguments: tuple[tuple[Any, ...], Mapping[str, Any]],
        buffers: Iterable[memoryview],
    ) -> None:
        """Look at the buffers of a call that was packed."""
        largest = max(buffers, key=lambda buffer: buffer.nbytes)
        owner, known = _owner(largest.obj), self._same.get(number)
        if known is not None and known.owner() is owner and known.bytes == largest.nbytes:
            return
        self._same.pop(number, None)
        try:
            reference = weakref.ref(owner)
        except TypeError:  # the memory of bytes: nothing tells whether they are the same
            return
        if largest.nbytes < LEAST_BYTES:
            return
        if len(self._same) >= MOST_FUNCTIONS:
            self._same.clear()
        name = _argument(function, owner, *arguments)
        self._same[number] = Same(reference, name, largest.nbytes, time.monotonic_ns())


def _owner(thing: Any) -> Any:
    """Return the object whose memory an array shows a part of."""
    while (base := getattr(thing, "base", None)) is not None:
        thing = base
    return thing


def _argument(
    function: Callable[..., Any], owner: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if _owner(value) is owner:
            return str(name)
    return ""
