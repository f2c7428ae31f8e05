"""`share`: an object put once, and read in place by every task.

The kernel holds a `Shared`, which pickles to a number. Where tasks run apart (processes, clusters) the object is
put there at its first use (backends/scheduled/sharing.py); a worker loads it once, and its tasks get the object itself.
Threads and inline calls get the kernel's own.
"""

from __future__ import annotations

import functools
import itertools
import operator
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from ..errors import PayloadError, in_words
from . import payload

__all__ = ["Shared", "share"]

PARTS = (list, tuple, dict)  # what is looked through for shared objects, as deep as it goes
DEEPEST = 50
_GONE = object()
_numbers = itertools.count(1)
_known: weakref.WeakValueDictionary[int, Shared] = weakref.WeakValueDictionary()
used = False  # whether there has been any: a glance that costs nothing where there are none


class ShareError(PayloadError):
    """A shared object is not available. The catcher adds the call."""


class SharedPlace(NamedTuple):
    """The place where one backend holds a shared object."""

    number: int  # there, and in its workers
    size: int  # of its pickle and buffers, in bytes
    where: str  # in words
    error: str = ""  # why it could not be put


class Keeper(Protocol):
    """A backend's end."""

    def drop(self, place: SharedPlace) -> None:
        """It is not referred to in the kernel any more, or it was closed; from any thread, finalizers too."""


class Shared:
    """An object that tasks share; made by `share`.

    In tasks it is the object itself. In the kernel ``shared.value`` is; calls, items, operators and names of the object
    that this handle has not are passed on to it. ``close()``, or leaving ``with``, lets go of it; so does the last
    reference. Tasks that were submitted by then have it still.
    """

    __slots__ = ("__weakref__", "_end", "_key", "_places", "_value")

    def __init__(self, value: Any) -> None:
        global used
        used = True
        self._key = next(_numbers)
        self._value = value
        self._places: weakref.WeakKeyDictionary[Keeper, SharedPlace] = weakref.WeakKeyDictionary()
        self._end = weakref.finalize(self, _drop, self._places)
        self._end.atexit = False
        _known[self._key] = self

    @property
    def value(self) -> Any:
        """The object. Raises `PayloadError` once it was closed."""
        if self._value is _GONE:
            raise ShareError(
                "the shared object was closed: share it again, and close it when no call with it follows"
            )
        return self._value

    def close(self) -> None:
        """Let go of it, here and in the workers. Tasks that were submitted before have it still."""
        self._value = _GONE
        self._end()

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._value is _GONE

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        if payload.inputs.packing is None:
            raise ShareError(
                "a shared object reaches workers in the arguments of calls, or by a function that refers to it; it is "
                "not pickled by itself: use its .value"
            )
        return payload.inputs.packing(self)

    def __repr__(self) -> str:
        if self._value is _GONE:
            return "<cellmill.Shared, closed>"
        places = [place for place in self._places.values() if place.size]
        kind = type(self._value).__qualname__
        if not places:
            return f"<cellmill.Shared {kind}, in this process>"
        where = ", ".join(sorted({place.where for place in places}))
        return f"<cellmill.Shared {kind}, {places[0].size:,} bytes in {where}>"

    # -- in the kernel, the object by another name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        import numpy

        return numpy.asarray(self.value, *args, **kwargs)


