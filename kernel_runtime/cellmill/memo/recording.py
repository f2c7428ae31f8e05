"""How a result is kept as it comes to the kernel: packed where the task ran, before any code can change it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ..serialization import payload
from ..serialization.function_code import check_batch, function_name
from .stores import Store

_open: weakref.WeakValueDictionary[bytes, Store] = weakref.WeakValueDictionary()  # of this process


class Key:
    """Where the result of one call is kept; goes along as the first argument of its task, and is shown nowhere."""

    __slots__ = ("digest", "store")
    hidden_argument = True

    def __init__(self, store: bytes, digest: bytes) -> None:
        self.store, self.digest = store, digest

    def __reduce__(self) -> tuple[Any, ...]:
        return Key, (self.store, self.digest)


class _Arriving:
    """A result on its way: pickled, it is a call of `arrive`."""

    __slots__ = ("function", "key", "value")

    def __init__(self, key: Key, function: str, value: Any) -> None:
        self.key, self.function, self.value = key, function, value

    def __reduce__(self) -> tuple[Any, ...]:
        return arrive, (self.key.store, self.key.digest, self.function, packed(self.value))


def opened(store: Store) -> None:
    """Have results kept in this store from now on."""
    _open[store.identity] = store


def forget() -> None:
    """Have results kept in no store: those of before are another process's."""
    _open.clear()


def recorded(function: Callable[..., Any], *, batch: bool = False) -> Callable[..., Any]:
    """Return what runs in a task in place of a function: it takes a `Key` before the arguments. A batch function gets
    a list of (key, item).
    """
    name = function_name(function)
    if batch:

        def run(items: list[tuple[Key, Any]], **constants: Any) -> Any:
            values = check_batch(name, function([item for _, item in items], **constants), len(items))
            return [_kept(key, name, value) for (key, _), value in zip(items, values, strict=True)]

    else:

        def run(key: Key, /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[misc]
            return _kept(key, name, function(*args, **kwargs))

    run.__name__ = run.__qualname__ = name
    return run


def _kept(key: Key, function: str, value: Any) -> Any:
    store = _open.get(key.store)
    if store is None:
        return _Arriving(key, function, value)
    store.put(key.digest, function, packed(value))  # the task ran in the kernel's process
    return value


def arrive(store: bytes, digest: bytes, function: str, data: bytes) -> Any:
    """Return a result; in the process of its store it is kept first."""
    found = _open.get(store)
    if found is not None:
        found.put(digest, function, data)
    return unpacked(data)


def packed(value: Any) -> bytes:
    """The bytes of a value, each reading of which is another object."""
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
    return payload.decode_own(memoryview(data))
