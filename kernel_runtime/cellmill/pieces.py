"""Elements of maps, packed when they are taken: what is sent is what the element was then.

An element that nobody can change (a number, text, a tuple of those) is kept as it is. Any other is pickled at once,
into a `Piece`: its bytes, and copies of its large buffers. Chunks carry pieces without looking into them, as often as
they are sent; where a chunk is unpickled, the elements themselves come out. Futures, shared objects and classes stay
references: they are looked at when the chunk is packed.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import sys
import threading
import weakref
from collections.abc import Callable
from itertools import chain
from typing import Any

import cloudpickle

from . import payload, pickling
from .errors import PayloadError
from .futures import Future
from .payload import BUFFER_MIN, OWN_MIN
from .shared import Shared, ShareError, packing

ATOM_BYTES = 32  # of most numbers
MOST_KNOWN = 256
_ATOMS: frozenset[type] = frozenset((int, float, complex, bool, type(None), type(Ellipsis)))
FIXED: set[type] = {*_ATOMS, str, bytes, range}  # kinds of objects that nobody can change; numpy's are added
_references = (Future, Shared)
_by_value: weakref.WeakSet[type] = weakref.WeakSet()  # classes that workers cannot import


class Copy:
    """A large buffer as it was.

    When several pieces have a very large one in common a chunk carries it once: read-only, or what one task writes
    would reach those beside it, and which these are is left to chance.
    """

    __slots__ = ("common", "data")

    def __init__(self, data: bytearray) -> None:
        self.data = data
        self.common = False

    def again(self) -> Copy:
        """For another piece."""
        if len(self.data) < OWN_MIN:
            return Copy(self.data)
        self.common = True
        return self

    def __reduce__(self) -> Any:
        buffer = memoryview(self.data)
        return payload.same, (pickle.PickleBuffer(buffer.toreadonly() if self.common else buffer),)


class Piece:
    """One object, packed. It unpickles to that object."""

    __slots__ = ("copies", "data", "parts")

    def __init__(self, data: bytes, copies: tuple[Copy, ...], parts: tuple[Any, ...]) -> None:
        self.data = data
        self.copies = copies
        self.parts = parts  # what it refers to and is not in it: futures, shared objects, packed classes

    def again(self) -> Piece:
        """For another element, which has its own."""
        return Piece(self.data, tuple([copy.again() for copy in self.copies]), self.parts)

    def __reduce__(self) -> Any:
        if self.copies or self.parts:
            return load_piece, (self.data, self.copies, self.parts)
        return pickle.loads, (self.data,)

    def __repr__(self) -> str:
        from .preview import preview_piece  # for messages only

        return repr(preview_piece(self.data, [copy.data for copy in self.copies], self.parts))


class Bare(bytes):
    """One object, packed, that refers to nothing outside: its pickle."""

    __slots__ = ()

    def again(self) -> Bare:
        """For another element, which has its own."""
        return Bare(self)

    def __reduce__(self) -> Any:
        return pickle.loads, (bytes(self),)

    def __repr__(self) -> str:
        from .preview import preview_piece

        return repr(preview_piece(self))

    __str__ = __repr__


class _PlainMethods(bytes):
    def again(self) -> Any:
        """For another element, which has its own."""
        return Plain(self)

    def pickled(self) -> bytes:
        """As a pickle."""
        return b"\x80\x05%b." % self

    def __reduce__(self) -> Any:
        return pickle.loads, (self.pickled(),)

    def __repr__(self) -> str:
        from .preview import preview_piece

        return repr(preview_piece(self.pickled()))

    __str__ = __repr__


def _from_c() -> tuple[Any, Callable[[list[Any], int, type, list[Any]], tuple[int, int]]]:
    """The type `Plain`, and what packs elements as such up to one that is no plain data."""
    try:
        from . import _csched_held
    except ImportError:  # on a machine that the C scheduler is not for
        return _PlainMethods, lambda _, place, *__: (place, 0)
    made: list[Any] = []
    _csched_held.lib.csched_plain_data(_csched_held.ffi.cast("void *", id(made)))
    kind, pack = made
    for name in ("again", "pickled", "__reduce__", "__repr__", "__str__"):
        setattr(kind, name, vars(_PlainMethods)[name])
    return kind, pack


# Plain: one object, packed, that is plain data: opcodes which csched/python/plain_data.c wrote, without head and end.
Plain, _pack_plain = _from_c()


class Together:
    """Many of one kind in a chunk: how they are unpickled fastest, from what."""

    def __init__(self, load: Callable[[Any], list[Any]], packed: Any) -> None:
        self._reduced = load, (packed,)

    def __reduce__(self) -> Any:
        return self._reduced


def as_sent(items: list[Any]) -> Any:
    """These elements, as they are pickled fastest."""
    kind = type(items[0])
    if kind is Plain and {Plain}.issuperset(map(type, items)):
        return Together(pickle.loads, b"\x80\x05](%be." % b"".join(items))
    if kind is Bare and {Bare}.issuperset(map(type, items)):
        return Together(load_bares, list(map(bytes, items)))
    return items


def load_bares(items: list[bytes]) -> list[Any]:
    """Where a chunk is unpickled: its elements."""
    load = pickle.loads
    return [load(item) for item in items]  # an element that raises StopIteration would end a `map`


class Refusal(Exception):
    """An element that could not be packed is to be sent."""

    def __init__(self, error: PayloadError) -> None:
        super().__init__()
        self.error = error


class Refused:
    """In the place of an element that could not be packed: its task fails when it is sent."""

    __slots__ = ("error",)

    def __init__(self, error: PayloadError) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        raise Refusal(self.error)


class _Loading(threading.local):
    parts: tuple[Any, ...] = ()


_loading = _Loading()


def load_piece(data: bytes, buffers: tuple[Any, ...], parts: tuple[Any, ...]) -> Any:
    """Where a chunk is unpickled: the object."""
    before, _loading.parts = _loading.parts, parts
    try:
        return pickle.loads(data, buffers=buffers)
    finally:
        _loading.parts = before


def load_part(place: int) -> Any:
    """While a piece is unpickled: what it refers to."""
    return _loading.parts[place]


def fixed(items: list[Any]) -> bool:
    """Whether none of them can be changed: decided by their types, and in tuples by those of their parts."""
    kinds = set(map(type, items)) - FIXED
    if tuple in kinds:
        kinds.remove(tuple)
        kinds.update(set(map(type, chain.from_iterable(i for i in items if type(i) is tuple))) - FIXED)
    return all(map(_is_fixed, kinds))


def _is_fixed(kind: type) -> bool:
    """Numpy's numbers cannot be changed, but for records."""
    if kind in FIXED:
        return True
    numpy = sys.modules.get("numpy") if kind.__module__ == "numpy" else None
    if numpy is None or not issubclass(kind, numpy.generic) or issubclass(kind, (numpy.void, numpy.object_)):
        return False
    FIXED.add(kind)
    return True


