"""Functions on their way to workers: by value once per content, always as they are at the moment of the call.

A function from an importable module travels by reference, with the data of the user's modules that it reads. One
defined in a cell, a lambda or a closure travels by value, with the source lines of its cells for tracebacks. Before
each use all that it refers to is compared with what it was when it was pickled (`by_value.capture`): where it differs,
the function is pickled anew.
"""

from __future__ import annotations

import gc
import threading
import types
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

from ..by_value import iterators
from ..by_value.capture import Capture, walked
from ..by_value.capture_kinds import Walk
from ..by_value.identities import NONE, Captured
from ..by_value.iterators import ONLY_LOOK
from ..by_value.module_reads import may_read
from ..by_value.parts import taken_apart
from ..by_value.references import (
    CACHED,
    importable,
    is_single,
    modules_of,
    unwrapped,
)
from ..diagnostics import notices
from ..errors import PayloadError
from ..randomness import own_streams
from ..randomness.generators import Board
from . import payload
from .function_code import (
    encode_function,
    function_name,
)
from .function_entries import Entry, Key, SharingEntry, Version

MOST_CACHED = 512
MOST_BYTES = 64 << 20  # of their pickles
MOST_UNUSED = 4
MOST_TRIES = 3  # to pickle a function whose state others change meanwhile
_IN_PAYLOAD = 0  # function number that says: the function comes with the arguments


