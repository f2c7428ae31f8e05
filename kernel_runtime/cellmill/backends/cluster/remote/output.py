"""Output of tasks on a remote worker: framed by task and stream, and gathered until the pack's reply.

sys.stdout and sys.stderr of the process are routed by thread: the thread that runs tasks, and threads that tasks may
have started, write into frames; other code writes where it did before. A task may have started a thread that began
after the only lane of this process did: those that ran before are the cluster's (its event loop, which logs what it is
asked).
"""

from __future__ import annotations

import io
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from ....cell_output import log_records, warning_messages
from ....worker_process.output_frames import END, FRAME, NOWHERE, STDERR, STDOUT, TaskRef, TaskStream
from .context import RemoteContext

_listening: dict[int, OutputCapture] = {}  # by thread
_lock = threading.Lock()
_earlier: weakref.WeakSet[threading.Thread] = (
    weakref.WeakSet()
)  # ran before the lanes that listen: not tasks'
_forwarded: list[Callable[[], None]] = []  # what has log records and warnings stay here again


class TaskInHand(Protocol):
    """The task that runs on this remote worker."""

    element: int
    function: int
    ticket: int

    @property
    def context(self) -> RemoteContext: ...


class OutputCapture:
    """Captures the output of one runner's tasks; serves as the channel of a `TaskStream`."""

    def __init__(self, runner: TaskInHand) -> None:
        self._task = runner
        self._frames: list[bytes] = []
        self.spoke: list[bool] = []  # not empty: there is something to do at the end of the task in hand
        self.streams: list[TaskStream] = []
        self._by_number = {STDOUT: TaskStream(STDOUT, self), STDERR: TaskStream(STDERR, self)}  # type: ignore[arg-type]
        self._thread = 0

    def stream(self, number: int) -> TaskStream:
        return self._by_number[number]

    def listen(self) -> None:
        """Capture output of the calling thread, which runs tasks from now on."""
        self._thread = threading.get_ident()
        with _lock:
            if not _earlier:
                _earlier.update(threading.enumerate())
            _listening[self._thread] = self
            for number, name in ((STDOUT, "stdout"), (STDERR, "stderr")):
                now = getattr(sys, name)
                if type(now) is not Router:
                    setattr(sys, name, Router(number, now))
            if not _forwarded:
                _forwarded.append(log_records.forward(_message_keeper))
                _forwarded.append(warning_messages.forward(_message_keeper))

    def end(self) -> None:
        """Capture no more output of the thread that called `listen`."""
        self.end_of_task(0, 0)
        with _lock:
            _listening.pop(self._thread, None)

    def end_of_task(self, ticket: int, function: int) -> None:
        """Send unfinished lines, and mark the end of the task's output."""
        for stream in self.streams:
            stream.end_of_task()
        if ticket:
            self._frames.append(FRAME.pack(0, END, 0, function, ticket))
        self.spoke.clear()

    def take(self) -> list[bytes]:
        """Return the frames printed since the last call."""
        frames, self._frames = self._frames, []
        return frames

    def leave(self) -> None:
        """Streams as they were found; no other kernel's tasks are here."""
        for name in ("stdout", "stderr"):
            now = getattr(sys, name)
            if type(now) is Router:
                setattr(sys, name, now.before)
        while _forwarded:
            _forwarded.pop()()
        _earlier.clear()

    # -- for a TaskStream

    def place(self) -> TaskRef:
        runner = self._task
        return TaskRef(runner.element, runner.function, runner.ticket) if runner.ticket else NOWHERE

    def mark(self) -> None:
        if not self.spoke:
            self.spoke.append(True)

    def send(self, kind: int, data: bytes, place: TaskRef | None = None) -> None:
        self.mark()
        self._frames.append(FRAME.pack(len(data), kind, *(place or self.place())) + data)


def _speaker() -> OutputCapture | None:
    found = _listening.get(threading.get_ident())
    if found is None and len(_listening) == 1 and threading.current_thread() not in _earlier:
        found = next(iter(_listening.values()), None)
        if found is not None and not found._task.ticket:
            return None
    return found


def _message_keeper() -> OutputCapture | None:
    """Return the capture that gets log records and warnings of this thread; None where they are this process's own, or
    this is the caller's process.
    """
    found = _speaker()
    return found if found is not None and found._task.ticket and found._task.context.own_process else None


class Router(io.TextIOBase):
    """Replaces sys.stdout or sys.stderr."""

    def __init__(self, number: int, before: Any) -> None:
        self._number = number
        self.before = before
        self.name = "<stdout>" if number == STDOUT else "<stderr>"

    def _target(self) -> Any:
        speaker = _speaker()
        return speaker.stream(self._number) if speaker is not None else self.before

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def buffer(self) -> Any:
        """Binary buffer of the stream that the calling thread prints to."""
        return self._target().buffer

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """The real descriptor, for subprocesses and native code."""
        return int(self.before.fileno())

    def write(self, text: str) -> int:
        return int(self._target().write(text))

    def flush(self) -> None:
        target = self._target()
        if target is not None:
            target.flush()
