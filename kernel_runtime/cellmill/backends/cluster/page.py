"""The page of a lane: what runs on its remote worker, for a kernel on the same machine."""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import Any

from . import clocks
from .pack import PAGE


class Page:
    """A small file in which a remote worker of this machine notes the task it runs, and which this process reads."""

    def __init__(self, folder: str, number: int) -> None:
        self.path = os.path.join(folder, f"lane-{number}")
        self.known = False  # whether the remote worker writes it
        with open(self.path, "w+b") as file:
            file.write(bytes(PAGE.size))
            file.flush()
            self._memory = mmap.mmap(file.fileno(), PAGE.size)

    def read(self) -> tuple[int, int]:
        """Return the ticket of the task (0: none), and the element of a chunk."""
        ticket, element, _ = PAGE.unpack_from(self._memory)
        return int(ticket), int(element)

    def since(self, ticket: int) -> int:
        """Return when this task began, or the element of it that runs, in nanoseconds; 0: it does not run."""
        runs, _, since = PAGE.unpack_from(self._memory)
        return int(since) if runs == ticket else 0

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self.path)


def opened(path: str, boot_of_caller: str) -> Any:
    """Map the page that this remote worker is to write; None where the caller is on another machine."""
    if not boot_of_caller or boot_of_caller != clocks.boot():
        return None
    try:
        with open(path, "r+b") as file:
            return mmap.mmap(file.fileno(), PAGE.size)
    except (OSError, ValueError):  # another machine in all but its kernel: a container
        return None
