"""Everything a task shows, in the worker: text, displays, figures, and what native code writes; told at its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..backends.scheduled.scheduler import with_gil
from ..cell_output import log_records, warning_messages
from .displays import Displays
from .output_frames import END, NOWHERE, Channel, TaskRef
from .standard_streams import StandardStreams


class OutputCapture:
    """The captured output of one worker. ``item`` is the present task, ``tell`` reports to the kernel that its
    output is complete.
    """

    def __init__(self, pipes: list[int], handle: Any, item: Any, tell: Callable[[], None]) -> None:
        self._handle = handle
        self._item = item
        self._tell = tell
        self.spoke: list[Any] = []  # not empty: there is something to do at the end of the task in hand
        self.channel = Channel(pipes, self._place, self.spoke, self._turn)
        with_gil.csched_worker_listen(handle, self.channel.natives)
        self._displays = Displays(self.channel)
        self.streams = StandardStreams(self.channel)
        log_records.forward(self._messages)
        warning_messages.forward(self._messages)

    def _place(self) -> TaskRef:
        """Return the task that the main thread prints for now."""
        ticket = with_gil.csched_worker_current(self._handle)
        if not ticket:
            return NOWHERE
        return TaskRef(with_gil.csched_worker_current_element(self._handle), self._item.function, ticket)

    def _messages(self) -> Channel | None:
        """Return the channel for log records and warnings; None in a child that a task has forked."""
        return None if self.channel.left else self.channel

    def _turn(self, take: bool) -> bool:
        return bool(with_gil.csched_worker_output_turn(self._handle, take))

    def show(self) -> None:
        """Before the results of elements that are over, while a later one runs: what they have printed counts as
        told. It may go on printing, so its own end is told as well.
        """
        if self.spoke:
            self.channel.send(END, b"", self._place())
            self._tell()

    def end(self, native: bool = False) -> None:
        """Before a task's result: all of it leaves this process, ``native`` output taken over too."""
        if native:
            self.channel.mark()  # also when the kernel has read all of it by now
            self.channel.take_native()
        if self.spoke:
            self._displays.end_of_task()
            self.streams.end_of_task()
            self.channel.end()
            self._tell()
