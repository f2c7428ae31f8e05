"""The source of a user's own module, as one process has it and another is to have it."""

from __future__ import annotations

import contextlib
from hashlib import blake2b
from typing import NamedTuple

MOST_BYTES = 4 << 20  # of a source that is sent


class Source(NamedTuple):
    """A module's source file, without its text."""

    path: str
    package: bool
    digest: bytes  # of the text


def digest_of(text: bytes) -> bytes:
    """Equal for equal texts."""
    return blake2b(text, digest_size=16).digest()


def text_of(path: str) -> bytes | None:
    """The file's text; None where it cannot be read, or is too long."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        text = file.read(MOST_BYTES + 1)
        return text if len(text) <= MOST_BYTES else None
    return None
