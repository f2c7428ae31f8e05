"""The source of a user's own module, as one process has it and another is to have it."""

from __future__ import annotations

import contextlib
import os
import time
import types
from collections.abc import Iterator
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from typing import Any, NamedTuple

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


def process_began() -> float:
    """Return when this process began, by the clock of the day; 0: not known."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return time.time() - age
    return 0.0


def is_made_of(module: Any, text: bytes, path: str) -> bool:
    """Whether the functions and methods that a module has from its file are those of this text.

    Also True where the module's loader may change what a file says.
    """
    if type(getattr(getattr(module, "__spec__", None), "loader", None)) is not SourceFileLoader:
        return True
    try:
        there = set(_codes(compile(text, path, "exec", dont_inherit=True)))
    except (SyntaxError, ValueError):
        return False
    return all(code in there for code in _codes_of(module) if code.co_filename == path)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if type(constant) is types.CodeType:
            yield from _codes(constant)


def _codes_of(module: Any) -> Iterator[types.CodeType]:
    for value in list(vars(module).values()):
        members = list(vars(value).values()) if isinstance(value, type) else ()
        for each in (value, *members):
            function = getattr(each, "__func__", each)
            if type(function) is types.FunctionType:
                yield function.__code__
