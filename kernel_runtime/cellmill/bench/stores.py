"""Ways through a cluster for large values, beside the plain ones: a store next to the engine, and Cellmill over it."""

from __future__ import annotations

import contextlib
import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from cellmill.backends import KNOWN

from . import rivals

NAMES = {
    "dask:proxystore": "Dask + ProxyStore, files",
    "dask:cellmill": "Cellmill over Dask",
    "dask:packs": "Cellmill over Dask, no store",
    "ray:cellmill": "Cellmill over Ray",
    "ray:packs": "Cellmill over Ray, no store",
}


class DaskWithStore(rivals.Dask):
    """ProxyStore's executor around Dask's client: arrays go by its file connector. What it makes is evicted by hand."""

    name = NAMES["dask:proxystore"]

    def start(self, workers: int) -> None:
        import numpy
        from proxystore.connectors.file import FileConnector
        from proxystore.proxy import Proxy, extract, get_factory
        from proxystore.store import Store
        from proxystore.store.executor import ProxyType, StoreExecutor

        super().start(workers)
        folder = tempfile.TemporaryDirectory(prefix="cellmill-proxystore-")
        self._undo = contextlib.ExitStack()
        self._undo.enter_context(folder)
        self._store: Any = Store("bench", FileConnector(folder.name), register=True)
        self._undo.callback(self._store.close)
        pool = StoreExecutor(
            self.client, self._store, ProxyType(numpy.ndarray), ownership=False, close_store=False
        )
        self.submit: Callable[..., Any] = lambda function, *arguments: pool.submit(
            function, *arguments, pure=False
        )
        self._proxy: Any = Proxy
        self._factory: Any = get_factory
        self._extract: Any = extract

    def stop(self) -> None:
        super().stop()
        self._undo.close()

    def take(self, handle: Any) -> Any:
        value = handle.result()
        if type(value) is not self._proxy:
            return value
        found = self._extract(value)
        self._store.evict(self._factory(value).key)
        return found

    def gather(self, handles: Any) -> list[Any]:
        return [self.take(handle) for handle in handles]


class Over(rivals.Cellmill):
    """Cellmill over somebody else's engine."""

    def __init__(self, key: str) -> None:
        engine, _, how = key.partition(":")
        self.name = NAMES[key]
        self._backend = engine
        self._options = {"proxies": False} if how == "packs" else {}

    def start(self, workers: int) -> None:
        self.pool = self.library.Executor(workers, backend=self._backend, **self._options)
        self.submit = self.pool.submit


@contextlib.contextmanager
def running(key: str, workers: int) -> Iterator[rivals.Runtime]:
    """One of these, or one of the rivals, with warm workers."""
    if key not in NAMES:
        with rivals.running(key, workers) as pool:
            yield pool
        return
    runtime: rivals.Runtime = DaskWithStore() if key == "dask:proxystore" else Over(key)
    runtime.load()
    runtime.start(workers)
    try:
        runtime.warm(workers)
        yield runtime
    finally:
        runtime.stop()


def missing(key: str) -> str | None:
    """None when it can be measured here, else what to do."""
    if key in NAMES and not key.endswith(":proxystore") and rivals.kind(key) not in KNOWN:
        return f"this version has no {rivals.kind(key)} backend"
    if key in ("dask:proxystore", "dask:cellmill", "ray:cellmill") and not importlib.util.find_spec(
        "proxystore"
    ):
        return "not installed (`pip install 'cellmill[proxies]'`)"
    return rivals.missing(key)
