"""Where results are kept: in the memory of the kernel, or in a file."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import stat
import threading
import time
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from ..by_value.pickle_texts import texts_of
from ..diagnostics import notices
from ..errors import UsageError, in_words

MEMORY_LIMIT = 256 * 10**6
DISK_LIMIT = 2 * 10**9
FILE = "cellmill-memo.sqlite"
_SCHEMA = 1
_OF_CELLS = b"_class_named"  # what pickles of objects of a cell's classes refer to
_BUSY_S = 30.0
_AT_ONCE = 500  # results that one question to the file is about
_USED_WITHIN_S = 60.0  # how exactly the time of the last use is kept
_LEAST_LOOK = 1 << 20  # bytes stored between two looks at the size, at least
_LATEST_S = 0.02  # after which a result is in the file
_MOST_IDLE = 50  # times as long without a result: the thread that writes them ends
_MOST_PENDING = 4 << 20  # bytes that wait for that


class Held(NamedTuple):
    """What a store holds of one function: number of results, and bytes."""

    results: int
    bytes: int


class Store(Protocol):
    """Results by their keys. ``identity`` tells it from other stores, those of other processes too."""

    identity: bytes
    where: str
    limit: int | None

    def get(self, digests: list[bytes]) -> dict[bytes, bytes]:
        """The bytes of those results that there are."""

    def put(self, digest: bytes, function: str, data: bytes) -> None:
        """Keep a result of a function. Never raises: what cannot be kept is left out, and said."""

    def write(self) -> None:
        """What was put is where it is kept when this returns; else it is a moment later."""

    def trim(self) -> None:
        """Let go of what is more than ``limit`` bytes."""

    def held(self, function: str | None = None) -> Held:
        """What there is of a function, or of all."""

    def functions(self) -> list[str]:
        """Names of the functions of which there are results."""

    def clear(self, function: str | None = None) -> int:
        """Forget the results of a function, or all; how many those were."""


class MemoryStore:
    """Results in memory; when there are more than ``limit`` bytes, those go that were not used for longest."""

    where = "memory"

    def __init__(self, limit: int = MEMORY_LIMIT) -> None:
        self.identity = secrets.token_bytes(8)
        self.limit: int | None = limit
        self._lock = threading.RLock()  # finalizers, too, may bring results
        self._results: OrderedDict[bytes, tuple[bytes, str]] = OrderedDict()
        self._bytes = 0

    def get(self, digests: list[bytes]) -> dict[bytes, bytes]:
        """See `Store`."""
        found, results = {}, self._results
        with self._lock:
            for digest in digests:
                kept = results.get(digest)
                if kept is not None:
                    results.move_to_end(digest)
                    found[digest] = kept[0]
        return found

    def put(self, digest: bytes, function: str, data: bytes) -> None:
        """See `Store`."""
        with self._lock:
            before = self._results.pop(digest, None)
            if before is not None:
                self._bytes -= len(before[0])
            self._results[digest] = data, function
            self._bytes += len(data)
            self.trim()

    def write(self) -> None:
        """See `Store`."""

    def trim(self) -> None:
        """See `Store`."""
        with self._lock:
            while self.limit is not None and self._bytes > self.limit and self._results:
                _, (gone, _) = self._results.popitem(last=False)
                self._bytes -= len(gone)

    def held(self, function: str | None = None) -> Held:
        """See `Store`."""
        with self._lock:
            sizes = [len(data) for data, name in self._results.values() if function in (None, name)]
        return Held(len(sizes), sum(sizes))

    def functions(self) -> list[str]:
        """See `Store`."""
        with self._lock:
            return sorted({name for _, name in self._results.values()})

    def clear(self, function: str | None = None) -> int:
        """See `Store`."""
        with self._lock:
            gone = [key for key, (_, name) in self._results.items() if function in (None, name)]
            for key in gone:
                self._bytes -= len(self._results.pop(key)[0])
            return len(gone)


def _to_wal(base: sqlite3.Connection) -> None:
    """Readers and a writer at once. SQLite does not wait by itself here while another process does the same."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            base.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


