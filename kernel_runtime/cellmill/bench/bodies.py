"""The bodies of the benchmarks' tasks, in a module that the workers of every runtime can import."""

from __future__ import annotations

import importlib
import os
import time
from typing import Any


def noop() -> None:
    """Nothing."""


def noop_of(_: Any) -> None:
    """Nothing, of one element."""


def add_one(array: Any) -> Any:
    """A new array of the same size."""
    return array + 1


def rest(content: bytes) -> bytes:
    """All but the first byte: a new object of about the same size."""
    return content[1:]


_kept: Any = None


def keep(array: Any) -> None:
    """An initializer: `total` finds it."""
    global _kept
    _kept = array


def total(array: Any = None) -> float:
    """The sum of an array, or of the one that was kept."""
    return float((_kept if array is None else array).sum())


def busy(iterations: int) -> None:
    """A fixed amount of work: a counted loop, whose time does not shrink when the processor is shared."""
    for _ in range(iterations):
        pass


def hold(path: str) -> None:
    """Say so in the FIFO ``path.started``, then keep this worker until a byte comes out of the FIFO ``path``."""
    started = os.open(f"{path}.started", os.O_WRONLY)
    os.write(started, b"x")
    os.close(started)
    gate = os.open(path, os.O_RDONLY)
    os.read(gate, 1)
    os.close(gate)


def hold_with(library: str, path: str) -> int:
    """Import a library, then `hold`; the time in nanoseconds when it was there."""
    importlib.import_module(library)
    ready = time.monotonic_ns()
    hold(path)
    return ready


def clock_after(_: Any) -> int:
    """The time in nanoseconds, on the clock that all processes of the machine share."""
    return time.monotonic_ns()
