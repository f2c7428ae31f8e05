"""Elements of maps, packed when they are taken: what is sent is what the element was then.

An element that cannot be changed (a number, text, a tuple of those) is kept as it is. Any other is pickled at once,
into a `Piece`: its bytes, and copies of its large buffers. Chunks carry pieces without looking into them, as often as
they are sent; where a chunk is unpickled, the elements themselves come out. Futures, shared objects and classes stay
references: they are looked at when the chunk is packed.
"""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable
from typing import Any

from ..errors import PayloadError
from . import payload
from .piece_loading import load_bares, load_piece
from .preview import preview_piece

SOURCE_MIN = 1 << 20  # bytes of a buffer of which is remembered whose it was


def memory_owner(thing: Any) -> Any:
    """Return the object whose memory an array shows a part of."""
    while (base := getattr(thing, "base", None)) is not None:
        thing = base
    return thing


def source_of(owner: Any, size: int) -> weakref.ref[Any] | None:
    """Return a reference to the object whose memory a buffer of that size is of; None: small, or nothing tells."""
    if size < SOURCE_MIN:
        return None
    try:
        return weakref.ref(memory_owner(owner))
    except TypeError:  # the memory of bytes: nothing tells whether they are the same
        return None


class Copy:
    """A large buffer as it was.

    When several pieces have a very large one in common a chunk carries it once: read-only, or what one task writes
    would reach those beside it, and which these are is left to chance.
    """

    __slots__ = ("common", "data", "source")

    def __init__(self, data: bytearray | memoryview, source: weakref.ref[Any] | None = None) -> None:
        """``source``: the object whose memory it was, of a very large one."""
        self.data = data
        self.source = source
        self.common = False

    def again(self) -> Copy:
        """Return the copy for another piece: this one if it is very large."""
        if len(self.data) < payload.COMMON_MIN:
            return Copy(self.data)
        self.common = True
        return self

    def __reduce__(self) -> Any:
        buffer = memoryview(self.data)
        return payload.same, (pickle.PickleBuffer(buffer.toreadonly() if self.common else buffer),)


class Piece:
    """One packed object, which unpickles to that object."""

    __slots__ = ("copies", "data", "parts")

    def __init__(self, data: bytes, copies: tuple[Copy, ...], parts: tuple[Any, ...]) -> None:
        self.data = data
        self.copies = copies
        self.parts = parts  # what it refers to and is not in it: futures, shared objects, packed classes

    def again(self) -> Piece:
        """Return a piece of its own for another element."""
        return Piece(self.data, tuple([copy.again() for copy in self.copies]), self.parts)

    def alone(self) -> Piece:
        """Return a piece of its own, with no buffer in common."""
        return Piece(self.data, tuple([Copy(copy.data) for copy in self.copies]), self.parts)

    def __reduce__(self) -> Any:
        if self.copies or self.parts:
            return load_piece, (self.data, self.copies, self.parts)
        return pickle.loads, (self.data,)

    def __cellmill_shown__(self) -> Any:
        """Return what stands for the object where people see it."""
        return preview_piece(self.data, [copy.data for copy in self.copies], self.parts)

    def __repr__(self) -> str:
        return repr(self.__cellmill_shown__())


class Bare(bytes):
    """The pickle of one object that refers to nothing outside."""

    __slots__ = ()

    def again(self) -> Bare:
        """Return a pickle of its own for another element."""
        return Bare(self)

    def __reduce__(self) -> Any:
        return pickle.loads, (bytes(self),)

    def __cellmill_shown__(self) -> Any:
        """Return what stands for the object where people see it."""
        return preview_piece(self)

    def __repr__(self) -> str:
        return repr(self.__cellmill_shown__())

    __str__ = __repr__


class _PlainMethods(bytes):
    def again(self) -> Any:
        """Return an object of its own for another element."""
        return Plain(self)

    def pickled(self) -> bytes:
        """Return the object as a pickle."""
        return b"\x80\x05%b." % self

    def __reduce__(self) -> Any:
        return pickle.loads, (self.pickled(),)

    def __cellmill_shown__(self) -> Any:
        """Return what stands for the object where people see it."""
        return preview_piece(self.pickled())

    def __repr__(self) -> str:
        return repr(self.__cellmill_shown__())

    __str__ = __repr__


def _from_c() -> tuple[Any, Callable[[list[Any], int, type, list[Any]], tuple[int, int]]]:
    """The type `Plain`, and what packs elements as such up to one that is no plain data."""
    try:
        from .. import _csched_with_gil
    except ImportError:  # on a machine that the C scheduler is not for
        return _PlainMethods, lambda _, place, *__: (place, 0)
    made: list[Any] = []
    _csched_with_gil.lib.csched_plain_data(_csched_with_gil.ffi.cast("void *", id(made)))
    kind, pack = made
    for name in ("again", "pickled", "__cellmill_shown__", "__reduce__", "__repr__", "__str__"):
        setattr(kind, name, vars(_PlainMethods)[name])
    return kind, pack


# Plain: one object, packed, that is plain data: opcodes which csched/python/plain_data.c wrote, without head and end.
Plain, pack_plain = _from_c()


class Together:
    """Many of one kind in a chunk: how they are unpickled fastest, from what. ``plain``: they are plain data, and name
    no function or class.
    """

    def __init__(self, load: Callable[[Any], list[Any]], packed: Any, *, plain: bool) -> None:
        self._reduced = load, (packed,)
        self.plain = plain

    def __reduce__(self) -> Any:
        return self._reduced


def as_sent(items: list[Any]) -> Any:
    """Return these elements in the form that is pickled fastest."""
    kind = type(items[0])
    if kind is Plain and {Plain}.issuperset(map(type, items)):
        return Together(pickle.loads, b"\x80\x05](%be." % b"".join(items), plain=True)
    if kind is Bare and {Bare}.issuperset(map(type, items)):
        return Together(load_bares, list(map(bytes, items)), plain=False)
    return items


class Refusal(Exception):
    """An element that could not be packed is to be sent."""

    def __init__(self, error: PayloadError) -> None:
        super().__init__()
        self.error = error


class Refused:
    """A stand-in for an element that could not be packed: its task fails when it is sent."""

    __slots__ = ("error", "kind")

    def __init__(self, error: PayloadError, kind: str) -> None:
        self.error, self.kind = error, kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"

    def __reduce__(self) -> Any:
        raise Refusal(self.error)
