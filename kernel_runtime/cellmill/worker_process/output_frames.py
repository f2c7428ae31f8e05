"""Frames the output of tasks in the worker, by task and stream, and writes it to a pipe that outlives the worker.

Three pipes lead from a worker to the kernel. One is for frames, of Python's sys.stdout and sys.stderr and of displays;
two are the descriptors 1 and 2, which native code and subprocesses write to as they like. Their content is taken
over into frames at the end of the task that wrote it (csched/src/worker_output.c looks); the kernel reads them
itself while a task is at it for long, or when the worker is dead. The two take turns: a worker that has read native
output but not sent it yet must not be overtaken by what comes after.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import struct
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..process_context import reporting

FRAME = struct.Struct("=IIIIQ")  # bytes that follow, kind, element, function, ticket
# kinds: text; a display, log record or warning but for its end, its end; a task's end; samples of the profile, likewise
# in parts
STDOUT, STDERR, PART, DISPLAY, END, LOG, PROFILE_PART, PROFILE, WARNING = 1, 2, 3, 4, 5, 6, 7, 8, 9
MESSAGES = (DISPLAY, LOG, WARNING)
MOST = 4096 - FRAME.size  # in a frame: a pipe takes so much in one piece, whatever comes in between
MOST_HELD = 1 << 16  # characters of an unfinished line
PIPE_BYTES = 1 << 16
TURN_SECONDS = (
    1.0  # as long as the kernel may take to read; a kernel that is stopped must not stop its workers
)


class TaskRef(NamedTuple):
    """The task that something is printed for: element of a chunk, number of the function, ticket (0: none)."""

    element: int
    function: int
    ticket: int


NOWHERE = TaskRef(0, 0, 0)


class Channel:
    """A worker's end of the pipes. ``fds``: frames, stdout and stderr to write, stdout and stderr to read.

    ``here`` tells the place of what the main thread prints. ``spoke`` is not empty when the end of the present task is
    to be told. ``turn`` takes (True) or gives up the turn to read native output and send frames: whether it is ours.
    """

    def __init__(
        self, fds: list[int], here: Callable[[], TaskRef], spoke: list[Any], turn: Callable[[bool], bool]
    ) -> None:
        self._fd, out, err, *self.natives = fds
        self._turn = turn
        for fd, number in ((out, 1), (err, 2)):
            os.dup2(fd, number)
            os.close(fd)
        for fd in (self._fd, *self.natives):
            os.set_inheritable(fd, False)
        self.streams: list[TaskStream] = []
        self._here = here
        self._spoke = spoke
        self._lock = threading.RLock()
        self._main = threading.get_ident()
        self._waiting = select.poll()
        for fd in self.natives:
            self._waiting.register(fd, select.POLLIN)
        self._places: weakref.WeakKeyDictionary[threading.Thread, TaskRef] = weakref.WeakKeyDictionary()
        self._leave_threads_their_place()
        os.register_at_fork(after_in_child=self._leave)

    def place(self) -> TaskRef:
        """Return the task that the calling thread prints for: a thread belongs to the task that started it."""
        if threading.get_ident() == self._main:
            return self._here()
        thread = threading.current_thread()
        found = self._places.get(thread)
        if found is None:
            found = self._places[thread] = self._here()
        return found

    def mark(self) -> None:
        """The present task has something to show."""
        if not self._spoke:
            self._spoke.append(True)

    def send(self, kind: int, data: bytes, place: TaskRef | None = None) -> None:
        """Write one thing in as many frames as it takes; in a forked child, where children write."""
        if self._fd < 0:
            if kind in (STDOUT, STDERR):
                _write_all(kind, data)
            return
        if place is None:
            place = self.place()
        with self._taking_turn():
            # what native code of the present task has written comes before what it prints now
            if threading.get_ident() == self._main and self._waiting.poll(0):
                self._take_native()
            self._write(kind, data, place)

    def take_native(self) -> None:
        """Take over what native code has written, as the present task's."""
        with self._taking_turn():
            self._take_native()

    @contextlib.contextmanager
    def _taking_turn(self) -> Iterator[None]:
        with self._lock:
            try:
                late = time.monotonic() + TURN_SECONDS
                while not self._turn(True) and time.monotonic() < late:
                    time.sleep(50e-6)
                yield
            finally:
                self._turn(False)

    def _take_native(self) -> None:
        place = self._here()
        for kind, fd in zip((STDOUT, STDERR), self.natives, strict=True):
            left = 4 * PIPE_BYTES  # a child that goes on writing must not hold the task's result back
            with contextlib.suppress(BlockingIOError):
                while left > 0 and (data := os.read(fd, PIPE_BYTES)):
                    left -= len(data)
                    self._write(kind, data, place)

    def _write(self, kind: int, data: bytes, place: TaskRef) -> None:
        self.mark()
        last = len(data) - 1 if data else 0
        for at in range(0, len(data) or 1, MOST):
            part = data[at : at + MOST]
            of = PART if kind in MESSAGES and at + MOST <= last else kind
            os.write(self._fd, FRAME.pack(len(part), of, *place) + part)

    def send_profile(self, data: bytes) -> None:
        """Write samples of the profiler, from its thread: of no task, and in no order with what tasks print."""
        if self._fd < 0:
            return
        for at in range(0, len(data), MOST):
            part = data[at : at + MOST]
            kind = PROFILE_PART if at + MOST < len(data) else PROFILE
            os.write(
                self._fd, FRAME.pack(len(part), kind, *NOWHERE) + part
            )  # a pipe takes so much in one piece

    def end(self) -> None:
        """The present task is over."""
        self.send(END, b"", self._here())
        self._spoke.clear()

    @property
    def left(self) -> bool:
        """This process is no worker, but a child of one."""
        return self._fd < 0

    def _leave(self) -> None:
        """A child that user code forked is no worker."""
        reporting.leave_worker()
        os.close(self._fd)
        self._fd = -1
        self._lock = threading.RLock()
        for stream in self.streams:
            stream.forget()

    def _leave_threads_their_place(self) -> None:
        start, places = threading.Thread.start, self._places

        def start_here(thread: threading.Thread) -> None:
            places[thread] = self.place()
            self.mark()  # so that the kernel knows the task when it is over
            start(thread)

        start_here.__doc__ = start.__doc__
        threading.Thread.start = start_here  # type: ignore[method-assign, assignment]


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


