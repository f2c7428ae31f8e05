"""Dask: an own LocalCluster, or any cluster that a `distributed.Client` reaches."""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ....errors import BackendError, UsageError, in_words
from ....process_context.cpus import available_cpus
from ..pack import reply_size
from ..remote import entry
from .dask_buffers import Buffers
from .dask_connection import CONNECT_SECONDS, PATIENCE_SECONDS, START_SECONDS, Connection
from .dask_demand import Placeholders
from .dask_direct import Direct
from .dask_heartbeats import Heartbeats
from .dask_inputs import refer
from .dask_left import DaskStore
from .dask_presence import Presence
from .dask_quiet import large_message
from .dask_releases import Releases
from .dask_values import HeldByDask
from .dask_words import Words
from .dask_workers import LEFT, check_alone, ended_for_memory, let_go, remotes_of
from .protocol import Heard, Lanes, Reference, RemoteWorker, Waiting

LEAVING_SECONDS = 5.0  # for a worker whose pack Dask gave up to be seen leaving
LOOK_SECONDS = 0.2
TAKERS = 4  # threads that fetch replies

# What a pack calls. As text it loads everywhere: a message that cannot be unpickled, because Cellmill is not installed
# there, closes a worker of Dask, and what others keep in it is lost.
_RUN, _RUN_IN_PARTS = (
    f"__import__('importlib').import_module({entry.__name__!r}).{run.__name__}(data)"
    for run in (entry.run, entry.run_in_parts)
)

Key = tuple[str, int]  # address of a worker, and which of its threads


