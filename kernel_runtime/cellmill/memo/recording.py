"""How a result is kept as it comes to the kernel: packed where the task ran, before any code can change it."""

from __future__ import annotations

import os
import pickle
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ..diagnostics.short_text import HIDDEN_ARGUMENT
from ..serialization import payload
from ..serialization.function_code import check_batch, function_name
from .stores import Store

_PICKLE = 0x80  # with which a pickle begins
_PLAIN = frozenset({bool, bytes, float, int, str, type(None)})  # `payload.encode` has nothing to do for these
_open: weakref.WeakValueDictionary[bytes, Store] = weakref.WeakValueDictionary()  # of this process


class Keys(Protocol):
    """What tells the keys of a function's calls."""

    def is_still(self, digest: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether this is the key of such a call now."""


_keys: weakref.WeakValueDictionary[bytes, Keys] = weakref.WeakValueDictionary()  # of this process


def argument(digest: bytes) -> bytes:
    """Return the first argument of a task whose result is kept under this key: bytes, which are packed by thousands in
    the time of a single object, and which messages leave out.
    """
    return HIDDEN_ARGUMENT + digest


class _Arriving:
    """A result on its way: pickled, it is a call of `arrive`."""

    __slots__ = ("digest", "function", "store", "value")

    def __init__(self, store: bytes, digest: bytes, function: str, value: Any) -> None:
        self.store, self.digest, self.function, self.value = store, digest, function, value

    def __reduce__(self) -> tuple[Any, ...]:
        return arrive, (self.store, self.digest, self.function, packed(self.value))


def opened(store: Store) -> None:
    """Have results kept in this store from now on."""
    _open[store.identity] = store


def forget() -> None:
    """Have results kept in no store: those of before are another process's."""
    _open.clear()
    _keys.clear()


def recorded(
    function: Callable[..., Any], store: bytes, keys: Keys, *, batch: bool = False
) -> Callable[..., Any]:
    """Return what runs in a task in place of a function: it takes an `argument` before its own. A batch function gets
    a list of (argument, item). ``store``: the identity of the one that keeps its results; ``keys``: of its calls.
    """
    name, called = function_name(function), os.urandom(16)
    _keys[called] = keys
    if batch:

        def run(items: list[tuple[bytes, Any]], **constants: Any) -> Any:
            before = [_is_still(called, key, (item,), constants) for key, item in items]
            values = check_batch(name, function([item for _, item in items], **constants), len(items))
            return [
                _kept(store, key, name, value, same and _is_still(called, key, (item,), constants))
                for (key, item), value, same in zip(items, values, before, strict=True)
            ]

    else:

        def run(key: bytes, /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
            same = _is_still(called, key, args, kwargs)
            value = function(*args, **kwargs)
            return _kept(store, key, name, value, same and _is_still(called, key, args, kwargs))

    run.__name__ = run.__qualname__ = name
    return run


def _is_still(called: bytes, key: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a task in the kernel's process finds all as it was at the call; False in workers, which never know."""
    keys = _keys.get(called)
    return keys is not None and keys.is_still(key[len(HIDDEN_ARGUMENT) :], args, kwargs)


def _kept(store: bytes, key: bytes, function: str, value: Any, same: bool) -> Any:
    digest, here = key[len(HIDDEN_ARGUMENT) :], _open.get(store)
    if here is None:
        return _Arriving(store, digest, function, value)
    if same:  # else the task, in the kernel's process, saw another state than that of the call
        here.put(digest, function, packed(value))
    return value


def arrive(store: bytes, digest: bytes, function: str, data: bytes) -> Any:
    """Return a result; in the process of its store it is kept first."""
    found = _open.get(store)
    if found is not None:
        found.put(digest, function, data)
    return unpacked(data)


def packed(value: Any) -> bytes:
    """The bytes of a value, each reading of which is another object."""
    if type(value) in _PLAIN:
        return pickle.dumps(value, 5)
    encoded = payload.encode(value)
    if not encoded.buffers:
        return encoded.data
    block = bytearray(encoded.size)
    for offset, part in encoded.parts():
        view = memoryview(part).cast("B")
        block[offset : offset + view.nbytes] = view
    return bytes(block)


def unpacked(data: bytes) -> Any:
    """The value of `packed`."""
    if data[0] == _PICKLE:  # without buffers: most results
        return pickle.loads(data)
    return payload.decode_own(memoryview(data))
