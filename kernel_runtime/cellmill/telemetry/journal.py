"""A recorded run: the frames that views were sent, in a file.

It begins with `MAGIC`; then come records: two lengths (4 bytes each, little-endian), a head in JSON, and the frame's
buffers one after another. The first head says what the file is, each other one ``at`` (seconds since the first),
``frame`` and the lengths of its ``buffers``. A record that is cut off ends the file: what came before it holds.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from cellmill.errors import UsageError
from cellmill.telemetry import schema

MAGIC = b"cellmill journal\n"
JOURNAL_VERSION = 1
_LENGTHS = struct.Struct("<II")


class JournalFull(Exception):
    """The file has reached the size that it may have."""


class JournalWriter:
    """Appends records; what is written is in the file at once. For one thread at a time."""

    def __init__(self, path: Path, head: dict[str, Any], limit: int) -> None:
        """Make the file, for its owner alone. An older journal is replaced, any other file raises `UsageError`."""
        if path.exists() and not is_journal(path):
            raise UsageError(f"{path} exists and is no recording: give another name, or delete it")
        self.written = 0
        self.frames = 0
        self._limit = limit
        fresh = path.with_name(f".{path.name}.{os.getpid()}")
        self._fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            self._write(MAGIC + _record({"journal": JOURNAL_VERSION, "schema": schema.VERSION, **head}, []))
            fresh.replace(path)  # a reader of the older one keeps that
        except BaseException:
            self.close()
            fresh.unlink(missing_ok=True)
            raise

    def add(self, at: float, frame: schema.Frame) -> None:
        """Append a frame; ``at`` in seconds since the first. Raises `JournalFull` and `OSError`."""
        data = cast(dict[str, Any], frame)
        binary = schema.BUFFERS.get(frame["kind"], ())
        buffers = [data[name] for name in binary]
        head = {
            "at": round(at, 4),
            "frame": {name: value for name, value in data.items() if name not in binary},
            "buffers": [len(buffer) for buffer in buffers],
        }
        record = _record(head, buffers)
        if self.written + len(record) > self._limit:
            raise JournalFull
        self._write(record)
        self.frames += 1

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._fd, left) :]
        self.written += len(data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1


def _record(head: dict[str, Any], buffers: list[bytes]) -> bytes:
    text = json.dumps(head, separators=(",", ":")).encode()
    return b"".join([_LENGTHS.pack(len(text), sum(map(len, buffers))), text, *buffers])


def is_journal(path: Path) -> bool:
    """Whether the file begins as a journal does."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def read_journal(path: Path) -> Iterator[tuple[dict[str, Any], list[bytes]]]:
    """Heads and buffers of all whole records. Raises `UsageError` for what is no journal, or one of a later version."""
    if not path.exists():
        raise UsageError(f"there is no file {path}")
    if not is_journal(path):
        raise UsageError(f"{path} is no recording of Cellmill: those are made by cellmill.record(path)")
    with path.open("rb") as file:
        file.seek(len(MAGIC))
        first = True
        while record := _next(file):
            version = record[0].get("journal") if first else JOURNAL_VERSION
            if version != JOURNAL_VERSION:
                raise UsageError(f"{path} was recorded by another version of Cellmill (journal {version})")
            first = False
            yield record


def _next(file: Any) -> tuple[dict[str, Any], list[bytes]] | None:
    lengths = file.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_bytes, body_bytes = _LENGTHS.unpack(lengths)
    text, body = file.read(head_bytes), file.read(body_bytes)
    if len(text) < head_bytes or len(body) < body_bytes:
        return None
    try:
        head = json.loads(text)
        ends, at = [], 0
        for size in head.get("buffers", ()):
            ends.append(body[at : at + size])
            at += size
    except (ValueError, TypeError, AttributeError):
        return None
    return head, ends