def size_of(items: list[Any]) -> int:
    """Bytes that they hold, about; pieces are counted when they are made."""
    if _ATOMS.issuperset(map(type, items)):
        return ATOM_BYTES * len(items)
    return sum(map(_size, items))


def _size(item: Any) -> int:
    kind = type(item)
    if kind is tuple:
        return sum(map(_size, item))
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return int(item.nbytes)
    return sys.getsizeof(item) if kind in FIXED or kind is bytearray else ATOM_BYTES


class _Pickler(pickling.Pickler):
    """A class that workers cannot import is left outside: a chunk carries each version of it once."""

    outside: Callable[[Any, Any], Any]

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        if isinstance(obj, type) and obj in _by_value:
            return self.outside(
                obj, pickling._name_of(obj, cloudpickle.cloudpickle._get_or_create_tracker_id(obj))
            )
        reduced = super().reducer_override(obj)
        if type(reduced) is tuple and reduced[0] is pickling._class_named:
            _by_value.add(obj)
            return self.outside(obj, reduced[1][-2:])
        return reduced


class Packer:
    """Packs the elements of one input. ``name`` is the function's, for errors.

    ``quiet``: between elements no code of the user runs, so that an object that comes several times is packed once.
    """

    def __init__(self, name: str, *, star: bool, quiet: bool) -> None:
        self._name = name
        self._star = star
        self._quiet = quiet
        self.made = 0  # bytes of all that was packed
        self._special: set[type] = {tuple, *_references}  # kinds of elements that plain pickle does not do
        self._registry = bool(cloudpickle.list_registry_pickle_by_value())
        self._before: Any = None  # the element before, and what was made of its parts
        self._again: dict[int, tuple[Any, Piece | Bare]] = {}  # with the part, which it is found by
        self._copies: dict[int, tuple[Any, Copy]] = {}  # by the object that has the buffer
        self._classes: dict[Any, Bare] = {}  # by identity and version
        self._parts: list[Any] = []
        self._taken: list[Copy] = []

    def pack(self, items: list[Any], stop: Callable[[], bool] = bool) -> list[Any]:
        """What is kept of these elements; fewer, where ``stop()`` became true."""
        if fixed(items):
            return items
        packed: list[Any] = []
        with packing(self._refer):
            while True:
                place, size = _pack_plain(items, len(packed), Plain, packed)
                self.made += size
                if place == len(items):
                    return packed
                packed.append(self._other(items[place]))
                if stop():
                    return packed

    def _other(self, item: Any) -> Any:
        """One that is no plain data."""
        kind = type(item)
        if kind in FIXED:
            return item
        if kind in self._special or item is self._before:
            return item if issubclass(type(item), _references) else self._element(item)
        return self._usual(item)

    def _usual(self, item: Any) -> Any:
        """Most elements: plain pickle does them, thousands in some milliseconds."""
        self._before = item if self._quiet else None
        try:
            data = pickle.dumps(item, 5, buffer_callback=self._keep)
        except BaseException:
            return self._element(item)
        if b"__main__" in data or self._registry:
            return self._element(item)
        if self._parts and issubclass(type(item), _references):
            self._clear()
            return item
        return self._piece_of(data)

    def _piece_of(self, data: bytes) -> Piece | Bare:
        self.made += len(data)
        if not self._taken and not self._parts:
            return Bare(data)
        made = Piece(data, tuple(self._taken), tuple(self._parts))
        self._clear()
        return made

    def _clear(self) -> None:
        self._taken.clear()
        self._parts.clear()

    def forget(self) -> None:
        """What was packed may have changed."""
        self._before = None
        self._again.clear()
        self._copies.clear()

    def _refer(self, part: Any) -> tuple[Any, tuple[Any, ...]]:
        self._parts.append(part)
        return load_part, (len(self._parts) - 1,)

    def _element(self, item: Any) -> Any:
        try:
            before, self._before = self._before, item if self._quiet else None
            if type(item) is tuple and type(before) is tuple and len(before) == len(item):
                if any(new is old and not _easy(new) for new, old in zip(item, before, strict=True)):
                    return tuple([part if _easy(part) else self._once(part) for part in item])
            elif item is before:
                return self._once(item)
            return self._piece(item)
        except BaseException as error:
            self._clear()
            return Refused(self._problem(item, error))

    def _once(self, part: Any) -> Piece | Bare:
        """A part that came before, or stands beside one: packed by itself."""
        known = self._again.get(id(part))
        if known is None:
            known = (part, self._piece(part))
            if len(self._again) < MOST_KNOWN:
                self._again[id(part)] = known
            return known[1]
        made = known[1]
        if len(made.data if isinstance(made, Piece) else made) < BUFFER_MIN:
            return made.again()
        for copy in made.copies if isinstance(made, Piece) else ():
            copy.common = True
        return made

    def _piece(self, item: Any) -> Piece | Bare:
        kind = type(item)
        if kind is tuple or kind not in self._special:
            self._clear()
            with contextlib.suppress(Exception):  # cloudpickle knows more
                data = pickle.dumps(item, 5, buffer_callback=self._keep)
                if not payload.by_value_needed(data):
                    return self._piece_of(data)
        if len(self._special) < MOST_KNOWN:
            self._special.add(kind)
        self._clear()
        target = io.BytesIO()
        pickler = _Pickler(target, protocol=5, buffer_callback=self._keep)
        pickler.outside = self._class
        pickler.dump(item)
        return self._piece_of(target.getvalue())

    def _class(self, cls: type, version: Any) -> Any:
        """A class that an element refers to, in the version that it is of."""
        known = self._classes.get(version)
        if known is None:
            known = Bare(pickling.dumps(cls))
            self.made += len(known)
            if len(self._classes) < MOST_KNOWN:
                self._classes[version] = known
        return self._refer(known)

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        if raw.nbytes < BUFFER_MIN:
            return True
        owner = raw.obj
        known = self._copies.get(id(owner)) if self._quiet else None
        if known is None:
            known = (owner, Copy(bytearray(raw)))
            self.made += raw.nbytes
            if self._quiet and memoryview(owner).nbytes == raw.nbytes:  # all of it
                self._copies[id(owner)] = known
            self._taken.append(known[1])
        else:
            self._taken.append(known[1].again())
        return False

    def _problem(self, item: Any, error: BaseException) -> PayloadError:
        if isinstance(error, ShareError):
            made = PayloadError(f"{self._name} cannot be called: {error}")
            made.__cause__ = error.__cause__
            return made
        args = tuple(item) if self._star else (item,)
        # what the search raises for Stop is held back here, so it is an element's
        made = payload.explain_argument(self._name, args, {}, error)
        made.__cause__ = error
        return made


def _easy(part: Any) -> bool:
    return type(part) in FIXED or issubclass(type(part), _references)