class Pinned(NamedTuple):
    """A version of a function that is kept: its number, the generators and the identities that it refers to."""

    number: int
    generators: Sequence[Any] = ()
    captured: Captured = NONE


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
        self.heard: Callable[[set[str]], None] | None = None  # told of the modules of what is to be sent
        self._dead: deque[Any] = deque()  # keys of functions that have gone
        self._drop = drop
        self._pinned: dict[int, list[Version]] = {}
        self._unpinned: deque[int] = deque()
        # Releases one pin of a function. Finalizers call it, without a lock, and must not keep this table by it.
        self.unpin: Callable[[int], None] = self._unpinned.append
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        self._reading: dict[int, Entry] = {}  # by id: those whose functions read data of the user's modules
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
            _came_along(function)
            return _IN_PAYLOAD
        if entry is not None and entry.fresh():
            return entry.number
        if entry is None:
            bare = unwrapped(function)
            if bare is not function and type(bare) is types.FunctionType and is_single(function):
                return self.number(bare)
            if not isinstance(function, (types.FunctionType, types.BuiltinFunctionType, type, CACHED)):
                _came_along(function)
                return self._number_with_reads(function)
            if isinstance(function, types.BuiltinFunctionType) and not isinstance(
                function.__self__, (types.ModuleType, type(None))
            ):
                _came_along(function)
                return _IN_PAYLOAD
            entry = Entry(function, not importable(function))
        entry = self._renew(entry, function)
        self._evict()
        return entry.number

    def _number_with_reads(self, function: Any) -> int:
        """A number for a method or callable object that reads data of modules: that goes along with functions only.

        And for one that says that it is ``shown_by_name``: names belong to numbers.
        """
        if not getattr(type(function), "shown_by_name", False) and not may_read(function):
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

    def captured(self, function: Any) -> Captured:
        """What a function that was sent refers to that only its identity tells."""
        entry = self._entry_of(function)
        return entry.captured if entry is not None else NONE

    def capture_of(self, function: Any, number: int) -> Capture | None:
        """What a function refers to, as its version with this number has it; None: that is not its present one, or not
        kept.
        """
        with self._lock:
            entry = self._entry_of(function)
            present = type(entry) is Entry and entry.version is not None and entry.version.number == number
            return entry.capture if entry is not None and present else None

    def pin(self, function: Any) -> Pinned:
        """Return the present function, kept until `unpin`; number 0: not sent by itself.

        Bound methods and callable objects have a number, too: for the many calls of a map.
        """
        with self._lock:
            self.number(function)
            entry = self._entry_of(function)
            if entry is not None and entry.version is not None:
                version, generators, captured = entry.version, entry.generators, entry.captured
                version.users += 1
            else:
                try:
                    walk, encoded, needs, board = self._encoded(function)
                except PayloadError:
                    if type(function) is partial:  # its constants are too much for each chunk
                        raise
                    return Pinned(_IN_PAYLOAD)
                version, generators = self._version(encoded, needs, function), [*board.generators.values()]
                captured = walk.identities if not needs else NONE
            self._pinned.setdefault(version.number, []).append(version)
            return Pinned(version.number, generators, captured)

    def _entry_of(self, function: Any) -> Entry | None:
        try:
            return self._entries.get(function)
        except Exception:  # not hashable, or its hash or comparison raises
            return None

    def drawing(self, function: Any) -> tuple[int, Sequence[Any]]:
        """Return (number, generators) of a function that just got number 0, as it refers to generators."""
        entry = self._entry_of(function)
        if entry is None or entry.version is None:
            return _IN_PAYLOAD, ()
        return entry.version.number, entry.generators

    def by_number(self, number: int) -> Any:
        """Return the function with a number, if still known; None for 0, which is sent with each call."""
        with self._lock:
            entries = list(self._entries.values()) if number else []
        return next(
            (e.target() for e in entries if e.version is not None and e.version.number == number), None
        )

    def by_name(self, name: str) -> Any:
        """Return the newest function of this name, if it is still known."""
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
        """A module was loaded again: functions and classes that were found in it by their names may not be there any
        more, also those that other functions refer to.
        """
        with self._lock:
            for function in list(self._entries):
                self._release(self._forget(function).version)

    def _forget(self, function: Any) -> Entry:
        self.captures.pop(function, None)
        entry = self._entries.pop(function)
        self._reading.pop(id(entry), None)
        return entry

    def readers(self) -> list[Any]:
        """Functions that read data of the user's modules, in no order."""
        if not self._reading:
            return []
        with self._lock:
            targets = [entry.target() for entry in self._reading.values()]
        return [target for target in targets if target is not None]

    def modules(self) -> set[str]:
        """Names of the modules that functions refer to, or come from."""
        with self._lock:
            entries = list(self._entries.values())
        found = {name for entry in entries for name in modules_of(entry.target())}
        return found | {str(e.function.__module__) for e in entries if not e.by_value}

    def _renew(self, entry: Entry, function: Any) -> Entry:
        """Pickle anew; the same content keeps its number, so that workers need not load it again."""
        walk, encoded, needs, board = self._encoded(function)
        own_streams.met(function, function_name(function))
        with self._lock:
            self._let_go()
            version = self._version(encoded, needs, function)
            if needs:
                entry = self._loosened(entry, function)
            elif entry.version is None:
                self._entries[function] = entry
            if walk.reads:
                self._reading[id(entry)] = entry
            else:
                self._reading.pop(id(entry), None)
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
        """Release the entries and versions that finalizers have noted."""
        while self._dead:
            gone = self._entries.pop(self._dead.popleft(), None)
            self._reading.pop(id(gone), None)
            self._release(gone.version if gone is not None else None)
        while self._unpinned:
            versions = self._pinned.get(self._unpinned.popleft())
            if versions:
                self._release(versions.pop())

    def _encoded(self, function: Any) -> tuple[Walk, payload.Encoded, set[int], Board]:
        """Return (references, pickle, shared objects and generators in the pickle), all of one moment."""
        if self.heard is not None:
            self.heard(set(modules_of(function)))
        for _ in range(MOST_TRIES):
            needs, board = set[int](), Board()
            walk = walked(function)
            refer = self._refer and partial(self._refer, needs=needs)
            encoded = encode_function(function, refer, walk, board)
            if (
                Capture(walk, 0).changed() is None
            ):  # no other thread, and nothing that pickling calls, changed it
                break
        for name in walk.by_text:
            notices.give(
                ("globals()", name),
                f"{name} calls globals(): of the notebook's names a task has only those that its code writes, in "
                "quotes or without. Write the names in the function, or give it a dict.",
                function,
            )
        return walk, encoded, needs, board

    def _loosened(self, entry: Entry, function: Any) -> SharingEntry:
        """An entry that does not keep the function, in the table instead of this one."""
        if type(entry) is SharingEntry:
            return entry
        self._entries.pop(function, None)
        self._reading.pop(id(entry), None)
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


def _came_along(function: Any) -> None:
    """Say of a callable that is sent with its calls where it draws from a stream, or has an iterator with it."""
    name, parts = function_name(function), taken_apart(function)
    own_streams.came_along(function, name, parts.key())
    for value in (*parts.args, *parts.kwargs.values()):
        if iterators.is_iterator(value) and parts.name.rpartition(".")[2] not in ONLY_LOOK:
            iterators.tell_of(type(value), name, function)


def let_go() -> None:
    """The program ends: captures, into which the collector of garbage does not see, keep nothing of it alive. Globals
    that lead to them, and to which they lead, would never be freed, and files among these not be written to their end.
    """
    for each in gc.get_objects():
        if type(each) is FunctionTable:
            each.captures.clear()
        elif type(each) is Capture:
            each.let_go()


def _digest(encoded: payload.Encoded) -> bytes:
    digest = blake2b(encoded.data, digest_size=16)
    for buffer in encoded.buffers:
        digest.update(buffer)
    return digest.digest()
