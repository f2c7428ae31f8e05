"""Pass by proxy: large arguments and results of a cluster's tasks stay outside of its messages.

What is large is put into a store (files, ProxyStore's connectors for Redis and endpoints), or stays with the cluster's
own workers, and a reference of some kilobytes travels in its place, through the scheduler, packs and replies. Neither
functions nor readers of results see it: a reference unpickles to the value. Of a single call's result the kernel keeps
the reference until it is read; tasks that take it as an input, before or after it is there, read it where they run.

Ownership: what was put for a call goes when the call is over, a result when its future is gone (dependents hold theirs
until they are over), everything at the executor's end. Remote workers put only results, and hand them over with the
reply.
"""

from __future__ import annotations

import contextlib
import functools
import pickle
import queue
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ....errors import BackendError, DependencyError, UsageError, WorkerLostError, in_words
from ....process_context.interrupts import uninterrupted
from ....serialization import payload
from ....serialization.payload import BUFFER_MIN, Encoded
from ....task import memory_of
from . import files, folders, stores
from .stores import Source

ABOVE = 200_000  # bytes; below that packs are as fast
ABOVE_ON_WORKERS = (
    1 << 20
)  # the same where values stay with the workers: each takes messages of the cluster's own
ENDS_PACK = (
    16 << 20
)  # of a value that stays: to keep it takes longer than another pack, and tasks may wait for it
ON_WORKERS = "workers"
LOOK_SECONDS = 0.1  # between looks at what waits for its last task
Policy = Callable[[int], bool]
_keepers: dict[bytes, Keeper] = {}  # of this process, by token
_UNREAD = object()


@dataclass(frozen=True, slots=True)
class Outside:
    """Settings by which a remote worker puts values into the store and finds them."""

    token: bytes
    source: Source
    policy: Policy
    folder: str | None = None  # private to the kernel's process
    results_only: bool = False  # of single calls: arguments, and what a map returns, travel in messages

    def put(self, encoded: Encoded, kept: bool, task: str = "") -> tuple[Encoded, int]:
        """Store a large payload and return a reference to it, and how many bytes of it other workers have to fetch from
        this one; return a smaller one as it is.

        ``kept``: a single result, which the kernel need not read. ``task``: that made it, for people.
        """
        if not self.policy(encoded.size) or (self.results_only and not kept):
            return encoded, 0
        key = stores.put(stores.connector(self.source), encoded, self.token, task)
        if key is None:
            return encoded, 0
        return self.reference(key, encoded.content, kept), stores.to_fetch(key, encoded.size)

    def reference(self, key: Any, size: int, kept: bool) -> Encoded:
        found = _Reference(_found if kept else _taken, (self.token, self.source, key, size))
        data = pickle.dumps(found, 5)
        # The kernel settles short values many at once; one of this length is looked at by itself.
        return Encoded(data.ljust(BUFFER_MIN, b"\0") if kept else data, [])

    def leave(self) -> None:
        """Put nothing more from this process: the caller has gone."""
        stores.leave(self.source)

    def prepare(self) -> None:
        """Connect to the store, on a remote worker, before its first task.

        Raises:
            BackendError: it is out of reach.
        """
        try:
            stores.connector(self.source)
        except Exception as error:
            raise BackendError(
                f"large values are kept outside of messages, in {stores.name_of(self.source)}, and this worker cannot "
                f"reach it: {in_words(error)}. Install ProxyStore there as well (pip install "
                "'cellmill[proxies]'), or switch it off with proxies=False."
            ) from error


