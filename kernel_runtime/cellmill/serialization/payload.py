"""Objects to bytes and back: pickle protocol 5 with large buffers apart, cloudpickle where it must.

Layout of an encoded payload with buffers (all integers little endian)::

    b"CMB1" | u32 buffers | u64 pickle bytes | (u64 offset, u64 size) per buffer | pickle | aligned buffers

Without buffers it is the bare pickle, which begins with ``b"\\x80"``. Many bytes of buffers begin with a page of memory
and have all of their last one, so that readers in place can have private written pages (csched/src/own.h).
"""

from __future__ import annotations

import pickle
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle

from ..by_value import methods, molecules, replacements, sentinels, subclasses, unsettled, views
from ..by_value.pickle_texts import texts_of
from ..by_value.pickling import dumps_in_parts
from ..errors import PayloadError

INLINE_MAX = 8192  # bytes; larger payloads go to shared blocks
BUFFER_MIN = 4096  # bytes; smaller buffers stay inside the pickle
COMMON_MIN = 32 << 10  # bytes; larger buffers that several elements of a chunk have are there once, read-only
ALIGN = 64
PAGE = 4096
OWN_MIN = 256 << 10  # bytes of buffers that get pages of their own; fewer are copied faster
FEW_VALUES, SHORT_TEXT = 8, 100  # characters or bytes
_SIMPLE = frozenset((int, float, complex, bool, str, bytes, type(None)))
_MAGIC = b"CMB1"
_MAIN = b"_main__"
_HEAD = struct.Struct("<4sIQ")
_BUFFER = struct.Struct("<QQ")


