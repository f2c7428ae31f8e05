"""Stores for large values: connectors of ProxyStore's kind, and what is put there, read and swept away.

A store is named by its *source*, from which any process makes its own connector.
"""

from __future__ import annotations

import importlib
import os
import pickle
import threading
import uuid
from typing import Any

from ....errors import PayloadError, UsageError, in_words
from ....serialization import payload
from ....serialization.payload import Encoded

Source = tuple[str, bytes]
"""A connector for any process: the path of its class, its pickled configuration."""

_connectors: dict[Source, Any] = {}  # of this process
_lock = threading.Lock()


def chosen(proxies: Any) -> Any:
    """The connector that an executor's option ``proxies`` names or is; see `proxies.keeper`."""
    if all(callable(getattr(proxies, name, None)) for name in ("put", "get", "evict", "config")):
        return proxies
    if isinstance(proxies, str):
        kind, _, rest = proxies.partition(":")
        if kind == "file" and rest:
            from . import files

            os.makedirs(rest, exist_ok=True)
            return files.MappedFiles(os.path.abspath(rest), mapped=False)
        if kind == "redis" and rest.startswith("//"):
            from proxystore.connectors.redis import RedisConnector

            host, _, port = rest[2:].rstrip("/").partition(":")
            return RedisConnector(host, int(port or 6379), clear=False)
        if kind == "endpoint" and rest:
            from proxystore.connectors.endpoint import EndpointConnector

            return EndpointConnector([rest])
    raise UsageError(
        'proxies takes True, False, "file", "file:FOLDER", "redis://HOST:PORT", "endpoint:UUID" or a connector of '
        f"ProxyStore's, not {proxies!r}"
    )


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


def source_of(made: Any) -> Source:
    """Return the class and the pickled configuration of a connector."""
    kind = type(made)
    return f"{kind.__module__}.{kind.__qualname__}", pickle.dumps(made.config())


def name_of(source: Source) -> str:
    """Return a store's name for messages."""
    return f"the store ({source[0].rpartition('.')[2]})"


def put(made: Any, encoded: Encoded, token: bytes) -> Any:
    """Its key; None where there is no room for it: then it travels by itself."""
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


def read(source: Source, key: Any, size: int) -> Any:
    """A value of so many bytes; raises `PayloadError` where the store does not have it."""
    try:
        data = connector(source).get(key)
    except Exception as error:
        raise PayloadError(
            f"a value of {size:,} bytes could not be read from {name_of(source)}: {in_words(error)}"
        ) from error
    if data is None:
        raise PayloadError(
            f"a value of {size:,} bytes is not in {name_of(source)} any more: it was evicted, or this machine does not "
            "see the same store. Values go when their future is gone and at the executor's end."
        )
    view = memoryview(data)
    return payload.decode_own(view, None if view.readonly else lambda at, length: view[at : at + length])


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
    out = bytearray(encoded.size)
    for at, part in encoded.parts():
        out[at : at + (part.nbytes if isinstance(part, memoryview) else len(part))] = part
    return bytes(out)
