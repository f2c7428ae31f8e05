"""Stacks of threads of this process, read at one moment."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

MOST_FRAMES = 1000  # of a stack; deeper ones are read from their innermost frame on

Stack = list[Any]  # code and line of each frame in turn, the innermost first


@functools.cache
def _reader() -> Callable[[list[int], int], list[Stack | None]]:
    from .. import _csched_with_gil

    made: list[Any] = []
    _csched_with_gil.lib.csched_stacks(_csched_with_gil.ffi.cast("void *", id(made)))
    reader: Callable[[list[int], int], list[Stack | None]] = made[0]
    return reader


def stacks(idents: list[int]) -> list[Stack | None]:
    """Return the stacks of these threads; None for one that runs no Python code (any more).

    They are read in C, without byte code in between: no frame, and nothing that one holds, lives longer for it.
    """
    return _reader()(idents, MOST_FRAMES)
