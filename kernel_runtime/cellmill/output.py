"""What tasks print: sent with the task's number, shown in the cell that submitted it."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable

from .runs import Run

STREAMS = {1: "stdout", 2: "stderr"}
MOST_HELD = 1 << 16  # characters of an unfinished line


class TaskStream(io.TextIOBase):
    """Stands for sys.stdout or sys.stderr in a worker; whole lines go out by ``send(number, text)``."""

    def __init__(
        self, number: int, send: Callable[[int, str], None], unfinished: list[TaskStream] | None = None
    ) -> None:
        self._number = number
        self._send = send
        self._unfinished = [] if unfinished is None else unfinished
        self.held = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """The real descriptor, for subprocesses and native code."""
        return self._number

    def write(self, text: str) -> int:
        held = self.held + text
        whole, newline, rest = held.rpartition("\n")
        if newline:
            self._send(self._number, whole + newline)
            held = rest
        if len(held) > MOST_HELD:
            self._send(self._number, held)
            held = ""
        self.held = held
        if held and self not in self._unfinished:
            self._unfinished.append(self)
        return len(text)

    def flush(self) -> None:
        """Lines stay whole: only the end of a task sends an unfinished one."""

    def go_direct(self) -> None:
        """In a process that the task forked: to the descriptor, at once; what was held is its parent's to send."""
        self.held = ""
        self._send = _write_all
        self.flush = self.end_of_task  # type: ignore[method-assign]

    def end_of_task(self) -> None:
        """Send what a task left without a newline."""
        if self in self._unfinished:
            self._unfinished.remove(self)
        if self.held:
            held, self.held = self.held, ""
            self._send(self._number, held)


def _write_all(number: int, text: str) -> None:
    data = text.encode("utf-8", "backslashreplace")
    while data:
        data = data[os.write(number, data) :]


def deliver(run: Run | None, stream: int, text: str) -> None:
    """Write a task's text where the run was started from."""

    def write() -> None:
        target = getattr(sys, STREAMS.get(stream, "stdout"))
        if target is not None:
            target.write(text)
            target.flush()

    if run is None:
        write()
    else:
        run.context.copy().run(write)
