"""Stores for large values: connectors of ProxyStore's kind, and what is put there, read and swept away.

A store is named by its *source*, from which any process makes its own connector.
"""

from __future__ import annotations

import importlib
import mmap
import os
import pickle
import sys
import threading
import uuid
import weakref
from collections.abc import Sequence
from typing import Any

from cffi import FFI

from ....errors import BackendError, PayloadError, UsageError, in_words
from ....serialization import payload
from ....serialization.payload import Encoded
from . import files
from .own_memory import own_copy

Source = tuple[str, bytes]
"""A connector for any process: the path of its class, its pickled configuration."""

ALIGNED = 16  # bytes, to a multiple of which memory of any array is aligned
MAPPED = 32 << 20  # bytes, from which on the C library maps memory anew for each object
ON_WORKERS = ("DaskValues", "RayValues")  # connectors to what stays with the cluster's own means
_connectors: dict[Source, Any] = {}  # of this process
_lock = threading.Lock()
_ffi = FFI()
_ffi.cdef("int madvise(void *address, size_t length, int advice);")
_libc: Any = _ffi.dlopen(None)


class Parts:
    """A value as a connector has it that keeps the pickle and its buffers apart. ``alone``: nothing else has these."""

    def __init__(self, parts: Sequence[Any], *, alone: bool = False) -> None:
        self._parts = parts
        self._alone = alone

    def load(self) -> Any:
        """The value, with buffers of its own; once where they are alone."""
        data, *buffers = self._parts
        views = [memoryview(each).cast("B") for each in buffers]
        return pickle.loads(
            data, buffers=[each if self._alone and _is_usable(each) else own_copy(each) for each in views]
        )


class AsLeft(Parts):
    """A value in the memory in which its task has left it. Another process gets a list, see `received`, also one that
    lacks Cellmill: the buffers, which belong to arrays, as arrays of bytes.
    """

    def __init__(self, encoded: Encoded) -> None:
        super().__init__([encoded.data, *encoded.buffers])
        self._encoded = encoded

    def __reduce__(self) -> tuple[Any, ...]:
        numpy: Any = sys.modules["numpy"]
        arrays = [numpy.frombuffer(each, numpy.uint8) for each in self._parts[1:]]
        # Dask puts the first array behind its message, wherever that ends: one that does not matter
        return list, ([self._parts[0], numpy.zeros(1, numpy.uint8), *arrays],)

    def __sizeof__(self) -> int:
        return self._encoded.size


def received(found: Any, *, alone: bool) -> Any:
    """Return what another process has of a kept value. ``alone``: nothing else in this one has the same."""
    return Parts([found[0], *found[2:]], alone=alone) if type(found) is list else found


def kept(encoded: Encoded) -> bytes | AsLeft:
    """Return what is kept of a payload in this process, as it is now: a copy where its task's memory can be changed by
    others.
    """
    return AsLeft(encoded) if encoded.buffers and all(map(is_alone, encoded.buffers)) else joined(encoded)


def left(encoded: Encoded) -> list[bytes | memoryview]:
    """Return what makes a payload, one after another, as it is now: without a copy where only that leads to the memory
    of its buffers.
    """
    alone = encoded.buffers and all(map(is_alone, encoded.buffers))
    return _pieces(encoded) if alone else [joined(encoded)]


def is_alone(view: memoryview) -> bool:
    """Whether nothing but this view of an array leads to its memory, which so stays as it is."""
    owner: Any = view.obj
    numpy = sys.modules.get("numpy")
    if numpy is None or type(owner) is not numpy.ndarray or owner.base is not None or not owner.flags.owndata:
        return False
    del owner
    return _references(view) == _ONE and not weakref.getweakrefcount(view.obj)


def _is_usable(view: memoryview) -> bool:
    """Whether any array may be in this memory, and be written to."""
    return not view.readonly and int(_ffi.cast("uintptr_t", _ffi.from_buffer(view))) % ALIGNED == 0


def _references(view: memoryview) -> int:
    """Return how many there are to what a view shows, with those of this function."""
    owner = view.obj
    return sys.getrefcount(owner)


_ONE = _references(memoryview(bytearray(1)))


def _in_large_pages(size: int) -> tuple[bytes, Any]:
    """Return zeros, and a buffer to write to them as long as they are the caller's alone."""
    made = bytes(size)  # mapped anew, and not touched
    place = _ffi.from_buffer(made)
    first = int(_ffi.cast("uintptr_t", place))
    inner = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = (first + size - inner) // mmap.PAGESIZE
    _libc.madvise(
        _ffi.cast("void *", inner), pages * mmap.PAGESIZE, mmap.MADV_HUGEPAGE
    )  # or it has small ones
    return made, _ffi.buffer(_ffi.cast("char *", place), size)


def chosen(proxies: Any) -> Any:
    """The connector that an executor's option ``proxies`` names or is; see `proxies.keeper`."""
    if all(callable(getattr(proxies, name, None)) for name in ("put", "get", "evict", "config")):
        return proxies
    if isinstance(proxies, str):
        kind, _, rest = proxies.partition(":")
        if kind == "file" and rest:
            os.makedirs(rest, exist_ok=True)
            return files.MappedFiles(os.path.abspath(rest), mapped=False)
        if (kind == "redis" and rest.startswith("//")) or (kind == "endpoint" and rest):
            return _of_proxystore(kind, rest)
    raise UsageError(
        'proxies takes True, False, "file", "file:FOLDER", "workers", "redis://HOST:PORT", "endpoint:UUID" or a '
        f"connector of ProxyStore's, not {proxies!r}"
    )


