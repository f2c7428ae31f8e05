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
from collections.abc import Callable, Iterator, Sequence
from types import CoroutineType, GeneratorType
from typing import Any

import cloudpickle

from ..by_value import methods, molecules, replacements, sentinels, subclasses, unsettled, views
from ..by_value.pickle_texts import texts_of
from ..by_value.pickling import dumps_in_parts
from ..errors import PayloadError, in_words, text_of
from . import remedies

INLINE_MAX = 8192  # bytes; larger payloads go to shared blocks
BUFFER_MIN = 4096  # bytes; smaller buffers stay inside the pickle
ALIGN = 64
PAGE = 4096
OWN_MIN = 256 << 10  # bytes of buffers that get pages of their own; fewer are copied faster
TOO_LARGE = (
    "Strided and broadcast arrays are copied whole: send the parts they are made of, or the name of a file."
)
_TOO_DEEP = (
    "it is nested deeper than Python's recursion limit lets pickle go. sys.setrecursionlimit(20_000) {where} lets it "
    "go deeper; a flat structure, such as a list of the nodes, needs no limit."
)
_SIMPLE = frozenset((int, float, complex, bool, str, bytes, type(None)))
_MAGIC = b"CMB1"
_MAIN = b"_main__"
_HEAD = struct.Struct("<4sIQ")
_BUFFER = struct.Struct("<QQ")
_USUAL_PICKLING = ("__reduce_ex__", "__reduce__", "__getstate__")
Passed = tuple[type[BaseException], ...]  # kinds of errors that end a search for what cannot be pickled
_CONTAINERS = (list, tuple, set, frozenset, dict)
_DEEPEST, _MOST_PARTS = 20, 10_000  # of what is looked through for something that cannot be pickled


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
    loading: Callable[[int], Any] | None = None
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


def load_input(position: int) -> Any:
    """The result of another task that came along with this one."""
    if inputs.loading is None:
        raise PayloadError("the inputs of a task can only be loaded while it starts")
    return inputs.loading(position)


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

    ``common``: they are read-only all the same.
    """
    data, buffers = opened_own(view, area)
    if common:
        return pickle.loads(data, buffers=[memoryview(buffer).toreadonly() for buffer in buffers])
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


def explain_argument(
    function: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    error: BaseException,
    passed: Passed = (),
    owner: Any = None,
) -> PayloadError:
    """Find the argument that cannot be pickled and say so; errors of the kinds ``passed`` end the search.

    ``owner``: the object whose method is called.
    """
    named = [(f"argument {i + 1}", a) for i, a in enumerate(args)] + [
        (f"argument {k!r}", v) for k, v in kwargs.items()
    ]
    culprit, inside, advice = f"the arguments of {function}", "", ""
    for name, value in [*named, ("the object", owner)]:
        found = _problem(value, passed)
        if found is not None:
            culprit = f"{name} of {function}, a {type(value).__name__},"
            inside, error, advice = _inside(value, found, passed)
            break
    if isinstance(error, MemoryError):
        return PayloadError(
            f"{culprit} cannot be sent to a worker: there is not enough memory to pickle it. {TOO_LARGE}"
        )
    if unsettled.changed_meanwhile(error):
        return PayloadError(f"{culprit} cannot be sent to a worker: {unsettled.ADVICE}")
    if _endless(error, passed):
        return PayloadError(
            f"{culprit} cannot be sent to a worker: {_TOO_DEEP.format(where='before the call')}"
        )
    if advice:
        return PayloadError(
            f"{culprit} cannot be sent to a worker{f': {inside}' if inside else '. '}{advice}"
        )
    return PayloadError(
        f"{culprit} cannot be sent to a worker: {inside}{in_words(error, passed)}. Open files, locks, sockets, "
        "generators and the like stay in one process: create them inside the function, or once per worker "
        "with @cellmill.per_worker."
    )


def explain_shared(value: Any, error: BaseException, passed: Passed = ()) -> PayloadError:
    """An object that tasks are to share cannot be pickled: say what in it, and why; ``passed`` as above."""
    if isinstance(error, MemoryError):
        reason = f"there is not enough memory to pickle it. {TOO_LARGE}"
    elif unsettled.changed_meanwhile(error):
        reason = unsettled.ADVICE
    else:
        inside, error, _ = _inside(value, error, passed)
        words = in_words(error, passed)
        reason = f"{inside}{words}. What stays in one process is made in each worker: @cellmill.per_worker."
    return PayloadError(f"the shared {type(value).__qualname__} cannot be sent to workers: {reason}")


class Partial:
    """A result of which the rest can be sent where a part cannot."""

    __slots__ = ()

    def without(self, error: BaseException) -> Any:
        """The rest; ``error`` is why it cannot be pickled as a whole."""
        raise NotImplementedError


def encode_rest(function: str, value: Any, error: BaseException) -> Encoded:
    """Encode the rest of a partial result that cannot be pickled; raise PayloadError for other results."""
    return encode(rest(function, value, error))


def rest(function: str, value: Any, error: BaseException) -> Any:
    """The same, not encoded."""
    if issubclass(type(value), Partial):  # `isinstance` would ask a proxy for its class
        return value.without(error)
    raise explain_result(function, value, error).with_traceback(error.__traceback__) from None


def explain_result(function: str, value: Any, error: BaseException) -> PayloadError:
    """Return an error that says what in a task's result cannot be pickled, and why."""
    return explain_sent_back(f"the result of {function}", value, error)