class Keeper:
    """The kernel's end, of one backend: puts arguments, evicts what is needed no more."""

    def __init__(
        self,
        token: bytes,
        policy: Policy,
        made: Any,
        folder: str | None = None,
        *,
        results_only: bool = False,
    ) -> None:
        """``made``: the connector; how others make theirs it has to know when the first of them is told."""
        self.token = token
        self._policy = policy
        self._folder = folder
        self._results_only = results_only
        self.taken: list[Lease] = []  # results of chunks that were read while their chunk is being settled
        self.count: Callable[[int], None] = _nothing  # called with the size of each of them
        self.unread: weakref.WeakSet[Kept] = weakref.WeakSet()
        self._connector = made
        self._leaving: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._count = 0
        self._counting = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._evict, name="cellmill-evictions", daemon=True)
        self._thread.start()
        _keepers[token] = self

    @functools.cached_property
    def outside(self) -> Outside:
        """Settings for remote workers."""
        source = stores.source_of(self._connector)
        stores.keep(source, self._connector)
        return Outside(self.token, source, self._policy, self._folder, self._results_only)

    @property
    def outstanding(self) -> int:
        """Values that are held in the store by this process."""
        return self._count

    def put(self, encoded: Encoded) -> tuple[Encoded, Lease | None]:
        """Store a large payload; return a reference and the lease that keeps the value. Returns a smaller one as it is,
        and None.
        """
        if self._closed or self._results_only or not self._policy(encoded.size):
            return encoded, None
        key = stores.put(self._connector, encoded, self.token)
        if key is None:
            return encoded, None
        with uninterrupted():  # a lease that is half made cannot be released
            lease = Lease(self, key, encoded.content)
        return self.outside.reference(key, encoded.content, kept=False), lease

    def counted(self, change: int) -> None:
        with self._counting:
            self._count += change

    def release(self, key: Any) -> None:
        """Evict a value soon; called from any thread, finalizers too."""
        self._leaving.put(key)

    def release_when(self, over: Callable[[], bool], lease: Lease) -> None:
        """Release a lease soon after ``over()`` returns True; called from any thread, finalizers too."""
        self._leaving.put((over, lease))

    def settled(self) -> None:
        """Drop the values that were read for a chunk, which has them now."""
        self.count = _nothing
        self.taken.clear()

    def close(self) -> None:
        """Load results that may still be asked for, and empty the store."""
        if self._closed:
            return
        self._closed = True
        for kept in list(self.unread):
            try:
                kept.load()
            except WorkerLostError:  # an access to it says so
                continue
            except Exception:  # the cluster has gone: each of them would wait for an answer
                break
        self.taken.clear()
        _keepers.pop(self.token, None)
        self._leaving.put(None)
        self._thread.join(10)
        with contextlib.suppress(Exception):
            stores.sweep(self._connector, self.token)
        if "outside" in self.__dict__:
            stores.drop(self.outside.source)
        if self._folder is not None:
            folders.remove(self._folder)

    def _evict(self) -> None:
        waiting: list[tuple[Callable[[], bool], Lease]] = []
        while True:
            for _, lease in [entry for entry in waiting if entry[0]()]:
                lease.release()
            waiting = [entry for entry in waiting if entry[1].held]
            try:
                key = self._leaving.get(timeout=LOOK_SECONDS if waiting else None)
            except queue.Empty:
                continue
            if key is None:
                return
            if isinstance(key, tuple) and isinstance(key[-1], Lease):
                waiting.append(key)
                continue
            with contextlib.suppress(Exception):  # a store that is gone holds nothing
                self._connector.evict(key)
            self.counted(-1)


def _nothing(size: int) -> None:
    """What is read belongs to no chunk."""


class Lease:
    """Keeps a value in the store for as long as this object lives."""

    __slots__ = ("__weakref__", "_keeper", "key", "size")

    def __init__(self, keeper: Keeper, key: Any, size: int) -> None:
        self._keeper: Keeper | None = keeper
        self.key = key
        self.size = size
        keeper.counted(1)

    @property
    def held(self) -> bool:
        """Whether the value has not been released."""
        return self._keeper is not None

    def release(self) -> None:
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.release(self.key)

    def __del__(self) -> None:
        self.release()


