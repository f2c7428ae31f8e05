"""Calls of functions whose results are kept: looked up first, run as tasks where there is none."""

from __future__ import annotations

import atexit
import marshal
import os
import threading
from collections import OrderedDict
from concurrent.futures import Future as BaseFuture
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ..backends.map_calls import awaited
from ..backends.settled import SettledOwner, settled
from ..diagnostics.signatures import check_call, sees_order
from ..errors import UsageError
from ..futures import Future
from ..serialization.function_code import function_name
from ..task import TaskOptions
from . import recording
from .checkpoints import PLACE_BYTES, CheckpointStore
from .function_key import FunctionKey
from .stores import DISK_LIMIT, FILE, MEMORY_LIMIT, FileStore, MemoryStore, Store
from .structure import SIMPLE, SIZE, Structure, Unkeyed

_MOST_MEMOS = 512

_lock = threading.RLock()
_memory: MemoryStore | None = None
_limit: int | None = None  # bytes that were asked for; None: the defaults
_files: dict[str, FileStore] = {}
_memos: OrderedDict[tuple[Any, ...], Memo] = OrderedDict()


class CacheInfo(NamedTuple):
    """Of one function: how often a result was found, and not; results that are kept, and their bytes."""

    hits: int
    misses: int
    results: int
    bytes: int


class Counts:
    """How often results of a function were found, and not."""

    def __init__(self) -> None:
        self.hits = self.misses = 0


