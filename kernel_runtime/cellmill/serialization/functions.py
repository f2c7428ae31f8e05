"""Functions on their way to workers: by value once per content, always as they are at the moment of the call.

A function from an importable module travels by reference, with the data of the user's modules that it reads. One
defined in a cell, a lambda or a closure travels by value, with the source lines of its cells for tracebacks. Before
each use all that it refers to is compared with what it was when it was pickled (`by_value.capture`): where it differs,
the function is pickled anew.
"""

from __future__ import annotations

import contextvars
import linecache
import os
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

from ..by_value.capture import Capture, walked
from ..by_value.capture_kinds import Walk
from ..by_value.module_reads import Brought, Reads, leave_out, may_read
from ..by_value.pickling import dumps
from ..by_value.references import (
    CACHED,
    helpers_of,
    importable,
    is_single,
    modules_of,
    named_references,
    unwrapped,
)
from ..by_value.watched import Watched
from ..errors import PayloadError, UsageError, in_words
from ..randomness.generators import Board, Drawing
from . import payload, read_only
from .function_entries import Entry, Key, SharingEntry, Version
from .shared import ShareError, packing

MOST_CACHED = 512
MOST_BYTES = 64 << 20  # of their pickles
MOST_UNUSED = 4
MOST_TRIES = 3  # to pickle a function whose state others change meanwhile
_IN_PAYLOAD = 0  # function number that says: the function comes with the arguments


class FunctionBlob(NamedTuple):
    """What a worker gets for a function: its pickle and the sources of the cells it comes from."""

    name: str
    function: Any
    sources: dict[str, str]
    reads: Reads = {}  # noqa: RUF012  (data of modules, which is never changed)
    watched: bool = False  # it refers to what tasks could change
    board: Board | None = None  # the generators among all that, which came before