class FileStore:
    """Results in an SQLite file, which several kernels may use at once; the file is the user's alone.

    With more than ``limit`` bytes those go that were not used for longest; None: nothing goes. Each result has a check
    sum: one that was cut off counts as missing.
    """

    def __init__(self, path: Path, limit: int | None) -> None:
        self.identity = secrets.token_bytes(8)
        self.path = path
        self.where = str(path)
        self.limit = limit
        self._lock = threading.RLock()
        self._until_look = 0  # bytes that may be stored before the size is looked at
        self._failed = False
        # Many small results come in little time: those of 20 ms are written at once.
        self._pending: dict[bytes, tuple[str, bytes]] = {}
        self._pending_bytes = 0
        self._written = 0.0  # when that was done last
        self._followed = False  # a thread writes what is put
        self._base = self._opened()
        self._inode = os.stat(path).st_ino

    def _present(self) -> sqlite3.Connection:
        """The file under its name: it is made anew where it was removed."""
        try:
            inode = os.stat(self.path).st_ino
        except FileNotFoundError:
            inode = 0
        if inode != self._inode:
            self._base.close()
            self._base = self._opened()
            self._inode = os.stat(self.path).st_ino
        return self._base

    def _rows(self, question: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """What the file answers; nothing where it was removed, as to ask makes none."""
        return self._present().execute(question, values).fetchall() if self.path.exists() else []

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._check_owner()
            with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)):
                pass
            base = sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            _to_wal(base)
            base.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing
            (version,) = base.execute("PRAGMA user_version").fetchone()
            if version not in (0, _SCHEMA):
                raise UsageError(
                    f"{self.path} was written by another version of Cellmill (format {version}, this one has "
                    f"{_SCHEMA}): give another name, or remove it"
                )
            self._make_tables(base)
            base.execute(f"PRAGMA user_version={_SCHEMA}")
        except (OSError, sqlite3.Error) as error:
            raise UsageError(f"results cannot be kept in {self.path}: {in_words(error)}") from error
        return base

    def _make_tables(self, base: sqlite3.Connection) -> None:
        base.execute(
            "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, function TEXT, data BLOB, "
            "sum INTEGER, size INTEGER, used REAL) WITHOUT ROWID"
        )
        base.execute("CREATE INDEX IF NOT EXISTS by_function ON results (function, size)")

    def _check_owner(self) -> None:
        """Results are pickles: those that another user could write would run that user's code."""
        for path in (self.path.parent, self.path):
            try:
                found = path.stat()
            except FileNotFoundError:
                continue
            foreign = found.st_uid not in (os.getuid(), 0)
            if foreign or (found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX):
                reason = "belongs to another user" if foreign else "can be written by every user"
                raise UsageError(
                    f"results are not read from {path}: it {reason}. Choose a folder of your own"
                )

    def get(self, digests: list[bytes]) -> dict[bytes, bytes]:
        """See `Store`."""
        with self._lock:
            found = {each: self._pending[each][1] for each in digests if each in self._pending}
            try:
                base = self._present()
                for start in range(0, len(digests), _AT_ONCE):
                    self._read(base, digests[start : start + _AT_ONCE], found)
            except (sqlite3.Error, UsageError) as error:
                self._say(error)
            return found

    def _read(self, base: sqlite3.Connection, digests: list[bytes], found: dict[bytes, bytes]) -> None:
        """Add what the file has of these."""
        now, late = time.time(), []
        marks = ",".join("?" * len(digests))
        rows = base.execute(f"SELECT key, data, sum, used FROM results WHERE key IN ({marks})", digests)
        for key, data, check, used in rows:
            if key not in found and zlib.crc32(data) == check:
                found[key] = data
                if self.limit is not None and now - used > _USED_WITHIN_S:
                    late.append((now, key))
        if late:
            base.executemany("UPDATE results SET used=? WHERE key=?", late)

    def put(self, digest: bytes, function: str, data: bytes) -> None:
        """See `Store`."""
        with self._lock:
            if _OF_CELLS in texts_of(data):
                notices.give(
                    ("memo", "class of a cell"),
                    f"results of {function} hold objects of classes that a cell defines, and are not "
                    f"kept in {self.path}: another kernel would have another class of that name. Define the class in a "
                    "module, or return plain data.",
                )
                return
            self._pending[digest] = function, data
            self._pending_bytes += len(data)
            if self._pending_bytes > _MOST_PENDING or time.monotonic() - self._written > _LATEST_S:
                self.write()
            elif not self._followed:
                threading.Thread(target=self._follow, name="cellmill-memo", daemon=True).start()
                self._followed = True

    def _follow(self) -> None:
        """Write what comes, for as long as something does."""
        idle = 0
        while idle < _MOST_IDLE:
            time.sleep(_LATEST_S)
            idle = 0 if self._pending else idle + 1
            self.write()
        with self._lock:
            self._followed = False
            self.write()  # what came since the last look

    def write(self) -> None:
        """See `Store`."""
        with self._lock:  # another thread may be writing
            if not self._pending:
                return
            results, self._pending, self._pending_bytes = self._pending, {}, 0
            try:
                self._insert_all(results)
                self._until_look -= sum(len(data) for _, data in results.values())
                if self.limit is not None and self._until_look < 0:
                    self.trim()
            except (sqlite3.Error, UsageError) as error:
                self._say(error)
            except BaseException:  # Stop: they are written the next time
                self._pending = results | self._pending
                self._pending_bytes = sum(len(data) for _, data in self._pending.values())
                raise
            self._written = time.monotonic()

    def _insert_all(self, results: dict[bytes, tuple[str, bytes]]) -> None:
        """In one transaction. It ends wherever Stop comes: open, it would keep all kernels from the file."""
        base = self._present()
        try:
            base.execute("BEGIN IMMEDIATE")
            self._insert(base, results)
            base.execute("COMMIT")
        except BaseException:
            base.rollback()
            raise

    def _insert(self, base: sqlite3.Connection, results: dict[bytes, tuple[str, bytes]]) -> None:
        now = time.time()
        rows = [(key, name, data, zlib.crc32(data), len(data), now) for key, (name, data) in results.items()]
        base.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?)", rows)

    def close(self) -> None:
        """All is in the file itself, and nothing beside it, unless another process uses it: it can be copied and moved.
        The next look opens it again.
        """
        self.write()
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._base.close()
            self._inode = -1  # of no file

    def held(self, function: str | None = None) -> Held:
        """See `Store`."""
        self.write()
        clause, values = ("", ()) if function is None else (" WHERE function=?", (function,))
        with self._lock:
            rows = self._rows(f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM results{clause}", values)
        return Held(*rows[0]) if rows else Held(0, 0)

    def functions(self) -> list[str]:
        """See `Store`."""
        self.write()
        with self._lock:
            rows = self._rows("SELECT DISTINCT function FROM results ORDER BY function")
        return [name for (name,) in rows]

    def clear(self, function: str | None = None) -> int:
        """See `Store`."""
        self.write()
        clause, values = ("", ()) if function is None else (" WHERE function=?", (function,))
        with self._lock:
            if not self.path.exists():
                return 0
            return self._present().execute(f"DELETE FROM results{clause}", values).rowcount

    def trim(self) -> None:
        """See `Store`."""
        with self._lock:
            (size,) = self._base.execute("SELECT COALESCE(SUM(size), 0) FROM results").fetchone()
            while self.limit is not None and size > self.limit:
                rows = self._base.execute("SELECT key, size FROM results ORDER BY used LIMIT 100").fetchall()
                for key, part in rows:
                    if size > self.limit:
                        self._base.execute("DELETE FROM results WHERE key=?", (key,))
                        size -= part
            # other kernels store there, too: each looks again when it has stored a part of what there is room for
            limit = self.limit or 0
            self._until_look = max(min(_LEAST_LOOK, limit // 8), (limit - size) // 8)

    def _say(self, error: Exception) -> None:
        """Said once: tasks go on, and their results are not kept."""
        if not self._failed:
            self._failed = True
            notices.give(
                ("memo", self.where),
                f"results are not kept in {self.path} any more: {in_words(error)}. What was kept is there still; "
                "calls go on and give their values.",
            )
