"""Ways through a cluster for large values, beside the plain ones: a store next to the engine, and Cellmill over it."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from cellmill.backends import KNOWN

from . import rivals

NAMES = {
    "dask:proxystore": "Dask + ProxyStore, files",
    "dask:redis": "Dask + ProxyStore, Redis",
    "dask:cellmill": "Cellmill over Dask",
    "dask:packs": "Cellmill over Dask, no store",
    "ray:cellmill": "Cellmill over Ray",
    "ray:packs": "Cellmill over Ray, no store",
}
STORED = ("dask:proxystore", "dask:redis")
REDIS_SECONDS = 10.0  # for its server to stand


class DaskWithStore(rivals.Dask):
    """ProxyStore's executor around Dask's client: arrays go by its connector. What it makes is evicted by hand."""

    def __init__(self, key: str) -> None:
        self.name = NAMES[key]
        self._connected = _redis if key == "dask:redis" else _files

    def start(self, workers: int) -> None:
        import numpy
        from proxystore.proxy import Proxy, extract, get_factory
        from proxystore.store import Store
        from proxystore.store.executor import ProxyType, StoreExecutor

        super().start(workers)
        self._undo = contextlib.ExitStack()
        folder = self._undo.enter_context(tempfile.TemporaryDirectory(prefix="cellmill-proxystore-"))
        self._store: Any = Store("bench", self._connected(folder, self._undo), register=True)
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


def _files(folder: str, _: contextlib.ExitStack) -> Any:
    from proxystore.connectors.file import FileConnector

    return FileConnector(folder)


def _redis(folder: str, undo: contextlib.ExitStack) -> Any:
    """The connector to a server of our own, which ends with ``undo``."""
    from proxystore.connectors.redis import RedisConnector

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    undo.callback(server.wait)
    undo.callback(server.kill)
    deadline = time.monotonic() + REDIS_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return RedisConnector("127.0.0.1", port)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


class Over(rivals.Cellmill):
    """Cellmill over another engine."""

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
    """Yield one of these, or a rival, with warm workers."""
    if key not in NAMES:
        with rivals.running(key, workers) as pool:
            yield pool
        return
    runtime: rivals.Runtime = DaskWithStore(key) if key in STORED else Over(key)
    runtime.load()
    runtime.start(workers)
    try:
        runtime.warm(workers)
        yield runtime
    finally:
        runtime.stop()


def missing(key: str) -> str | None:
    """None when it can be measured here, else what to do."""
    if key in NAMES and key not in STORED and rivals.kind(key) not in KNOWN:
        return f"this version has no {rivals.kind(key)} backend"
    if key == "dask:redis" and (not shutil.which("redis-server") or not importlib.util.find_spec("redis")):
        return "not installed (`apt-get install redis-server`, `pip install redis`)"
    if key in STORED and not importlib.util.find_spec("proxystore"):
        return "not installed (`pip install 'cellmill[proxies]'`)"
    return rivals.missing(key)