class Memo:
    """The results that are kept of one function, in one store. ``run``: what tasks run in its place; ``of_map``: they
    are those of one map, each of its place in it.
    """

    def __init__(
        self,
        function: Any,
        store: Store,
        options: TaskOptions,
        counts: Counts | None = None,
        *,
        of_map: bool = False,
    ) -> None:
        self.function, self.store = function, store
        self.name = function_name(function)
        self.run = recording.recorded(function, store.identity, self, batch=options.batch)
        self.counts = counts or Counts()
        self.of_map = of_map
        self._sees_order = sees_order(function)
        self._function_key = FunctionKey(function, options.depends_on, generators=of_map)

    def base(self) -> bytes:
        """The function's part of keys, as it is now.

        Raises:
            UsageError: its results cannot be kept.
        """
        try:
            return self._function_key.digest()
        except Unkeyed as reason:
            raise UsageError(f"results of {self.name} cannot be kept: {reason}") from None

    def key(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        place: int | None = None,
        base: bytes | None = None,
    ) -> bytes:
        """The key of a call. ``place``: of an element in its map, where that counts; ``base``: see `base`, None: as it
        is now.

        Raises:
            UsageError: an argument or the function has no digest.
        """
        digest = self._digest_of(args, kwargs, place, base or self.base())
        # the results of a map come in about its order: their keys are neighbours in the file
        return digest if place is None else place.to_bytes(PLACE_BYTES, "big") + digest

    def is_still(self, digest: bytes, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether this is the key of such a call now."""
        place = int.from_bytes(digest[:PLACE_BYTES], "big") if self.of_map else None
        try:
            return self.key(args, kwargs, place) == digest
        except UsageError:  # it has none any more
            return False

    def _digest_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], place: int | None, base: bytes
    ) -> bytes:
        named = kwargs.items() if self._sees_order else sorted(kwargs.items())
        given = (*args, *(part for pair in named for part in pair)) if kwargs else args
        if SIMPLE.issuperset(map(type, given)):
            told = marshal.dumps((base, place, len(args), given), 2)
            return blake2b(told, digest_size=SIZE).digest()
        made = Structure(generators=self.of_map)
        try:
            made.add((base, place, len(args), given))
            made.add_reads()
        except Unkeyed as reason:
            raise UsageError(
                f"a result of {self.name} cannot be kept under these arguments: {reason}"
            ) from None
        return made.digest()

    def find(self, key: bytes) -> bytes | None:
        """The bytes of a result that is kept; counted as a hit or a miss."""
        found = self.store.get([key]).get(key)
        if found is None:
            self.counts.misses += 1
        else:
            self.counts.hits += 1
        return found

    def find_all(self, keys: list[bytes]) -> dict[bytes, bytes]:
        """The bytes of results that are kept, by their keys; counted as hits and misses."""
        found = self.store.get(keys)
        hits = sum(map(found.__contains__, keys))
        self.counts.hits += hits
        self.counts.misses += len(keys) - hits
        return found

    def clear(self) -> int:
        """Forget the results of functions of this name, and the counts of this one; how many results those were."""
        self.counts.hits = self.counts.misses = 0
        return self.store.clear(self.name)

    def info(self) -> CacheInfo:
        """What `ParallelFunction.cache_info` tells."""
        return CacheInfo(self.counts.hits, self.counts.misses, *self.store.held(self.name))


class _Kept(SettledOwner):
    """The owner of a future whose value was kept."""

    def call_text(self, future: Future) -> str:
        """Nothing was kept for it."""
        return "of a result that was kept"


KEPT = _Kept()


def memo_of(function: Any, options: TaskOptions) -> Memo:
    """The results of a function with the option ``memo``."""
    found = _memos.get((id(function), options.memo, options.depends_on, options.batch, False))
    if found is not None and found.function is function:  # without the lock, as all but the first calls are
        return found
    return _memo(function, options, options.memo)


def checkpoint_of(function: Any, options: TaskOptions, path: str) -> Memo:
    """The results of a map that are kept in a file of their own."""
    return _memo(function, options, path, of_map=True)


def _memo(function: Any, options: TaskOptions, where: bool | str, *, of_map: bool = False) -> Memo:
    key = (id(function), where, options.depends_on, options.batch, of_map)
    with _lock:
        found = _memos.get(key)
        if found is None or found.function is not function:
            if of_map:
                store: Store = _store_in_file(Path(str(where)), of_map=True)
            else:
                path = Path(str(where)) / FILE
                store = _store_in_memory() if where is True else _store_in_file(path)
            of_method = getattr(type(function), "kept_as_function", False) is True
            counts = _memo(function.function, options, where, of_map=of_map).counts if of_method else None
            found = _memos[key] = Memo(function, store, options, counts, of_map=of_map)
        while len(_memos) > _MOST_MEMOS:
            _memos.popitem(last=False)
    return found


def _store_in_memory() -> MemoryStore:
    global _memory
    if _memory is None:
        _memory = MemoryStore(_limit or MEMORY_LIMIT)
        recording.opened(_memory)
    return _memory


def _store_in_file(path: Path, *, of_map: bool = False) -> FileStore:
    found = _files.get(str(path))
    if found is None:
        made = CheckpointStore(path) if of_map else FileStore(path, _limit or DISK_LIMIT)
        found = _files[str(path)] = made
        recording.opened(found)
    return found


def _close_all() -> None:
    for store in [*_files.values()]:
        store.close()


atexit.register(_close_all)


def stores() -> list[MemoryStore | FileStore]:
    """The stores that this kernel uses."""
    with _lock:
        return [*([_memory] if _memory is not None else []), *_files.values()]


def counts(function: str, store: Store) -> tuple[int, int]:
    """How often results of functions of this name were found, and not, in this process."""
    with _lock:
        found = {memo.counts for memo in _memos.values() if memo.name == function and memo.store is store}
    return sum(counts.hits for counts in found), sum(counts.misses for counts in found)


def set_limit(limit: int) -> None:
    """Bound what is kept, in bytes, in memory and in each folder; checkpoints have no bound."""
    global _limit
    with _lock:
        _limit = limit
        for store in stores():
            if store.limit is not None:
                store.limit = limit
                store.trim()


def look_up(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: TaskOptions
) -> tuple[Future | None, Any, tuple[Any, ...], dict[str, Any]]:
    """Return (the future of a result that is kept, or None; and then the function and arguments of the task to run).

    A call that waits for another task is neither looked up nor kept: its arguments are not known yet.

    Raises:
        UsageError: an argument, or the function, has no digest.
    """
    known = known_arguments(args, kwargs)
    if known is None:
        if not options.batch:
            check_call(function, args, kwargs)
        return None, function, args, kwargs
    memo = memo_of(function, options)
    try:
        key = memo.key(*known)
        found = memo.find(key)
    except UsageError:
        check_call(function, args, kwargs)  # its own error comes first
        raise
    if found is None:
        if not options.batch:  # what was found was called like this before
            check_call(function, args, kwargs)
        args, kwargs = known
        hidden = recording.argument(key)
        return None, memo.run, ((hidden, *args),) if options.batch else (hidden, *args), kwargs
    return settled(KEPT, recording.unpacked(found)), function, (), {}


def known_arguments(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The arguments with the values of futures that are over in their places; None: another task has to end first."""
    given = (*args, *kwargs.values()) if kwargs else args
    if SIMPLE.issuperset(map(type, given)) or not awaited(given):
        return args, kwargs
    made = []
    for value in given:
        if isinstance(value, BaseFuture):
            if not value.done() or value.cancelled() or value.exception() is not None:
                return None
            value = value.result()
        elif awaited(value):
            return None
        made.append(value)
    return tuple(made[: len(args)]), dict(zip(kwargs, made[len(args) :], strict=True))


_inherited: list[FileStore] = []  # never closed: the parent goes on with them


def _leave_to_parent() -> None:
    global _memory
    _lock._at_fork_reinit()  # type: ignore[attr-defined]
    _memory = None
    _inherited.extend(_files.values())
    _files.clear()
    _memos.clear()
    recording.forget()


os.register_at_fork(after_in_child=_leave_to_parent)
