"""Futures among the elements of maps: what is sent is the value as it was when the element was taken, or as its task
returned it later, whatever is done with it in between.

A map sends its elements some at a time. Until then whoever asks for the value may change it in place. So it is packed
before it is given for the first time (`Future.result`), or at once where it was given before; most never are.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..errors import PayloadError
from ..futures import FINISHED, Future
from . import payload
from .fixed import FIXED
from .pieces import Piece, Refused


class Awaited:
    """The value of one future, packed for the elements that wait before it is given to others."""

    __slots__ = ("__weakref__", "_pack", "kept", "outside")

    def __init__(self, pack: Callable[[Any], Any]) -> None:
        """``pack``: packs a value as an element, and returns it as it is if it cannot be changed."""
        self._pack = pack
        self.kept: Any = None  # None: the future has it, as it was
        self.outside: Any = None  # what finds it, where it is not in this process

    def keep(self, value: Any) -> None:
        """Pack a value, which may be changed from now on."""
        if self.kept is not None:
            return
        packed = self._pack(value)
        # what cannot be packed raises where it is sent, with its call
        self.kept = None if packed is value or type(packed) is Refused else packed

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        if type(self.kept) is Piece:
            return len(self.kept.data) + sum(len(copy.data) for copy in self.kept.copies)
        return 0 if self.kept is None else len(self.kept)


class ElementInput:
    """Stands for a future in one element of a map."""

    __slots__ = ("awaited", "elements", "first", "future")

    def __init__(self, future: Future, awaited: Awaited) -> None:
        self.future = future
        self.awaited = awaited
        self.elements = 1  # of the same map that have it
        self.first = self

    def again(self) -> ElementInput:
        """Return what stands for it in another element of the same map."""
        made = ElementInput(self.future, self.awaited)
        made.first = self
        self.elements += 1
        return made

    @property
    def alone(self) -> bool:
        """Whether no other element of the map has it, as far as is known."""
        return self.first.elements == 1

    def kept(self) -> tuple[Any, tuple[Any, ...]] | None:
        """Return what unpickles to the value for this element; None where the future has it as it was. A large buffer
        that several elements have is carried once, read-only.
        """
        kept = self.awaited.kept
        if kept is None:
            return None
        if type(kept) is Piece:
            kept = kept.alone() if self.alone else kept.again()
        reduced: tuple[Any, tuple[Any, ...]] = kept.__reduce__()
        return reduced

    def reduced(self) -> tuple[Any, tuple[Any, ...]]:
        """Return the same wherever the value is in this process. Raises `PayloadError`."""
        kept = self.kept()
        if kept is None and self.awaited.outside is not None:
            raise PayloadError("the value is not in this process")
        return (payload.same, (self.future._result,)) if kept is None else kept

    def __reduce__(self) -> Any:
        return payload.reduce_future(self)

    def __cellmill_shown__(self) -> Any:
        """Return what people see in its place."""
        return self.future

    def __repr__(self) -> str:
        return repr(self.future)


def input_of(future: Future, pack: Callable[[Any], Any]) -> Future | ElementInput:
    """Return what stands for a future in an element; the future itself where its value cannot be changed."""
    if future._state == FINISHED and (future._exception is not None or type(future._result) in FIXED):
        return future
    made = Awaited(pack)
    given = future.__dict__.setdefault("_given", weakref.ref(made))
    if given is not True:
        known = given()
        if known is None:  # the map that it was made for is over
            future._given = weakref.ref(made)
        return ElementInput(future, made if known is None else known)
    future.keep(made)
    return ElementInput(future, made)
