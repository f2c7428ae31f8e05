"""Keeps a folder of records within a bound: the oldest go first."""

from __future__ import annotations

import contextlib
from pathlib import Path

from . import folders, form, machine


class Bound:
    """Keeps the records of a folder within ``limit`` bytes. It is looked at when a part of the room that was left has
    been filled: other kernels may record there, too.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self.limit = folder, limit
        self._until_look = 0  # bytes that may be recorded before

    def recorded(self, size: int) -> int:
        """A record of so many bytes is whole; return how many went for it."""
        self._until_look -= size
        if self._until_look >= 0:
            return 0
        gone = trim(self._folder, self.limit)
        room = self.limit - sum(map(_size, folders.records_in(self._folder)))
        self._until_look = max(0, room // 8)
        return gone


def trim(folder: Path, limit: int) -> int:
    """Remove the oldest records until those in the folder have at most ``limit`` bytes; return how many went.

    One that was given a name stays, and so do those that are still written and those of other versions.
    """
    sizes = {path: _size(path) for path in folders.records_in(folder)}
    over, gone = sum(sizes.values()) - limit, 0
    for path, size in sizes.items():
        if over <= 0:
            break
        with contextlib.suppress(OSError):  # another process removed it, or it cannot be removed
            if _may_go(path):
                path.unlink()
                over, gone = over - size, gone + 1
    return gone


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _may_go(path: Path) -> bool:
    try:
        form.check(path)
    except ValueError:
        return False
    kinds = {}
    with path.open("rb") as file:
        for frame in form.frames(file):
            if frame.kind in (form.HEAD, form.END, form.LABEL):
                kinds[frame.kind] = frame
    if form.LABEL in kinds or form.HEAD not in kinds:
        return False
    return form.END in kinds or not machine.is_alive(kinds[form.HEAD].json())
