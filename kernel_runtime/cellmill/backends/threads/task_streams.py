"""sys.stdout and sys.stderr while there are worker threads: what a task prints goes to its listener."""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import Any

from ...cell_output.origin import STREAMS
from ...cell_output.transcript import TaskOutput

Place = tuple[int, int, int]  # element, function, ticket


class Printed:
    """The output of one thread: text not reported yet, and the output of its task."""

    def __init__(self, worker: int) -> None:
        """``worker``: the thread's index in the pool."""
        self.worker = worker
        self.waiting: deque[tuple[int, Place, str]] = deque()
        self.outputs: dict[Place, TaskOutput] = {}


class Speaker(threading.local):
    """The worker that takes what the calling thread prints."""

    worker: Any = None


speaker = Speaker()
_lock = threading.Lock()
_users = 0


class TaskStream:
    """Wraps a stream of the kernel. Threads that run tasks write to their workers, all others to the stream."""

    def __init__(self, number: int, under: Any) -> None:
        self._number = number
        self._under = under

    def write(self, text: str) -> int:
        """Text of the calling thread."""
        worker = speaker.worker
        if worker is None or worker.telling:
            return int(self._under.write(text) or 0)
        worker.say(self._number, text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """See `write`."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream; in a task do nothing: its output is shown line by line."""
        worker = speaker.worker
        if worker is None or worker.telling:
            self._under.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)

    def __iter__(self) -> Any:
        return iter(self._under)


def look() -> None:
    """Stand before what is there now: another stream may have been put in place. In the submitting thread,
    which is the one that would have done so.
    """
    for number, name in STREAMS.items():
        under = getattr(sys, name)
        if under is not None and type(under) is not TaskStream:
            setattr(sys, name, TaskStream(number, under))


def begin() -> None:
    """There is one more executor with threads."""
    global _users
    with _lock:
        _users += 1
        look()


def end() -> None:
    """There is one less; with the last, the streams are as they were."""
    global _users
    with _lock:
        _users -= 1
        for name in STREAMS.values() if not _users else ():
            stream = getattr(sys, name)
            if type(stream) is TaskStream:
                setattr(sys, name, stream._under)
