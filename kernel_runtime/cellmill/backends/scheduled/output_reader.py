"""The kernel's ends of the workers' pipes: one thread reads them and finds the task of each text.

Frames say whose they are. What native code writes is taken over into frames by its worker at the end of the task; it is
read here when the task runs on for long, when the worker has nothing to do, and when it is dead.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable, Iterator

from ...cell_output import present_cell
from ...cell_output.transcript import QUIET_SECONDS, Settings, TaskOutput
from ...serialization.functions import FunctionTable
from ...task import NO_RUN
from ...worker_process.output_frames import (
    DISPLAY,
    END,
    FRAME,
    LOG,
    MESSAGES,
    PART,
    PIPE_BYTES,
    PROFILE,
    PROFILE_PART,
    STDERR,
    STDOUT,
    WARNING,
)
from .output_pipes import WorkerPipes
from .profiling import WorkerProfiling
from .scheduler import NO_ELEMENT, Scheduler, with_gil
from .slots import SlotTable
from .transcripts import Transcripts
from .worker_infos import info_of

PATIENCE_SECONDS = 0.02  # for a worker to take over by itself what native code wrote
MOST_AT_ONCE = 1 << 22  # bytes of one worker, before others are heard
LAST_WORDS = 2000  # characters
ROWS_BACK = 256  # of journeys, where a task is looked for that is over


class OutputReader(Transcripts):
    """Reads the output of all workers of one backend, and keeps the transcripts of its runs."""

    def __init__(
        self,
        owner: object,
        scheduler: Scheduler,
        slots: SlotTable,
        functions: FunctionTable,
        settings: Settings,
        report: Callable[[BaseException], None],
        profiling: WorkerProfiling | None = None,
    ) -> None:
        super().__init__(owner, scheduler, slots, functions, settings)
        self._of_kind = {DISPLAY: self.display, LOG: self.log, WARNING: self.warn}
        self._profiling = profiling
        self._report = report
        self._workers: dict[int, WorkerPipes] = {}  # by index
        self._by_fd: dict[int, WorkerPipes] = {}
        self._patient: dict[int, tuple[float, int]] = {}  # native descriptor -> (when to read it, its task)
        self._epoll = select.epoll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._epoll.register(self._wake, select.EPOLLIN)
        self._stopped = False
        self._thread = threading.Thread(target=self._listen, name="cellmill-output", daemon=True)
        self._thread.start()
        self.hear_cells()

    # -- life

    def add(self, index: int, pipes: WorkerPipes) -> None:
        """A worker has been started."""
        pipes.index = index
        self._workers[index] = pipes
        for fd in (pipes.frames, *pipes.natives):
            self._by_fd[fd] = pipes
            with contextlib.suppress(OSError, ValueError):  # a pool that is closing: `ended` reads what comes
                self._epoll.register(fd, select.EPOLLIN)

    def ended(self, index: int, ticket: int) -> str:
        """A worker is gone: its last words are shown; those of the task it ran are returned."""
        pipes = self._workers.pop(index, None)
        if pipes is None:
            return ""
        with pipes.lock:
            self._forget(pipes)
            while self._read_frames(pipes) or self._read_natives(pipes, ticket):
                pass
            words = "".join(v.tail.text for (t, _), v in pipes.outputs.items() if ticket and t == ticket)
            self._end(pipes, None)
            pipes.close()
            if self._profiling is not None:
                self._profiling.gone(index)
        return words[-LAST_WORDS:].partition("\n")[2] if len(words) > LAST_WORDS else words

    def stop(self) -> None:
        """All workers are gone, or given up."""
        with self._lock:
            if self._stopped:
                return
            self._stopped = True
            os.eventfd_write(self._wake, 1)
        for index in list(self._workers):
            self.ended(index, 0)
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self.tell_all()

    def disown(self) -> None:
        """Close the pipes in a forked child, without waiting: they are its parent's."""
        present_cell.listeners.discard(self)
        if self._stopped:
            return
        self._stopped = True
        for pipes in self._workers.values():
            pipes.close()
            pipes.close_theirs()
        self._workers.clear()
        self._epoll.close()
        os.close(self._wake)

    def _forget(self, pipes: WorkerPipes) -> None:
        for fd in (pipes.frames, *pipes.natives):
            self._by_fd.pop(fd, None)
            self._patient.pop(fd, None)
            with contextlib.suppress(OSError, ValueError):
                self._epoll.unregister(fd)

    # -- the thread

    def _listen(self) -> None:
        while not self._stopped:
            try:
                for fd, events in self._epoll.poll(self._timeout()):
                    pipes = self._by_fd.get(fd)
                    if pipes is not None:
                        self._hear(fd, events, pipes)
                self._read_patient()
                self.settle()
            except Exception as error:  # of a stream that was put in the place of sys.stdout, most likely
                self._report(error)
        with self._lock:  # `stop` writes to it
            self._epoll.close()
            os.close(self._wake)

    def _timeout(self) -> float | None:
        if self._patient:
            return PATIENCE_SECONDS
        return QUIET_SECONDS if self.restless else None

    def _hear(self, fd: int, events: int, pipes: WorkerPipes) -> None:
        with pipes.lock:
            if pipes.closed:
                return
            if not events & select.EPOLLIN:
                if _hung_up(fd):  # else it was news of an earlier worker's pipe, which had this number
                    self._epoll.unregister(fd)
            elif fd == pipes.frames:
                self._read_frames(pipes)
            elif fd not in self._patient:
                running = self._running(pipes.index)
                if not (running and running == pipes.at_length and self._read_along(pipes, running)):
                    self._patient[fd] = (time.monotonic() + PATIENCE_SECONDS, running)
                    self._epoll.modify(fd, 0)

    def _read_patient(self) -> None:
        now = time.monotonic()
        for fd, (due, ticket) in self._patient.copy().items():
            pipes = self._by_fd.get(fd)
            if now < due or pipes is None:
                continue
            with pipes.lock:
                if pipes.closed or self._patient.pop(fd, None) is None:
                    continue
                if self._running(pipes.index) == ticket:  # else that task has taken over what it wrote
                    self._read_along(pipes, ticket)
                with contextlib.suppress(OSError, ValueError):
                    self._epoll.modify(fd, select.EPOLLIN)

    # -- reading

    def end_of_task(self, index: int, ticket: int, run: int) -> None:
        """Word of a worker that what this task printed is complete; called before the result is settled."""
        pipes = self._workers.get(index)
        if pipes is None:
            return
        with pipes.lock:
            if not pipes.closed:
                pipes.run_of = (ticket, run)
                self._read_frames(pipes)
                self._end(pipes, ticket)

    def _read_frames(self, pipes: WorkerPipes) -> int:
        """Read what is available; return the number of bytes."""
        total = 0
        for data in _pieces(pipes.frames):
            total += len(data)
            self._take_frames(pipes, data)
        return total

    def _take_frames(self, pipes: WorkerPipes, data: bytes) -> None:
        data = pipes.rest + data
        at, end = 0, len(data)
        gathered: list[bytes] = []
        before: tuple[int, ...] = ()
        while end - at >= FRAME.size:
            size, *head = FRAME.unpack_from(data, at)
            if end - at < FRAME.size + size:
                break
            at += FRAME.size
            if tuple(head) != before or head[0] not in (STDOUT, STDERR):
                if gathered:
                    self._take(pipes, before, b"".join(gathered))
                gathered, before = [], tuple(head)
            gathered.append(data[at : at + size])
            at += size
        if gathered:
            self._take(pipes, before, b"".join(gathered))
        pipes.rest = data[at:]

    def _take(self, pipes: WorkerPipes, head: tuple[int, ...], data: bytes) -> None:
        kind, element, function, ticket = head
        if kind in (PROFILE, PROFILE_PART):
            self._hear_profile(pipes, kind, data)
            return
        element = 0 if element == NO_ELEMENT else element
        pipes.latest = (element, function, ticket)
        if kind in (STDOUT, STDERR):
            self._say(pipes, (element, function, ticket), kind, data)
        elif kind == PART:
            pipes.messages[ticket] = pipes.messages.get(ticket, b"") + data
        elif kind in MESSAGES:
            message = pipes.messages.pop(ticket, b"") + data
            output = self._output_of(pipes, element, function, ticket)
            self._of_kind[kind](output, message)
        elif kind == END:
            self._end(pipes, ticket)

    def _hear_profile(self, pipes: WorkerPipes, kind: int, data: bytes) -> None:
        pipes.profile += data
        if kind == PROFILE and self._profiling is not None:
            message, pipes.profile = pipes.profile, b""
            self._profiling.hear(pipes.index, message)

    def _read_natives(self, pipes: WorkerPipes, ticket: int) -> int:
        """Read what native code has written and its worker has not taken over, as output of this task or else of the
        latest one; return the number of bytes.
        """
        total = 0
        for fd, kind in pipes.natives.items():
            for data in _pieces(fd):
                total += len(data)
                self._say(pipes, self._place(pipes, ticket), kind, data)
        return total

    def _read_along(self, pipes: WorkerPipes, ticket: int) -> bool:
        """The native output of a task that runs on, or of none (0); its worker says when it ends.

        False when the worker is at it: what it has read by now comes first, in frames.
        """
        handle = self._scheduler.handle
        pipes.at_length = ticket
        with_gil.csched_worker_output_read(handle, pipes.index, ticket)
        if with_gil.csched_output_turn(handle, pipes.index, True) != 1:
            return False
        try:
            self._read_frames(pipes)
            self._read_natives(pipes, ticket)
        finally:
            with_gil.csched_output_turn(handle, pipes.index, False)
        if ticket and self._running(pipes.index) != ticket:  # it may have looked before it was told
            self._read_frames(pipes)
            self._end(pipes, ticket)
        return True

    def _say(self, pipes: WorkerPipes, place: tuple[int, int, int], kind: int, data: bytes) -> None:
        self.hear(self._output_of(pipes, *place), kind, data)

    # -- the task of native output

    def _running(self, index: int) -> int:
        return int(info_of(self._scheduler, index).ticket)

    def _place(self, pipes: WorkerPipes, ticket: int) -> tuple[int, int, int]:
        """Element, function and ticket of native output: of the task that runs, or ended last."""
        info = info_of(self._scheduler, pipes.index)
        if ticket and info.ticket == ticket:
            return 0 if info.element == NO_ELEMENT else int(info.element), int(info.function), ticket
        for row in reversed(self._scheduler.latest_journeys(ROWS_BACK)):
            if row[0] == ticket or (not ticket and row[4] == pipes.index):
                return row[3], row[2], row[0]
        return (0, 0, ticket) if ticket else pipes.latest

    def _run_of(self, pipes: WorkerPipes, ticket: int) -> int:
        if ticket == pipes.run_of[0]:
            return pipes.run_of[1]
        run = int(with_gil.csched_task_run(self._scheduler.handle, ticket))
        if run == NO_RUN:
            for row in reversed(self._scheduler.latest_journeys(ROWS_BACK)):
                if row[0] == ticket:
                    return row[1]
        return run

    def _output_of(self, pipes: WorkerPipes, element: int, function: int, ticket: int) -> TaskOutput:
        output = pipes.outputs.get((ticket, element))
        if output is None:
            run = self._run_of(pipes, ticket) if ticket else NO_RUN
            output = pipes.outputs[ticket, element] = self.new_output(
                run, element, function, ticket, pipes.index
            )
        return output

    def _end(self, pipes: WorkerPipes, ticket: int | None) -> None:
        """A task is over, or all of a worker's are (None)."""
        over = [key for key in pipes.outputs if ticket is None or key[0] == ticket]
        self.end(pipes.outputs.pop(key) for key in over)
        if ticket is not None:
            pipes.messages.pop(ticket, None)


def _hung_up(fd: int) -> bool:
    """No writer is left."""
    poller = select.poll()
    poller.register(fd, 0)
    return bool(poller.poll(0))


def _pieces(fd: int) -> Iterator[bytes]:
    """The content of a pipe, up to a bound."""
    left = MOST_AT_ONCE
    with contextlib.suppress(BlockingIOError):
        while left > 0 and (data := os.read(fd, PIPE_BYTES)):
            left -= len(data)
            yield data