class FunctionTable:
    """Numbers for functions, as the scheduler knows them.

    ``add(encoded, needs) -> number`` stores a new one there that refers to such shared objects, ``drop(number)`` has it
    forgotten when its tasks are over: one that was replaced by a newer content, or not used for so long that others
    took its place.
    """

    def __init__(
        self,
        add: Callable[..., int],
        drop: Callable[[int], None],
        refer: Callable[..., Any] | None = None,
    ) -> None:
        self._add = add
        self._refer = refer  # what shared objects that a function refers to are replaced by
        self._dead: deque[Any] = deque()  # keys of functions that have gone
        self._drop = drop
        self._pinned: dict[int, list[Version]] = {}
        self._unpinned: deque[int] = deque()
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        # What C compares before a plain call: of functions that cost little to compare, and keep nothing shared.
        self.captures: dict[Any, Any] = {}
        self._by_content: dict[bytes, Version] = {}
        self._bytes = 0  # of all versions
        self._unused: deque[Version] = deque()  # to be dropped, the oldest first
        self._lock = threading.RLock()
        self.names: dict[int, str] = {_IN_PAYLOAD: "?"}

    def number(self, function: Any) -> int:
        """The function's number, or 0 when it has to travel with each call (bound methods, callable objects)."""
        try:
            entry = self._entries.get(function)
        except Exception:  # not hashable, or its hash or comparison raises
            return _IN_PAYLOAD
        if entry is not None and entry.fresh():
            return entry.number
        if entry is None:
            bare = unwrapped(function)
            if bare is not function and type(bare) is types.FunctionType and is_single(function):
                return self.number(bare)
            if not isinstance(function, (types.FunctionType, types.BuiltinFunctionType, type, CACHED)):
                return self._number_with_reads(function)
            if isinstance(function, types.BuiltinFunctionType) and not isinstance(
                function.__self__, (types.ModuleType, type(None))
            ):
                return _IN_PAYLOAD
            entry = Entry(function, not importable(function))
        entry = self._renew(entry, function)
        self._evict()
        return entry.number

    def _number_with_reads(self, function: Any) -> int:
        """A number for a method or callable object that reads data of modules: that goes along with functions only."""
        if not may_read(function):
            return _IN_PAYLOAD
        with self._lock:
            self._let_go()
            try:
                _, encoded, needs, board = self._encoded(function)
            except PayloadError:
                return _IN_PAYLOAD
            if board.generators:
                return _IN_PAYLOAD
            version = self._version(encoded, needs, function)
            self._pinned.setdefault(version.number, []).append(version)
            self._unpinned.append(version.number)  # it is called now, or sent again
            return version.number

    def pin(self, function: Any) -> tuple[int, Sequence[Any]]:
        """(number, generators) of the function as it is now, kept until `unpin`; 0: it cannot be sent by itself.

        Bound methods and callable objects have a number, too: for the many calls of a map.
        """
        with self._lock:
            self.number(function)
            entry = self._entry_of(function)
            if entry is not None and entry.version is not None:
                version, generators = entry.version, entry.generators
                version.users += 1
            else:
                try:
                    _, encoded, needs, board = self._encoded(function)
                except PayloadError:
                    if type(function) is partial:  # its constants are too much for each chunk
                        raise
                    return _IN_PAYLOAD, ()
                version, generators = self._version(encoded, needs, function), [*board.generators.values()]
            self._pinned.setdefault(version.number, []).append(version)
            return version.number, generators

    def _entry_of(self, function: Any) -> Entry | None:
        try:
            return self._entries.get(function)
        except Exception:  # not hashable, or its hash or comparison raises
            return None

    def unpin(self, number: int) -> None:
        """It is not called any more by who has pinned it; from finalizers, too: so no lock is taken."""
        self._unpinned.append(number)

    def drawing(self, function: Any) -> tuple[int, Sequence[Any]]:
        """(number, generators) of a function that has just been given the number 0 since it refers to generators."""
        entry = self._entry_of(function)
        if entry is None or entry.version is None:
            return _IN_PAYLOAD, ()
        return entry.version.number, entry.generators

    def by_number(self, number: int) -> Any:
        """The function with a number, if it is still known; None for 0, which comes with each call."""
        with self._lock:
            entries = list(self._entries.values()) if number else []
        return next(
            (e.target() for e in entries if e.version is not None and e.version.number == number), None
        )

    def by_name(self, name: str) -> Any:
        """The newest function of this name, if it is still known."""
        with self._lock:
            targets = [entry.target() for entry in self._entries.values()]
        return next((f for f in reversed(targets) if f is not None and function_name(f) == name), None)

    def dropped_with(self, number: int) -> None:
        """A shared object was dropped, and with it what refers to it; from finalizers, too: so no lock is taken."""
        for version in list(self._by_content.values()):
            if number in version.needs:
                self._by_content.pop(version.key, None)
                self._bytes -= version.size
                for entry in list(self._entries.values()):
                    if entry.version is version:
                        entry.capture = None

    def look_up_again(self) -> None:
        """A module was loaded again: functions that were found in it by their names may not be there any more."""
        with self._lock:
            for function in [f for f, entry in self._entries.items() if not entry.by_value]:
                self._release(self._forget(function).version)

    def _forget(self, function: Any) -> Entry:
        self.captures.pop(function, None)
        return self._entries.pop(function)

    def modules(self) -> set[str]:
        """Names of the modules that functions refer to, or come from."""
        with self._lock:
            entries = list(self._entries.values())
        found = {name for entry in entries for name in modules_of(entry.target())}
        return found | {str(e.function.__module__) for e in entries if not e.by_value}

    def _renew(self, entry: Entry, function: Any) -> Entry:
        """Pickle anew; the same content keeps its number, so that workers need not load it again."""
        walk, encoded, needs, board = self._encoded(function)
        with self._lock:
            self._let_go()
            version = self._version(encoded, needs, function)
            if needs:
                entry = self._loosened(entry, function)
            elif entry.version is None:
                self._entries[function] = entry
            before, entry.version = entry.version, version
            # all at the end: after an attempt that failed or was interrupted the entry is as it was, and not fresh
            entry.generators = list(board.generators.values())
            # its tasks say what they draw from: they are no plain calls
            entry.number = _IN_PAYLOAD if board.generators else version.number
            entry.hold(walk, entry.number)
            if not entry.number:
                self.captures.pop(function, None)
            elif type(entry) is Entry and entry.capture is not None and entry.capture.light:
                self.captures[function] = entry.capture.capsule
            self._release(before)
        return entry

    def _version(self, encoded: payload.Encoded, needs: set[int], function: Any) -> Version:
        """The version with this content, which has one user more."""
        key = _digest(encoded)
        version = self._by_content.get(key)
        if version is None:
            version = Version(key, self._add(encoded, needs), encoded.size, needs)
            self._by_content[key] = version
            self._bytes += version.size
            self.names[version.number] = function_name(function)
        version.users += 1
        return version

    def _let_go(self) -> None:
        """Of what finalizers have noted."""
        while self._dead:
            gone = self._entries.pop(self._dead.popleft(), None)
            self._release(gone.version if gone is not None else None)
        while self._unpinned:
            versions = self._pinned.get(self._unpinned.popleft())
            if versions:
                self._release(versions.pop())

    def _encoded(self, function: Any) -> tuple[Walk, payload.Encoded, set[int], Board]:
        """(what it refers to, its pickle, the shared objects and the generators in that), all of one moment."""
        for _ in range(MOST_TRIES):
            needs, board = set[int](), Board()
            walk = walked(function)
            refer = self._refer and partial(self._refer, needs=needs)
            encoded = encode_function(function, refer, walk, board)
            if (
                Capture(walk, 0).changed() is None
            ):  # no other thread, and nothing that pickling calls, changed it
                break
        return walk, encoded, needs, board

    def _loosened(self, entry: Entry, function: Any) -> SharingEntry:
        """An entry that does not keep the function, in the table instead of this one."""
        if type(entry) is SharingEntry:
            return entry
        self._entries.pop(function, None)
        self.captures.pop(function, None)
        made = SharingEntry(function, entry.by_value)
        made.version = entry.version
        self._entries[Key(function, self._dead.append)] = made
        return made

    def _release(self, version: Version | None) -> None:
        """An entry has another content now, or is gone. The last few are kept: a thread may be about to call one."""
        if version is None:
            return
        version.users -= 1
        if not version.users:
            self._unused.append(version)
        while len(self._unused) > MOST_UNUSED:
            unused = self._unused.popleft()
            if not unused.users and self._by_content.get(unused.key) is unused:
                del self._by_content[unused.key]
                self._bytes -= unused.size
                self._drop(unused.number)

    def _evict(self) -> None:
        with self._lock:
            while len(self._entries) > MOST_CACHED or (self._bytes > MOST_BYTES and len(self._entries) > 1):
                self._release(self._forget(next(iter(self._entries))).version)


