"""Large objects that call after call carries as an argument: the same one each time, put into memory anew."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...serialization.pieces import Piece, memory_owner, source_of

MOST_FUNCTIONS = 64


@dataclass(frozen=True, slots=True)
class Same:
    """An object, and since when every call of a function has carried it."""

    owner: weakref.ref[Any]  # of the memory
    argument: str  # "" where it is part of one, or came with elements of a map
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
        source, size = source_of(largest.obj, largest.nbytes), largest.nbytes
        self._keep(number, source, size, lambda owner: _argument(function, owner, *arguments))

    def note_element(self, number: int, element: Any) -> None:
        """Look at an element of a map, packed, that is sent by itself."""
        parts = element if type(element) is tuple else (element,)
        copies = [copy for part in parts if isinstance(part, Piece) for copy in part.copies]
        if not copies:
            self._same.pop(number, None)
            return
        largest = max(copies, key=lambda copy: len(copy.data))
        self._keep(number, largest.source, len(largest.data), lambda _: "")

    def _keep(
        self, number: int, source: weakref.ref[Any] | None, size: int, name: Callable[[object], str]
    ) -> None:
        owner, known = None if source is None else source(), self._same.get(number)
        if owner is not None and known is not None and known.owner() is owner and known.bytes == size:
            if not known.argument:  # an element of a map does not tell it
                self._same[number] = replace(known, argument=name(owner))
            return
        self._same.pop(number, None)
        if source is None or owner is None:
            return
        if len(self._same) >= MOST_FUNCTIONS:
            self._same.clear()
        self._same[number] = Same(source, name(owner), size, time.monotonic_ns())


def _argument(
    function: Callable[..., Any], owner: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> str:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    names = code.co_varnames[: code.co_argcount] if code is not None else ()
    for name, value in [*zip(names, args, strict=False), *kwargs.items()]:
        if memory_owner(value) is owner:
            return str(name)
    return ""