def _passed_on(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, *args: call(self.value, *args)


def _reflected(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: call(other, self.value)


_UNARY = ("__neg__", "__pos__", "__abs__", "__invert__", "__index__", "__contains__", "__getitem__")
_BINARY = "add sub mul matmul truediv floordiv mod pow lshift rshift and or xor"
for _name in (*_UNARY, "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Shared, _name, _passed_on(getattr(operator, _name)))
for _name in _BINARY.split():
    setattr(Shared, f"__{_name}__", _passed_on(getattr(operator, f"__{_name}__")))
    setattr(Shared, f"__r{_name}__", _reflected(getattr(operator, f"__{_name}__")))
_CALLS: dict[str, Callable[..., Any]] = {"len": len, "iter": iter, "bool": bool, "int": int, "float": float}
for _name, _call in _CALLS.items():
    setattr(Shared, f"__{_name}__", _passed_on(_call))


def share(obj: Any) -> Shared:
    """Put an object once, for every task to read in place.

    A large model, array or table that many calls take: ``shared = cellmill.share(model)``, then ``f(shared, x)``, also
    inside lists, tuples and dicts, by ``functools.partial``, or as a global or closure variable of the function.
    Tasks get the object itself.

    It is put as it is when an executor first needs it (``Executor.share``: at once); what is changed afterwards is not
    seen. A worker unpickles it once. Its arrays are read-only there; large ones are in shared memory. Other parts are
    the worker's own: a task that changes them changes them for later tasks of the same worker, so leave them as they
    are. With threads and inline all tasks have the kernel's own object. An object that cannot be pickled raises
    `PayloadError` where it is first used.
    """
    return obj if type(obj) is Shared else Shared(obj)


def _drop(places: weakref.WeakKeyDictionary[Keeper, SharedPlace]) -> None:
    for keeper, place in list(places.items()):
        places.pop(keeper, None)
        keeper.drop(place)


# -- on the way to a worker


@contextmanager
def packing(
    place: Callable[[Any], tuple[Any, tuple[Any, ...]]],
    foreign: Callable[[Any], tuple[Any, tuple[Any, ...]]] | None = None,
) -> Iterator[None]:
    """While something else than a call is pickled: what futures and shared objects in it become; ``foreign``: what
    those of other runtimes do, which are pickled as ever without.
    """
    inputs = payload.inputs
    before, inputs.packing, inputs.foreign = (inputs.packing, inputs.foreign), place, foreign
    try:
        yield
    finally:
        inputs.packing, inputs.foreign = before


def reference(shared: Shared, number: int) -> tuple[Any, tuple[Any, ...]]:
    """Return the reduction of a shared object for workers that know it by this number."""
    return load_share, (number, shared._key, type(shared.value).__qualname__)


def load_share(number: int, key: int, kind: str) -> Any:
    """Return the shared object: a worker's copy, or the kernel's own where the kernel unpickles a call."""
    if payload.inputs.shares is not None:
        return payload.inputs.shares(number, kind)
    found = _known.get(key)
    if found is None:
        raise ShareError(f"the shared {kind} is gone, or this process never had it")
    return found.value


class Loaded:
    """A worker's shared objects, each unpickled when a task first needs it."""

    def __init__(self, blobs: Mapping[int, memoryview | bytes]) -> None:
        self._objects: dict[int, Any] = {}
        self._blobs = blobs  # what the worker was sent, by number

    def here(self) -> Loaded:
        """Make these objects available to tasks of the calling thread."""
        payload.inputs.shares = self.find
        return self

    def find(self, number: int, kind: str) -> Any:
        """Return an object for `load_share`; raise `PayloadError` in every task if it cannot be unpickled."""
        found = self._objects.get(number, _GONE)
        if found is _GONE:
            found = self._objects[number] = self.load(number, kind)
        if type(found) is _Unloadable:
            raise found.error()
        return found

    def load(self, number: int, kind: str) -> Any:
        """Unpickle an object; return an `_Unloadable` if that fails in any way but an interrupt."""
        view = memoryview(self._blobs[number])
        try:
            return payload.decode(view)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return _Unloadable(kind, error)

    def pop(self, number: int, default: Any = None) -> None:
        """Forget an object."""
        self._objects.pop(number, None)


class _Unloadable:
    """A stand-in for an object that could not be unpickled."""

    def __init__(self, kind: str, error: BaseException) -> None:
        self._text = (
            f"the shared {kind} cannot be unpickled in a worker: {in_words(error)}. What its class needs has to be "
            "there, too: modules, files, devices."
        )
        self._error = error

    def error(self) -> PayloadError:
        made = PayloadError(self._text)
        made.__cause__ = self._error.with_traceback(None)
        return made


# -- what is pickled apart, ahead of the call it goes with


class _Attached(threading.local):
    objects: tuple[Any, ...] = ()


_attached = _Attached()


def detached(dump: Callable[[], bytes]) -> tuple[bytes, tuple[Shared, ...]]:
    """A pickle, and the shared objects it refers to, which have to go along."""
    found: list[Shared] = []

    def place(shared: Any) -> tuple[Any, tuple[Any, ...]]:
        if type(shared) is not Shared:
            raise PayloadError("a future cannot be pickled by itself: pass its result()")
        found.append(shared)
        return _load_attached, (len(found) - 1, shared._key)

    with packing(place):
        return dump(), tuple(found)


@contextmanager
def attached(objects: tuple[Any, ...]) -> Iterator[None]:
    """While such a pickle is loaded: the objects that came along."""
    before, _attached.objects = _attached.objects, objects
    try:
        yield
    finally:
        _attached.objects = before


def _load_attached(position: int, _: int) -> Any:
    return _attached.objects[position]


# -- where nothing is sent


def unshared(value: Any, within: tuple[int, ...] = ()) -> Any:
    """The value itself, or a copy with the objects in the places of their handles."""
    kind = type(value)
    if kind is Shared:
        return value.value
    if kind is functools.partial:
        function, args, kwargs = value.func, value.args, value.keywords
        made = unshared((function, args, kwargs), within)
        return value if made[0] is function and made[1] is args and made[2] is kwargs else _partial(*made)
    if kind not in PARTS or id(value) in within or len(within) > DEEPEST:
        return value
    parts = value.values() if kind is dict else value
    if {Shared, functools.partial, *PARTS}.isdisjoint(map(type, parts)):
        return value
    new = [unshared(part, (*within, id(value))) for part in parts]
    if all(map(operator.is_, parts, new)):
        return value
    return dict(zip(value, new, strict=True)) if kind is dict else kind(new)


def _partial(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return functools.partial(function, *args, **kwargs)