def function_name(function: Any) -> str:
    """A short name for people."""
    while type(function) is partial:
        function = function.func
    return str(
        getattr(function, "__qualname__", None)
        or getattr(function, "__name__", None)
        or type(function).__name__
    )


def _digest(encoded: payload.Encoded) -> bytes:
    digest = blake2b(encoded.data, digest_size=16)
    for buffer in encoded.buffers:
        digest.update(buffer)
    return digest.digest()


def encode_function(
    function: Any,
    refer: Callable[[Any], tuple[Any, tuple[Any, ...]]] | None = None,
    walk: Walk | None = None,
    board: Board | None = None,
) -> payload.Encoded:
    """Pickle a function for workers; raises `PayloadError` with the reason when it cannot be.

    ``refer`` tells what shared objects become that it refers to; ``walk`` is over all that it refers to.
    ``board`` takes the generators of random numbers in that.
    """
    if refer is not None:
        with packing(refer):
            return encode_function(function, None, walk, board)
    board = Board() if board is None else board
    blob = FunctionBlob(function_name(function), function, dict(sources_of(function)), board=board)
    if walk is not None:
        blob = blob._replace(reads=walk.reads, watched=walk.mutable or bool(walk.stores))
    try:
        return read_only.encode(blob, board)
    except ShareError as error:
        raise PayloadError(
            f"the function {function_name(function)} cannot be sent to a worker: {error}"
        ) from error.__cause__
    except Exception as error:
        if walk is not None and walk.reads:
            walk.reads = _picklable(walk.reads)
            board.generators.clear()
            return encode_function(function, None, walk, board)
        culprit, advice = _culprit(function)
        advice = advice or (
            f"{in_words(error)}. Create such objects inside the function, or once per worker with @cellmill.per_worker."
        )
        raise PayloadError(
            f"the function {function_name(function)} cannot be sent to a worker: {culprit}{advice}"
        ) from error


