"""Tasks that enter their number into a ledger which all processes share: how often each was run."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

_ledger: Any = None


def create(path: Path, tasks: int) -> mmap.mmap:
    """A ledger of so many tasks, all of them not run yet."""
    path.write_bytes(bytes(tasks))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), tasks)


def open_ledger(path: str) -> None:
    """In a worker, before its first task."""
    global _ledger
    with open(path, "r+b") as file:
        _ledger = mmap.mmap(file.fileno(), 0)


def enter(number: int) -> int:
    """Enter one run of a task and return its number."""
    _ledger[number] += 1
    return number


def follow(before: int, number: int) -> int:
    """One link of a chain: its number comes after that of the link before."""
    assert before == number - 1
    return enter(number)


def carry(number: int, block: bytes) -> bytes:
    """Take a large block and return another."""
    enter(number)
    return block[::-1]