def _of_proxystore(kind: str, rest: str) -> Any:
    try:
        importlib.import_module("proxystore")
    except ImportError:
        raise BackendError(f"values by {kind} need ProxyStore: pip install 'cellmill[proxies]'") from None
    if kind == "redis":
        from proxystore.connectors.redis import RedisConnector

        host, _, port = rest[2:].rstrip("/").partition(":")
        return RedisConnector(host, int(port or 6379), clear=False)
    from proxystore.connectors.endpoint import EndpointConnector

    return EndpointConnector([rest])


def connector(source: Source) -> Any:
    """The connector of a source, one in each process."""
    made = _connectors.get(source)
    if made is None:
        with _lock:
            made = _connectors.get(source)
            if made is None:
                module, _, name = source[0].rpartition(".")
                kind = getattr(importlib.import_module(module), name)
                made = _connectors[source] = kind.from_config(pickle.loads(source[1]))
    return made


def keep(source: Source, made: Any) -> None:
    """Use this connector for its store in this process."""
    with _lock:
        _connectors[source] = made


def drop(source: Source) -> None:
    """Forget the connector to a store in this process."""
    with _lock:
        _connectors.pop(source, None)


def leave(source: Source) -> None:
    """Put nothing more there from this process."""
    with _lock:
        made = _connectors.pop(source, None)
    if hasattr(made, "leave"):
        made.leave()


def source_of(made: Any) -> Source:
    """Return the class and the pickled configuration of a connector: ``elsewhere`` where it has another one there."""
    kind = getattr(made, "elsewhere", type(made))
    return f"{kind.__module__}.{kind.__qualname__}", pickle.dumps(made.config())


def name_of(source: Source) -> str:
    """Return a store's name for messages."""
    kind = source[0].rpartition(".")[2]
    return "the workers" if kind in ON_WORKERS else f"the store ({kind})"


def put(made: Any, encoded: Encoded, token: bytes, task: str = "") -> Any:
    """Its key; None where there is no room for it: then it travels by itself. ``task``: that made it, for people."""
    if hasattr(made, "hold"):
        return made.hold(encoded, token, task)
    try:
        if not hasattr(made, "set"):
            return made.put(joined(encoded))
        key = made.new_key()
        # by the beginning of its name it is known to be ours, should its worker die before it handed it over
        key = key._replace(**{key._fields[0]: f"{token.hex()}-{uuid.uuid4().hex}"})
        if hasattr(made, "set_parts"):
            made.set_parts(key, encoded.parts())
        else:
            made.set(key, joined(encoded))
        return key
    except OSError:
        return None
    except Exception as error:
        raise PayloadError(
            f"a value of {encoded.size:,} bytes could not be put into {name_of(source_of(made))}: {in_words(error)}. "
            "Is the store running, and reached from the kernel and the workers? proxies=False sends values in messages."
        ) from error


def read(source: Source, key: Any, size: int) -> Any:
    """A value of so many bytes; raises `PayloadError` where the store does not have it, `WorkerLostError` where it was
    on a worker that is lost.
    """
    try:
        data = connector(source).get(key)
    except Exception as error:
        raise PayloadError(
            f"a value of {size:,} bytes could not be read from {name_of(source)}: {in_words(error)}"
        ) from error
    if data is None and hasattr(key, "lost"):
        raise key.lost(size)
    if data is None:
        raise PayloadError(
            f"a value of {size:,} bytes is not in {name_of(source)} any more: it was evicted, or this machine does not "
            "see the same store. Values go when their future is gone and at the executor's end."
        )
    if isinstance(data, Parts):
        return data.load()
    view = memoryview(data)

    def own(at: int, length: int) -> memoryview:
        part = view[at : at + length]
        return memoryview(own_copy(part)) if view.readonly else part

    return payload.decode_own(view, own)


def to_fetch(key: Any, size: int) -> int:
    """Return how many bytes of a value a worker has to fetch that did not make it; 0 where all get it alike."""
    return key.to_fetch(size) if hasattr(key, "to_fetch") else 0


def sweep(made: Any, token: bytes) -> None:
    """Evict what has no owner, where a store can be asked for it."""
    if hasattr(made, "sweep"):
        made.sweep(token.hex())
    client = getattr(made, "_redis_client", None)
    if client is not None:
        for name in client.scan_iter(match=f"{token.hex()}-*"):
            client.delete(name)


def joined(encoded: Encoded) -> bytes:
    """A payload as in memory, its buffers at their places."""
    if not encoded.buffers:
        return encoded.data
    if encoded.size >= MAPPED:
        made, room = _in_large_pages(encoded.size)
        for at, part in encoded.parts():
            room[at : at + memoryview(part).nbytes] = part
        return made
    return b"".join(_pieces(encoded))


def _pieces(encoded: Encoded) -> list[bytes | memoryview]:
    """Return what makes a payload with buffers, one after another."""
    pieces: list[bytes | memoryview] = []
    end = 0
    for at, part in encoded.parts():
        pieces += [bytes(at - end), part]
        end = at + memoryview(part).nbytes
    return [*pieces, bytes(encoded.size - end)]
