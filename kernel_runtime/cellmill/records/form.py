"""The form of a record: a line that says what the file is, then frames, each with its length and a check sum.

A frame is a head of 12 bytes (kind, three bytes that are 0, length and CRC-32 of what follows, little-endian) and its
bytes. It is written by one call, so a file that is cut off by a dead process or a full disk ends with frames that are
whole, and maybe with a part of one, which is left out. Kinds that a reader does not know are passed over.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import UsageError

VERSION = 2  # of what is written; 1 lacks elements that are told by how long they took
_READABLE = ("1", str(VERSION))
MAGIC = b"cellmill record "
HEAD, NAMES, ROWS, SAMPLE, FAILURES, END, LABEL = range(1, 8)
"""Kinds: JSON but for `ROWS`: the number of rows and of rows missed (4 and 8 bytes), then packed rows."""
SUFFIX = ".cellmill"
_FRAME = struct.Struct("<B3xII")
_COUNTS = struct.Struct("<IQ")
_MOST_LINE = 32
MOST_FRAME = 64 << 20


class Frame(NamedTuple):
    """One frame of a file."""

    kind: int
    data: bytes

    def json(self) -> dict[str, Any]:
        """What it holds, where that is JSON."""
        found = json.loads(self.data)
        return found if isinstance(found, dict) else {}

    def rows(self) -> tuple[int, int, bytes]:
        """Number of rows, number of rows missed before them, packed rows."""
        count, missed = _COUNTS.unpack_from(self.data)
        return count, missed, self.data[_COUNTS.size :]


class FrameWriter:
    """Appends frames to a file of its own, which is its owner's alone to read. One thread at a time."""

    def __init__(self, path: Path) -> None:
        """Make the file; there must be none."""
        self.path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.size = 0
        try:
            self._write(MAGIC + b"%d\n" % VERSION)
        except OSError:
            self.close()
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def add(self, kind: int, data: bytes) -> None:
        """Append a frame. Raises `OSError`; the file ends with the frame before then."""
        self._write(_FRAME.pack(kind, len(data), zlib.crc32(data)) + data)

    def add_json(self, kind: int, **fields: Any) -> None:
        """Append a frame of JSON."""
        self.add(kind, json.dumps(fields, separators=(",", ":")).encode())

    def add_rows(self, count: int, missed: int, packed: bytes) -> None:
        """Append journeys."""
        self.add(ROWS, _COUNTS.pack(count, missed) + packed)

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.size)
            raise
        self.size += len(data)

    def close(self) -> None:
        """Give the file back."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def append_label(path: Path, label: str, *, mend: bool) -> None:
    """Give a record a name: a frame behind its last whole one. ``mend``: no process writes it any more, so what follows
    is a part of a frame, which would hide the new one.
    """
    check(path)
    data = json.dumps({"label": label}).encode()
    if mend:
        with path.open("rb+") as file:
            file.truncate(whole_until(file))
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(fd, _FRAME.pack(LABEL, len(data), zlib.crc32(data)) + data)
    finally:
        os.close(fd)


def whole_until(file: BinaryIO) -> int:
    """Return where the last whole frame ends."""
    for _ in frames(file):
        pass
    return file.tell()


def is_record(path: Path) -> bool:
    """Whether the file begins as a record does, of whatever version."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def check(path: Path) -> None:
    """Raise `UsageError` for what is no record, or one of another version."""
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: cellmill.runs({str(path)!r}) lists the records in it")
    with path.open("rb") as file:
        line = file.readline(_MOST_LINE)
    if not line.startswith(MAGIC):
        raise UsageError(f"{path} is no record of a run: those are made by cellmill.record(folder)")
    number = line[len(MAGIC) :].strip().decode("ascii", "replace")
    if number not in _READABLE:
        raise UsageError(
            f"{path} was recorded by another version of Cellmill (records {number or '?'}; this one reads "
            f"{VERSION}): open it there, and export what you need, as CSV for instance"
        )


def frames(file: BinaryIO) -> Iterator[Frame]:
    """All whole frames of a record that was checked; the file's position is behind the last one afterwards."""
    file.seek(0)
    file.readline(_MOST_LINE)
    at = file.tell()
    while True:
        file.seek(at)
        head = file.read(_FRAME.size)
        if len(head) < _FRAME.size:
            break
        kind, size, crc = _FRAME.unpack(head)
        if size > MOST_FRAME:
            break
        data = file.read(size)
        if len(data) < size or zlib.crc32(data) != crc:
            break
        at += _FRAME.size + size
        yield Frame(kind, data)
    file.seek(at)