class TaskStream(io.TextIOBase):
    """Replaces sys.stdout or sys.stderr in a worker. Lines go out whole, what is flushed at once."""

    def __init__(self, number: int, channel: Channel) -> None:
        self._number = number
        self._channel = channel
        channel.streams.append(self)
        self._held: dict[int, tuple[str, TaskRef]] = {}  # unfinished lines, by thread
        self.name = "<stdout>" if number == STDOUT else "<stderr>"
        self.mode = "w"

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    @property
    def buffer(self) -> _Bytes:
        """Binary buffer of the stream."""
        return _Bytes(self)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        """The real descriptor, for subprocesses and native code."""
        return self._number

    def reconfigure(self, **_: Any) -> None:
        """Nothing about it can be changed."""

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        thread = threading.get_ident()
        held, place = text, self._channel.place()
        if thread in self._held:
            before, where = self._held.pop(thread)
            if where == place:
                held = before + text
            else:  # of an element of a chunk that is over
                self._send(before, where)
        whole, newline, rest = held.rpartition("\n")
        if newline:
            self._send(whole + newline, place)
            held = rest
        if len(held) > MOST_HELD:
            self._send(held, place)
            held = ""
        if held:
            self._held[thread] = held, place
            self._channel.mark()
        return len(text)

    def flush(self) -> None:
        """Send what this thread has written; it is shown when its line is complete."""
        held = self._held.pop(threading.get_ident(), None)
        if held is not None:
            self._send(*held)

    def close(self) -> None:
        """Only flushed: it is the next task's too."""
        self.flush()

    def forget(self) -> None:
        """Drop unfinished lines in a forked child: its parent sends them."""
        self._held.clear()

    def end_of_task(self) -> None:
        """Send what was left without a newline."""
        self.flush()

    def _send(self, text: str, place: TaskRef) -> None:
        self._channel.send(self._number, text.encode("utf-8", "backslashreplace"), place)


class _Bytes(io.RawIOBase):
    """Binary buffer behind sys.stdout, for programs that write bytes."""

    def __init__(self, stream: TaskStream) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, data: Any) -> int:
        self._stream.flush()
        raw = bytes(data)
        self._stream._channel.send(self._stream.fileno(), raw)
        return len(raw)

    def close(self) -> None:
        """Do nothing: the stream stays open."""