class DaskEngine:
    """See `engine.Engine`. ``target``: None, an address, a `Client` or a cluster object. ``end_workers``: whether
    processes of a borrowed cluster may be ended in which no other client has anything.
    """

    name = "dask"
    keeps = True

    def __init__(
        self, target: Any = None, *, end_workers: bool = False, security: Any = None, **options: Any
    ) -> None:
        self.connection = Connection(target, security, options)
        self.owns = self.refills = self.connection.owns
        self._may_end = end_workers
        self._client: Any = None  # once it is open
        self._lanes: Lanes | None = None
        self._workers: dict[str, tuple[str, list[RemoteWorker]]] = {}  # by address: identity, remote workers
        self._futures: dict[int, tuple[Any, str]] = {}  # by pack: future, address
        # Of the keys of our packs; with a digit, so that Dask takes what precedes it for the function's name.
        self._mark = f"0{os.urandom(8).hex()}"
        self._releases = Releases()
        self._heartbeats = Heartbeats()
        self._placeholders: Placeholders | None = None
        self._buffers: Buffers | None = None
        self._direct: Direct | None = None
        self._words: Words | None = None
        self._presence: Presence | None = None  # on a cluster that does not end with the kernel
        self._answered: set[str] = set()  # addresses that have run a pack: Cellmill is there
        self._takers = ThreadPoolExecutor(TAKERS, "cellmill-dask-take")
        self._changes = threading.Event()
        self._closed = False
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    # -- life

    @property
    def where(self) -> str:
        return self.connection.where

    def open(self, lanes: Lanes, workers: int | None) -> int:
        self._lanes = lanes
        expected = self.connection.open(workers or available_cpus())
        self._client = self.connection.client
        self._placeholders = Placeholders(self._client, self._mark)
        self._buffers = Buffers(self._client)
        self._direct = Direct(self._client)
        self._words = Words(self._client, self._workers.__contains__)
        self._presence = None if self.owns else Presence(self._client)
        self._watch()
        self._watcher = threading.Thread(target=self._watch_loop, name="cellmill-dask-watch", daemon=True)
        self._watcher.start()
        return expected

    def close(self) -> None:
        self._closed = True
        self._changes.set()
        self._heartbeats.end()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join(LOOK_SECONDS + CONNECT_SECONDS)
        if self._placeholders is not None:
            self._placeholders.close()
        self._drop([future for future, _ in list(self._futures.values())])
        self._futures.clear()
        self._takers.shutdown(wait=False, cancel_futures=True)
        self._releases.release()
        if self._presence is not None:
            self._presence.close()
        self.connection.close()

    # -- remote workers

    def _watch_loop(self) -> None:
        heard = time.monotonic()
        while not self._closed:
            self._changes.wait(LOOK_SECONDS)
            self._changes.clear()
            try:
                self._watch()
                heard = time.monotonic()
                self._releases.release()
                self._look_after()
            except Exception as error:
                if not self.connection.goes_on or time.monotonic() - heard > PATIENCE_SECONDS:
                    self._give_up(error)
                    return

    def _give_up(self, error: Exception) -> None:
        if self._closed or self._lanes is None:
            return
        self._lanes.broken(
            BackendError(
                f"{self.where} does not answer any more: {in_words(error)}. What was outstanding there is lost; "
                + (
                    "make a new executor (`%cellmill backend dask`)."
                    if self.owns
                    else "start its scheduler again, and make a new executor."
                )
            )
        )
        if self._presence is not None:
            self._presence.close()
        self.connection.leave()  # else it goes on trying, and says so

    def _watch(self) -> None:
        """Tell of workers that came and went since the last look."""
        assert self._lanes is not None
        workers = self.connection.identity()["workers"]
        with self._lock:
            now = {address: str(w["id"]) + str(w.get("server_id", "")) for address, w in workers.items()}
            gone = [a for a, (identity, _) in self._workers.items() if now.get(a) != identity]
            lost = [(a, self._workers.pop(a)[1]) for a in gone]
            came = []
            for address, w in workers.items():
                if address in self._workers or str(w.get("status", "running")) not in (
                    "running",
                    "Status.running",
                ):
                    continue
                remotes = remotes_of(address, w)
                self._workers[address] = (now[address], remotes)
                came += remotes
            keys = {a: [remote.key for remote in remotes] for a, (_, remotes) in self._workers.items()}
        used = ended_for_memory(self._client, gone) if gone else {}
        left = let_go(self._client, gone)
        for address, remotes in lost:
            self._forget(address)
            for remote in remotes:
                self._lanes.gone(remote.key, used.get(address, LEFT), address in left)
        if came:
            self._lanes.came(*came)
            if self.spares:
                new = {remote.address for remote in came}
                threading.Thread(
                    target=self._prepare, args=(new,), name="cellmill-dask-tell", daemon=True
                ).start()
        self._heartbeats.read(workers, keys)

    def _look_after(self) -> None:
        """Keep up the number of an own cluster's workers."""
        own = self.connection.own
        if own is not None and not self._closed:
            with self._lock:
                packs = {n for n, (_, at) in self._futures.items() if at in self._answered}
            own.look(packs)

    @property
    def spares(self) -> int:
        own = self.connection.own
        return 0 if own is None else own.spares

    def _prepare(self, addresses: Collection[str]) -> None:
        """Have workers of an own cluster import what a lane needs: one to spare has none yet."""
        with contextlib.suppress(Exception):  # one that is going
            self._client.run(importlib.import_module, entry.__name__, workers=list(addresses))

    def _forget(self, address: str) -> None:
        """Packs that are pinned to a worker that is gone would wait for ever."""
        with self._lock:
            numbers = [n for n, (_, at) in self._futures.items() if at == address]
            futures = [self._futures.pop(n)[0] for n in numbers]
        self._drop(futures)

    def _drop(self, futures: list[Any]) -> None:
        if futures:
            with contextlib.suppress(Exception):
                self._client.cancel(futures, force=True)

    # -- packs

    def send(self, key: Hashable, pack: int, data: list[Any], name: str) -> None:
        address: str = key[0]  # type: ignore[index]
        if self._buffers is not None:
            data = self._buffers.wrapped(address, data)
        direct = self._direct is not None and self._direct.reaches(address)
        with large_message(data):
            future = self._client.submit(
                eval,
                _RUN_IN_PARTS if direct else _RUN,  # the scheduler copies all parts
                {"data": data},
                key=f"{name}-{self._mark}-{pack}",
                workers=[address],
                pure=False,
                allow_other_workers=False,
                fifo_timeout=0,  # beside tasks of others, too, packs run in the order in which they were sent
            )
        with self._lock:
            self._futures[pack] = (future, address)
        future.add_done_callback(lambda done: self._over(pack, done))

    def _over(self, pack: int, future: Any) -> None:
        """Hand a finished pack to a thread that may wait. Runs in a thread that all futures of this process share."""
        with contextlib.suppress(RuntimeError):  # it was closed just now
            self._takers.submit(self._take, pack, future)

    def _take(self, pack: int, future: Any) -> None:
        if self._closed or self._lanes is None or self._direct is None:
            return
        with self._lock:
            address = self._futures[pack][1] if pack in self._futures else ""
        try:
            if future.status == "finished":
                reply = self._direct.result(future, address, START_SECONDS)
                self._direct.learn(address, reply_size(reply))
                with self._lock:
                    self._answered.add(address)
                self._lanes.replied(pack, reply)
            elif future.status == "error":
                self._lanes.failed(pack, future.exception())
            elif not self._leaves(pack):
                self._lanes.failed(pack, BackendError(f"Dask says that this pack is {future.status}"))
        except Exception as error:  # it was there, and went with its worker before it came here?
            if not self._leaves(pack):
                self._lanes.failed(pack, error)
        finally:
            with self._lock:
                self._futures.pop(pack, None)
            self._releases.add(future)

    def _leaves(self, pack: int) -> bool:
        """Whether a pack that was cancelled or lost went with its worker, whose end is told by itself."""
        with self._lock:
            address = self._futures[pack][1] if pack in self._futures else None
            before = self._workers.get(address) if address is not None else None
        end = time.monotonic() + LEAVING_SECONDS
        while before is not None and not self._closed:
            self._changes.set()
            if time.monotonic() > end:
                return False
            time.sleep(LOOK_SECONDS)
            with self._lock:
                before = before if address is not None and self._workers.get(address) is before else None
        return True

    def tell(self, key: Hashable, message: bytes) -> None:
        if self._words is not None:
            self._words.tell(key[0], message)  # type: ignore[index]

    def ask(self, key: Hashable, message: bytes) -> Any:
        address = key[0]  # type: ignore[index]
        if self._words is None or address not in self._answered:
            return None  # nothing of ours is there, and it may not know what this is
        return self._words.ask(address, message)

    def refer(self, thing: Any) -> Reference | None:
        return refer(self._client, self.where, thing)

    def want(self, waiting: Sequence[Waiting], there: int, more: int) -> None:
        if self._placeholders is not None and not self._closed:
            with contextlib.suppress(Exception):  # a scheduler that does not hear is told of by itself
                self._placeholders.show(waiting, there, more)

    def values(self) -> HeldByDask:
        return HeldByDask(lambda: self._client, self._reached)

    def _reached(self) -> Direct:
        if self._direct is None:
            raise BackendError(f"{self.where} has not been reached")
        return self._direct

    def leave_alone(self, key: Hashable) -> None:
        address = key[0]  # type: ignore[index]
        with self._lock:
            if address in self._workers:
                self._workers[address] = (self._workers[address][0], [])

    def watch(self) -> Callable[[bytes], None] | None:
        return None if self._presence is None else self._presence.watch()

    def store(self) -> DaskStore:
        return DaskStore(self._client)

    def measure(self, message: bytes, heard: Heard) -> None:
        with self._lock:
            self._answered.intersection_update(self._workers)
            addresses = [a for a in self._answered if self._workers[a][1]]
        self._heartbeats.ask(self._client, addresses, message, heard)

    def dashboard(self) -> str:
        with contextlib.suppress(Exception):  # one without a server
            return str(self._client.dashboard_link or "")
        return ""

    def kill(self, key: Hashable, reason: str) -> None:
        address: str = key[0]  # type: ignore[index]
        own = self.connection.own
        if own is not None and own.end(address):
            self._changes.set()
            return
        if not self.owns:
            check_alone(self._client, address, self._mark, self._may_end)
        try:
            self._client.restart_workers([address], timeout=START_SECONDS, raise_for_error=True)
        except Exception as error:
            raise BackendError(
                f"the Dask worker {address} could not be restarted: {in_words(error)}. Workers that are started with a "
                "nanny (the default of `dask worker`) can be."
            ) from error
        self._changes.set()

    def resize(self, workers: int, gone: Collection[Hashable] = ()) -> None:
        own = self.connection.own
        if own is None:
            raise UsageError("this Dask cluster is not Cellmill's: scale it by its own means")
        with self._lock:
            idle = {a for a, (_, remotes) in self._workers.items() if all(p.key in gone for p in remotes)}
        own.resize(workers, idle)