class Kept(Lease):
    """The result of a call, not asked for yet. ``lane``: the worker that made it, in the scheduler's count; ``stays``:
    how many bytes other workers have to fetch from that one.
    """

    __slots__ = ("_lock", "_source", "_value", "error", "lane", "stays")

    def __init__(self, keeper: Keeper, source: Source, key: Any, size: int) -> None:
        super().__init__(keeper, key, size)
        self._source = source
        self._value: Any = _UNREAD
        self._lock = threading.Lock()
        self.lane: int | None = None
        self.stays = stores.to_fetch(key, size)
        self.error: BaseException | None = None  # why the value cannot be had any more
        keeper.unread.add(self)

    @property
    def loaded(self) -> bool:
        """Whether the value is here, where it may be changed."""
        return self._value is not _UNREAD

    def load(self) -> Any:
        """The value, read once; raises `PayloadError` when the store does not have it any more, `WorkerLostError` when
        the workers do not.
        """
        if self._value is _UNREAD:
            with self._lock:
                if self._value is _UNREAD:
                    try:
                        self._value = stores.read(self._source, self.key, self.size)
                    except WorkerLostError as lost:
                        self.error = lost
                        raise
        return self._value

    def load_within(self, seconds: float) -> bool:
        """Read the value, if it was not; False: that takes longer, and goes on. Raises what `load` does."""
        if self.loaded:
            return True
        over: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

        def load() -> None:
            try:
                self.load()
                over.put(None)
            except BaseException as error:
                over.put(error)

        threading.Thread(target=load, name="cellmill-fetch", daemon=True).start()
        try:
            error = over.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return False
        if error is not None:
            raise error
        return True

    def reduced(self) -> tuple[Any, tuple[Any, ...]]:
        """Return what stands for the value in the arguments of a task, which finds it where it is."""
        label = f"the result of {self.key.task}" if hasattr(self.key, "task") else f"{self.size:,} bytes"
        return payload.labelled, (label, _value, self._source, self.key, self.size)


class _Reference:
    """Pickles to a call."""

    def __init__(self, function: Any, arguments: tuple[Any, ...]) -> None:
        self._call = function, arguments

    def __reduce__(self) -> Any:
        return self._call


def _found(token: bytes, source: Source, key: Any, size: int) -> Any:
    """The result of a call: in the kernel kept where it is, anywhere else its value."""
    keeper = _keepers.get(token)
    if keeper is not None and payload.inputs.loading is None:
        return Kept(keeper, source, key, size)
    return _value(source, key, size)


def _value(source: Source, key: Any, size: int) -> Any:
    """A value where a task needs it."""
    try:
        return stores.read(source, key, size)
    except WorkerLostError as lost:
        raise DependencyError(f"the task did not run: {lost}") from lost


def _taken(token: bytes, source: Source, key: Any, size: int) -> Any:
    """Arguments, or the results of a chunk: their values."""
    keeper = _keepers.get(token)
    value = stores.read(source, key, size)
    if keeper is not None and payload.inputs.loading is None:
        keeper.taken.append(Lease(keeper, key, size))
        keeper.count(size)
    return value


# -- what was asked for


def keeper(token: bytes, proxies: Any, above: Any, owns: bool, workers: Any = None) -> Keeper | None:
    """Return the keeper that a backend's options ask for; None where values travel in packs.

    ``proxies``: None (files where the cluster is our own, else "workers" where it has the means), False, True or "file"
    (files in a private folder of this machine), "file:FOLDER" (of a file system that all see), "workers" (large results
    stay there), "redis://HOST[:PORT]", "endpoint:UUID", or a connector of ProxyStore's. ``above``: bytes, text such as
    "1MB", or a function of a payload's size that says whether it stays outside. ``workers``: the connector for values
    that stay on the workers, None where this cluster has none.
    """
    if proxies is None and not owns:
        proxies = ON_WORKERS if workers is not None else False
    if proxies is False:
        return None
    if proxies == ON_WORKERS:
        if workers is None:
            raise UsageError('this cluster has no means to keep values on its workers (proxies="workers")')
        return Keeper(token, _policy(above, ABOVE_ON_WORKERS), workers, results_only=True)
    policy, folder = _policy(above, ABOVE), None
    if proxies in (None, True, "file"):
        folder = files.private_folder()
        made: Any = files.MappedFiles(folder)
    else:
        made = stores.chosen(proxies)
    return Keeper(token, policy, made, folder)


def _policy(above: Any, usual: int) -> Policy:
    if above is None:
        return Above(usual)
    if callable(above):
        return above  # type: ignore[no-any-return]
    return Above(memory_of("proxy_above", above))


@dataclass(frozen=True, slots=True)
class Above:
    """The usual policy: payloads of at least so many bytes stay outside."""

    least: int

    def __call__(self, size: int) -> bool:
        return size >= self.least
