"""The file of a map's results: they are written and found by hundreds, since elements of a map come in about their
order.
"""

from __future__ import annotations

import pickle
import sqlite3
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .stores import FileStore, Held

PLACE_BYTES = 6  # a key begins with the place of the element in its map
_MOST = 512  # results of a block
_MOST_PLACES = 4096  # from the first result of a block to its last
_MOST_OPEN = 8  # blocks that are kept unpacked: elements whose number is unknown are looked up one by one


class _Row(NamedTuple):
    """A block, without what is in it."""

    id: int
    first: int
    last: int
    sum: int


class CheckpointStore(FileStore):
    """Results of maps, in an SQLite file without a bound. Its rows are blocks of results of neighbours: one for each
    result takes ten times as long to write, and twice as long to find.
    """

    def __init__(self, path: Path) -> None:
        self._open: OrderedDict[_Row, dict[bytes, bytes]] = OrderedDict()
        super().__init__(path, None)

    def _make_tables(self, base: sqlite3.Connection) -> None:
        base.execute(
            "CREATE TABLE IF NOT EXISTS blocks "
            "(id INTEGER PRIMARY KEY, first INTEGER, last INTEGER, function TEXT, data BLOB, sum INTEGER)"
        )
        base.execute("CREATE INDEX IF NOT EXISTS by_place ON blocks (first, last)")

    def _insert(self, base: sqlite3.Connection, results: dict[bytes, tuple[str, bytes]]) -> None:
        of_functions: dict[str, dict[bytes, bytes]] = {}
        for key in sorted(results):
            name, data = results[key]
            of_functions.setdefault(name, {})[key] = data
        for name, found in of_functions.items():
            for block in _blocks([*found]):
                data = pickle.dumps({key: found[key] for key in block}, 5)
                row = _place(block[0]), _place(block[-1]), name, data, zlib.crc32(data)
                base.execute(
                    "INSERT INTO blocks (first, last, function, data, sum) VALUES (?, ?, ?, ?, ?)", row
                )

    def _read(self, base: sqlite3.Connection, digests: list[bytes], found: dict[bytes, bytes]) -> None:
        """Add what the file has of these."""
        first, last = _place(min(digests)), _place(max(digests))
        rows = base.execute(
            "SELECT id, first, last, sum FROM blocks WHERE first BETWEEN ? AND ? AND last >= ? ORDER BY id",
            (first - _MOST_PLACES, last, first),
        ).fetchall()
        wanted = set(digests) - found.keys()
        for row in map(_Row._make, rows):
            block = self._unpacked(base, row)
            found |= {key: block[key] for key in wanted & block.keys()}

    def _unpacked(self, base: sqlite3.Connection, row: _Row) -> dict[bytes, bytes]:
        """What is in a block; nothing of one that was cut off."""
        block = self._open.get(row)
        if block is None:
            found = base.execute("SELECT data FROM blocks WHERE id=?", (row.id,)).fetchone()
            whole = found is not None and zlib.crc32(found[0]) == row.sum
            block = self._open[row] = pickle.loads(found[0]) if whole else {}
            if len(self._open) > _MOST_OPEN:
                self._open.popitem(last=False)
        return block

    def _results(self, function: str | None) -> dict[bytes, bytes]:
        """All that is kept, of a function or of all."""
        found: dict[bytes, bytes] = {}
        for data, check in self._rows(
            "SELECT data, sum FROM blocks WHERE ?1 IS NULL OR function=?1 ORDER BY id", (function,)
        ):
            if zlib.crc32(data) == check:
                found |= pickle.loads(data)
        return found

    def held(self, function: str | None = None) -> Held:
        """See `Store`. Kernels that ran a map at the same time may both have kept a result: it counts once."""
        self.write()
        with self._lock:
            found = self._results(function)
        return Held(len(found), sum(map(len, found.values())))

    def functions(self) -> list[str]:
        """See `Store`."""
        self.write()
        with self._lock:
            rows = self._rows("SELECT DISTINCT function FROM blocks ORDER BY function")
        return [name for (name,) in rows]

    def clear(self, function: str | None = None) -> int:
        """See `Store`."""
        self.write()
        with self._lock:
            count = len(self._results(function))
            if count:
                self._base.execute("DELETE FROM blocks WHERE ?1 IS NULL OR function=?1", (function,))
            return count


def _place(key: bytes) -> int:
    return int.from_bytes(key[:PLACE_BYTES], "big")


def _blocks(keys: list[bytes]) -> Iterator[list[bytes]]:
    """Neighbours among sorted keys."""
    start = 0
    while start < len(keys):
        last, most = _place(keys[start]) + _MOST_PLACES, min(start + _MOST, len(keys))
        end = bisect_right(keys, last, start, most, key=_place)
        yield keys[start:end]
        start = end