def _picklable(reads: Reads) -> Reads:
    """The data of modules that can be sent; the rest stays each process's own."""
    found: Reads = {}
    for place, value in reads.items():
        try:
            dumps(value)
            found[place] = value
        except Exception as error:
            leave_out(place, value, in_words(error))
    return found if len(found) < len(reads) else {}


def _culprit(function: Any) -> tuple[str, str]:
    """(the global or closure variable that cannot be pickled, named; what to do instead, "": the usual)."""
    constants = function.keywords.items() if type(function) is partial else ()
    function = unwrapped(function.func if type(function) is partial else function)
    referred = named_references(function) if isinstance(function, types.FunctionType) else ()
    for says, named in (("is given", constants), ("refers to", referred)):
        for name, value in named:
            if type(value) is types.FunctionType:
                continue
            try:
                dumps(value)
            except Exception:
                return f"it {says} {name!r}, a {type(value).__name__}. ", _advice(name, value)
    return "", ""


def _advice(name: str, value: Any) -> str:
    """For what belongs to the kernel and cannot be made in a worker."""
    if type(value) is contextvars.ContextVar:
        return f"Context variables stay in the kernel: pass {name}.get() as an argument."
    owner = type(getattr(value, "__self__", value)).__module__.partition(".")[0]
    if owner not in ("IPython", "ipykernel"):
        return ""
    if name in ("exit", "quit"):
        return "It ends the notebook's kernel: leave the function with return, or raise an exception."
    return "There is no IPython in a worker: use it in a cell, with the results of the tasks."


def sources_of(function: Any) -> Iterator[tuple[str, str]]:
    """(file name, source) of every cell that the function or one of its helpers was defined in."""
    seen: set[str] = set()
    for helper in helpers_of(function):
        if type(helper) is not types.FunctionType:
            continue
        name = helper.__code__.co_filename
        if name in seen or os.path.exists(name):
            continue
        seen.add(name)
        lines = linecache.getlines(name)
        if lines:
            yield name, "".join(lines)


def check_batch(name: str, values: Any, count: int) -> Any:
    """What a batch function returned, if it is one result per item."""
    try:
        length = len(values)
    except TypeError:
        length = -1
    if length != count or isinstance(values, (str, bytes, dict, set)):
        what = f"{length} results" if length >= 0 else f"a {type(values).__name__}"
        raise UsageError(
            f"the batch function {name} was given {count} items and returned {what}; with batch=True a function "
            "takes a list and returns a list of the same length"
        )
    return values


def load_function(view: memoryview) -> FunctionBlob:
    """In the worker: the function, with its sources made known to `linecache`."""
    blob: FunctionBlob = payload.decode(view)
    for name, source in blob.sources.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    function = _WithReads(blob) if blob.reads else blob.function
    if blob.board is not None:
        function = Drawing(function, blob.board)
    if blob.watched:
        function = Watched(function, blob.function, blob.name)
    return blob._replace(function=function)


class _WithReads:
    """A function that finds the data of modules as it was at the call, whatever other functions brought."""

    def __init__(self, blob: FunctionBlob) -> None:
        self.__qualname__ = self.__name__ = blob.name
        self.__wrapped__ = blob.function
        self._brought = Brought(blob.reads)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._brought.call(self.__wrapped__, args, kwargs)
