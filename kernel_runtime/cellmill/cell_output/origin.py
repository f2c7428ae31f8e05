"""The origin of tasks: the cell that submitted them and shows their output."""

from __future__ import annotations

import contextvars
import sys
from collections.abc import Callable
from typing import Any

STREAMS = {1: "stdout", 2: "stderr"}


class Origin:
    """A cell: its context (which carries whose output it is) and the streams that it began with."""

    def __init__(self, epoch: int) -> None:
        self.context = contextvars.copy_context()
        self.epoch = epoch
        self._streams = {number: getattr(sys, name) for number, name in STREAMS.items()}

    def within(self, context: contextvars.Context) -> Origin:
        """The same cell, seen from a context of its own."""
        made = Origin(self.epoch)
        made.context, made._streams = context, self._streams
        return made

    def do(self, action: Callable[[], object]) -> None:
        """Do something as if the cell did it."""
        self.context.copy().run(action)

    def stream(self, number: int) -> Any:
        """Return the stream for its text: the current one (a cell may capture its output), but never a later cell's."""
        return getattr(sys, STREAMS[number]) if self.epoch == latest.epoch else self._streams[number]


latest = Origin(0)


def begin_cell(epoch: int) -> Origin:
    """A new cell is the latest."""
    global latest
    latest = Origin(epoch)
    return latest


def is_notebooks(stream: Any) -> bool:
    """Return whether text written there appears in a cell, and is not captured or sent elsewhere."""
    return hasattr(stream, "pub_thread")  # an `OutStream` of ipykernel, or a wrapper of one