class Encoded:
    """A pickle and the buffers it refers to, ready to be written into one block of ``size`` bytes.

    ``content``: the bytes of what is in it, for people.
    """

    __slots__ = ("_offsets", "_start", "_texts", "buffers", "content", "data", "size")

    def __init__(self, data: bytes, buffers: list[memoryview], texts: bytes | None = None) -> None:
        self.data = data
        self.buffers = buffers
        self._texts = texts
        if not buffers:
            self.content = self.size = len(data)
            return
        self._start = _HEAD.size + _BUFFER.size * len(buffers) + len(data)
        self._offsets = []  # of the buffers, from the first one
        at = 0
        for buffer in buffers:
            at = -(-at // ALIGN) * ALIGN
            self._offsets.append(at)
            at += buffer.nbytes
        self.content = self._start + at
        if at < OWN_MIN:
            self._start = -(-self._start // ALIGN) * ALIGN
            self.size = self._start + at
        else:
            self.size = self._start + PAGE - 1 + -(-at // PAGE) * PAGE

    @property
    def texts(self) -> bytes:
        """What of the pickle is searched for names, see `texts_of`."""
        if self._texts is None:
            self._texts = texts_of(self.data)
        return self._texts

    def parts(self, place: int = 0) -> Iterator[tuple[int, bytes | memoryview]]:
        """Yield the pieces of a block at ``place`` in its memory: (offset, bytes)."""
        if not self.buffers:
            yield 0, self.data
            return
        paged = self._offsets[-1] + self.buffers[-1].nbytes >= OWN_MIN
        start = self._start + (-(place + self._start) % PAGE if paged else 0)
        offsets = [start + offset for offset in self._offsets]
        places = b"".join(
            _BUFFER.pack(offset, buffer.nbytes) for offset, buffer in zip(offsets, self.buffers, strict=True)
        )
        yield 0, _HEAD.pack(_MAGIC, len(self.buffers), len(self.data)) + places + self.data
        yield from zip(offsets, self.buffers, strict=True)


Area = Callable[[int, int], memoryview | None]
"""(offset, bytes) of a payload: writable memory with that part in it, for one holder alone; None: copy it."""


class _Inputs(threading.local):
    """While a call is being packed: where its futures and shared objects register. While a task is unpacked: its
    inputs. In a worker: what tasks share.
    """

    packing: Callable[[Any], tuple[Any, tuple[Any, ...]]] | None = None
    foreign: Callable[[Any], tuple[Any, tuple[Any, ...]]] | None = (
        None  # the same for those of other runtimes
    )
    again: Callable[[], None] | None = None  # called when a call that was being packed is packed anew
    loading: Callable[[int, bool], Any] | None = None
    shares: Callable[[int, str], Any] | None = None
    thawing: Callable[[Any, Callable[[pickle.PickleBuffer], bool]], bytes] | None = (
        None  # see `read_only.thawed`
    )


inputs = _Inputs()


def reduce_future(future: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a future's reduction: the place of its result among the inputs of the call being packed."""
    if inputs.packing is None:
        raise PayloadError(
            "a future cannot be pickled by itself; pass it as an argument of a call, or pass its result()"
        )
    return inputs.packing(future)


def load_input(position: int, common: bool = False) -> Any:
    """The result of another task that came along with this one; ``common``: several elements of a map have it."""
    if inputs.loading is None:
        raise PayloadError("the inputs of a task can only be loaded while it starts")
    return inputs.loading(position, common)


def same(value: Any) -> Any:
    """Replaces a future whose result was known when the call was packed."""
    return value


def labelled(label: str, load: Callable[..., Any], *arguments: Any) -> Any:
    """Return what ``load`` makes of ``arguments``: an object that people see as its ``label``, such as the result of a
    future that is not in this process.
    """
    return load(*arguments)


def is_marked(texts: bytes) -> bool:
    """Whether a plain pickle, of which these are the texts, has something in it that plain pickle is not right for, no
    matter what is registered.
    """
    return (
        _MAIN in texts
        or sentinels.PICKLED in texts
        or molecules.PICKLED in texts
        or methods.PICKLED in texts
        or subclasses.may_be_in(texts)
        or replacements.may_be_in(texts)
    )


def by_value_needed(texts: bytes) -> bool:
    """Plain pickle stored a reference into ``__main__``, or ``__mp_main__``, which workers do not have (or hold an old
    version of), an object that is nothing but itself, or one of which it leaves something out.
    """
    return is_marked(texts) or bool(cloudpickle.list_registry_pickle_by_value())


def encode_simple(value: Any) -> bytes | None:
    """The pickle of a plain number or text, or a tuple of them, when it is short; None for everything else.

    Most arguments and results of small tasks are that. Nothing in them needs looking after: no buffers, no futures,
    no classes.
    """
    kind = type(value)
    if kind in _SIMPLE or (kind is tuple and _SIMPLE.issuperset(map(type, value))):
        data = pickle.dumps(value, 5)
        if len(data) < BUFFER_MIN:
            return data
    return None


def is_simple(values: tuple[Any, ...]) -> bool:
    """Whether these are few plain numbers and short texts, of which `encode_simple` has a pickle."""
    return (
        len(values) <= FEW_VALUES
        and _SIMPLE.issuperset(map(type, values))
        and all(len(value) <= SHORT_TEXT for value in values if type(value) is str or type(value) is bytes)
    )


def encode(value: Any) -> Encoded:
    """Pickle ``value``; raises whatever the last pickler raised."""
    buffers: list[memoryview] = []
    frozen = False

    def keep(buffer: pickle.PickleBuffer) -> bool:
        nonlocal frozen
        try:
            raw = buffer.raw()
        except BufferError:  # not contiguous
            return True
        frozen = frozen or raw.readonly
        if raw.nbytes < BUFFER_MIN:
            return True
        buffers.append(raw)
        return False

    shared = views.found_in(value)
    if not shared:
        try:
            data = pickle.dumps(value, 5, buffer_callback=keep)
            texts = texts_of(data)
            if not by_value_needed(texts) and not (frozen and inputs.thawing):
                return Encoded(data, buffers, texts)
        except PayloadError:
            raise
        except Exception:  # lambdas, local classes and the like: cloudpickle knows more
            pass

    def pickled() -> bytes:
        buffers.clear()
        if inputs.again is not None:
            inputs.again()
        return (inputs.thawing or dumps_in_parts)(value, keep)

    with views.kept(shared):
        return Encoded(unsettled.at_one_moment(pickled), buffers)


def decode(view: memoryview) -> Any:
    """Unpickle what many hold: buffers are read in place through read-only views of ``view``."""
    data, buffers = opened(view)
    return pickle.loads(data, buffers=buffers)


def decode_own(view: memoryview, area: Area | None = None, common: bool = False) -> Any:
    """Unpickle what one holder gets: buffers are its own to write to, in place where ``area`` gives that, or copies.

    ``common``: others have it too: large buffers are read-only all the same, in place.
    """
    if common:
        data, shown = opened(view)
        return pickle.loads(
            data, buffers=[one if one.nbytes >= COMMON_MIN else bytearray(one) for one in shown]
        )
    data, buffers = opened_own(view, area)
    return pickle.loads(data, buffers=buffers)


def opened(view: memoryview) -> tuple[memoryview, list[memoryview]]:
    """The pickle in a payload, and its buffers: read-only views of ``view``."""
    data, places = _opened(view)
    readonly = view.toreadonly()
    return data, [readonly[offset : offset + nbytes] for offset, nbytes in places]


def opened_own(view: memoryview, area: Area | None = None) -> tuple[memoryview, list[memoryview | bytearray]]:
    """The same for one holder; see `decode_own`."""
    data, places = _opened(view)
    if places and area is not None:
        start, end = places[0][0], sum(places[-1])
        own = area(start, end - start) if end - start >= OWN_MIN else None
        if own is not None:
            return data, [own[offset - start : offset - start + nbytes] for offset, nbytes in places]
    return data, [bytearray(view[offset : offset + nbytes]) for offset, nbytes in places]


def _opened(view: memoryview) -> tuple[memoryview, list[tuple[int, int]]]:
    """The pickle in a payload, and its buffers: (offset, bytes) each."""
    if not has_buffers(view):
        return view, []
    _, count, size = _HEAD.unpack_from(view)
    at = _HEAD.size + count * _BUFFER.size
    places = [_BUFFER.unpack_from(view, _HEAD.size + i * _BUFFER.size) for i in range(count)]
    return view[at : at + size], places


def has_buffers(view: memoryview) -> bool:
    """Whether decoding would leave views into the payload behind."""
    return view[0] == _MAGIC[0] and view.nbytes >= _HEAD.size  # bare pickles begin with 0x80
