"""Holds tasks back until it is opened: two FIFOs, so that it works in every runtime whose workers share a machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import TracebackType


class Gate:
    """`bodies.hold` of ``path`` says that it has started, then waits here."""

    def __enter__(self) -> Gate:
        self._folder = tempfile.TemporaryDirectory(prefix="cellmill-gate-")
        self.path = str(Path(self._folder.name, "gate"))
        self._ends = []
        for path in (self.path, f"{self.path}.started"):
            os.mkfifo(path)
            self._ends.append(os.open(path, os.O_RDWR))
        return self

    def wait(self, count: int) -> None:
        """Until ``count`` tasks are held here."""
        for _ in range(count):
            os.read(self._ends[1], 1)

    def open(self, count: int) -> None:
        """Let ``count`` of them go on."""
        os.write(self._ends[0], b"x" * count)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for end in self._ends:
            os.close(end)
        self._folder.cleanup()
