"""What an executor with a name leaves on its cluster: the outcomes of its maps, element by element.

A kernel that is started anew finds them there. They are a log of entries, in blocks of bytes. The name of a block says
what is in it, so that blocks are listed without being read; the cluster removes each when its time is over.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import CancelledError
from typing import Any, NamedTuple, Protocol

from ....by_value.pickling import dumps
from ....diagnostics import notices
from ....errors import UsageError, in_words
from ....run_registry import Run
from ....serialization.exceptions import encode_error
from ....task import memory_of
from ...scheduled.protocols import Receiver

BLOCK_BYTES = 1 << 20
BLOCK_SECONDS = 0.25  # for which an outcome may wait to be sent
FLUSH_SECONDS = 10.0  # at the executor's end
RUN, VALUES, ERROR = range(3)  # kinds of entries; a run's bytes are its name, length and beginning


class Entry(NamedTuple):
    """Something that is known of a run."""

    kind: int
    run: int
    places: Sequence[int]  # of elements in the map
    data: bytes


class Block(NamedTuple):
    """The name of a block: whose it is, and what is in it."""

    name: str  # of the executor
    session: str  # equal for the blocks of one executor
    number: int
    expires: float  # by the clock of the kernel that left it, in seconds since 1970
    size: int
    ended: int  # elements with a value
    failed: int


class Store(Protocol):
    """A cluster, as what keeps blocks."""

    session: str  # of the executor that this kernel has there

    def put(self, block: Block, data: bytes, seconds: float) -> None:
        """Keep a block for so long."""

    def blocks(self) -> list[Block]:
        """Return the names of all blocks that are there."""

    def get(self, block: Block) -> bytes | None:
        """Return a block; None where it is lost."""

    def drop(self, blocks: Collection[Block]) -> None:
        """Remove these blocks."""

    def alive(self) -> set[str]:
        """Return the sessions whose kernels are there."""


class Keep(NamedTuple):
    """What was asked for."""

    name: str
    seconds: float
    most: int  # bytes


def asked(name: Any, seconds: Any, most: Any, where: str, owns: bool) -> Keep | None:
    """Return what the options of an executor ask for; None where it has no name.

    Raises:
        UsageError: they make no sense on this cluster.
    """
    if name is None:
        return None
    if not isinstance(name, str) or not name:
        raise UsageError(f"name= takes text under which results are found again, not {name!r}")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e9:
        raise UsageError(f"keep_seconds= takes seconds, not {seconds!r}")
    if owns:
        raise UsageError(
            f"name={name!r} keeps results for a kernel that comes later, and {where} ends with this kernel: it is for "
            "a cluster that runs by itself, Executor(backend='tcp://HOST:8786', name=...)"
        )
    return Keep(name, float(seconds), memory_of("keep_bytes", most))


class Keeping:
    """Leaves the outcomes of one executor's maps on its cluster, as they come. Thread-safe."""

    def __init__(self, store: Store, keep: Keep) -> None:
        self._store = store
        self._name, self._seconds, self._left = keep
        self._entries: queue.SimpleQueue[Entry | None] = queue.SimpleQueue()
        self._full = False
        self._number = 0
        self._thread = threading.Thread(target=self._send, name="cellmill-keeping", daemon=True)
        self._thread.start()

    def receiver(self, receiver: Receiver, run: Run, function: Any) -> Receiver:
        """Return what hears of the elements of a run, and passes them on. A function whose items leave more than a
        value (`%%pfor`) says which part of it that is.
        """
        began = run.began.astimezone().isoformat()
        total = None if run.expected is None else run.expected + run.hits.count
        self.add(Entry(RUN, run.id, (), pickle.dumps((run.name, total, began))))
        return _Heard(self, receiver, run, getattr(function, "__cellmill_value_of__", None))

    def add(self, entry: Entry) -> None:
        self._entries.put(entry)

    def close(self) -> None:
        """Send what is still here."""
        self._entries.put(None)
        self._thread.join(FLUSH_SECONDS)

    def _send(self) -> None:
        more = True
        while more:
            found = [self._entries.get()]
            until = time.monotonic() + BLOCK_SECONDS
            while found[-1] is not None and sum(len(entry.data) for entry in found if entry) < BLOCK_BYTES:
                try:
                    found.append(self._entries.get(timeout=max(0.0, until - time.monotonic())))
                except queue.Empty:
                    break
            more = found[-1] is not None
            entries = [entry for entry in found if entry is not None]
            if entries and not self._full:
                self._put(entries)

    def _put(self, entries: Sequence[Entry]) -> None:
        data = pickle.dumps([tuple(entry) for entry in entries], 5)
        self._number += 1
        block = Block(
            self._name,
            self._store.session,
            self._number,
            time.time() + self._seconds,
            len(data),
            sum(len(entry.places) for entry in entries if entry.kind == VALUES),
            sum(len(entry.places) for entry in entries if entry.kind == ERROR),
        )
        why = "keep_bytes= has no more room"
        if len(data) <= self._left:
            self._left -= len(data)
            try:
                self._store.put(block, data, self._seconds)
                return
            except Exception as error:
                why = in_words(error)
        self._full = True
        notices.warn(
            f"cellmill keeps no further results of the executor {self._name!r} on its cluster: {why}. The maps "
            "go on; a kernel that is started anew will not find these results."
        )


class _Heard:
    """Notes what a map's elements came to before its reader has it and can change it."""

    def __init__(
        self, keeping: Keeping, receiver: Receiver, run: Run, value_of: Callable[[Any], Any] | None
    ) -> None:
        self._keeping = keeping
        self._receiver = receiver
        self._run = run.id
        self._places = run.hits.places
        self._value_of = value_of

    def _in_input(self, keys: Sequence[Any]) -> Sequence[int]:
        """The places of elements in the map's input, of which a cache may have had some."""
        return [self._places[key] for key in keys] if self._places else keys

    def receive(self, keys: Sequence[Any], values: list[Any], size: int = 0) -> None:
        """See `Receiver`."""
        with contextlib.suppress(Exception):  # what cannot be pickled is not known to have ended
            kept = values if self._value_of is None else [*map(self._value_of, values)]
            self._keeping.add(Entry(VALUES, self._run, self._in_input(keys), dumps(kept)))
        self._receiver.receive(keys, values, size)

    def receive_error(self, key: Any, error: BaseException) -> None:
        """See `Receiver`."""
        if not isinstance(error, CancelledError):
            with contextlib.suppress(Exception):
                (place,) = self._in_input((key,))
                self._keeping.add(Entry(ERROR, self._run, (place,), encode_error(error, "an element")))
        self._receiver.receive_error(key, error)

    def receive_cancelled(self, keys: Sequence[Any]) -> None:
        """See `Receiver`."""
        self._receiver.receive_cancelled(keys)