_DATA = "Return data (numbers, text, arrays, dicts) instead."
_INSTEAD: dict[type, str] = {
    GeneratorType: f"{_DATA} Of a generator that is list(...) of it.",
    CoroutineType: "An async function has not run when it returns: submit one that runs it, asyncio.run(f(x)).",
}


def explain_sent_back(what: str, value: Any, error: BaseException) -> PayloadError:
    """Return an error that says why a value cannot be sent back; ``what`` names the value."""
    if isinstance(error, MemoryError):
        reason = f"there is not enough memory to pickle it. {TOO_LARGE}"
    elif _endless(error, ()):
        reason = _TOO_DEEP.format(where="in the function")
    else:
        inside, error, _ = _inside(value, error)
        reason = f"{inside}{in_words(error)}. {_INSTEAD.get(type(value), _DATA)}"
    return PayloadError(f"{what}, a {type(value).__name__}, cannot be sent back: {reason}")


def _problem(value: Any, passed: Passed = ()) -> BaseException | None:
    """Return the error that pickling a value raises, or None."""
    try:
        encode(value)
    except passed:
        raise
    except BaseException as error:
        return error
    return None


def _inside(value: Any, error: BaseException, passed: Passed = ()) -> tuple[str, BaseException, str]:
    """Return the path in ``value`` to the innermost object that cannot be pickled, as text, its error, and what to do
    in the place of sending it, where it is there by itself or in plain containers: what an object has is its own.
    """
    path, seen, of_object, advice = "", {id(value)}, False, ""
    while path.count("[") + path.count(".") < _DEEPEST and not _endless(error, passed):
        if not of_object and (advice := remedies.advice(value)):
            break
        of_object = of_object or type(value) not in _CONTAINERS
        for step, part in _parts(value, passed):
            found = None if id(part) in seen else _problem(part, passed)
            seen.add(id(part))
            if found is not None:
                path, value, error = path + step, part, found
                break
        else:
            break
    return (f"in it, {path} is a {type(value).__name__}. " if path else ""), error, advice


def _endless(error: BaseException, passed: Passed) -> bool:
    return isinstance(error, RecursionError) or "recursion" in text_of(error, passed)


def _parts(value: Any, passed: Passed) -> Iterator[tuple[str, Any]]:
    """Yield (path step, part) of plain containers, and of objects that are pickled by their attributes."""
    kind = type(value)
    if kind in (list, tuple, set, frozenset):
        what = "[{}]" if kind in (list, tuple) else ".element{}"
        yield from ((what.format(i), part) for i, part in enumerate(unsettled.first_of(value, _MOST_PARTS)))
    elif kind is dict:
        yield from (
            (f"[{text_of(key, passed)[:40]!r}]", part)
            for key, part in unsettled.first_of(value.items(), _MOST_PARTS)
        )
    elif all(getattr(kind, name) is getattr(object, name) for name in _USUAL_PICKLING):
        attributes = getattr(value, "__dict__", None)
        if type(attributes) is dict:
            yield from ((f".{name}", part) for name, part in attributes.copy().items())
