"""sys.stdout and sys.stderr of a worker: a task may replace them, and the next one finds them as they were.

Of sys.stdin nothing can be read.
"""

from __future__ import annotations

import io
import sys
from typing import Any, NoReturn

from .output_frames import STDERR, STDOUT, Channel, TaskStream


class NoInput(io.TextIOBase):
    """Tells what asks for input that a worker has none."""

    encoding = "utf-8"

    def __init__(self, stream: Any) -> None:
        self.buffer = getattr(stream, "buffer", None)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def read(self, size: int | None = -1, /) -> NoReturn:
        raise EOFError("a task has no input: ask before the call, and give it the answer as an argument")

    readline = read


class StandardStreams:
    """Puts the worker's streams in place, and back after a task that replaced them."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._streams = (TaskStream(STDOUT, channel), TaskStream(STDERR, channel))
        sys.stdout, sys.stderr = self._streams
        sys.stdin = NoInput(sys.stdin)
        self._home: tuple[Any, Any] = self._streams

    def keep(self) -> None:
        """Keep the streams that an initializer has put in their place."""
        self._home = (sys.stdout, sys.stderr)

    def look(self) -> None:
        """Between tasks, whenever the loop over plain calls comes back to Python: put back what a task replaced."""
        if sys.stdout is not self._home[0] or sys.stderr is not self._home[1]:
            self.end_of_task()

    def end_of_task(self) -> None:
        """Send unfinished lines, and restore."""
        if (sys.stdout, sys.stderr) != self._home:
            for left in (sys.stdout, sys.stderr):
                if left not in self._home:
                    _flush(left)
            sys.stdout, sys.stderr = self._home
        for stream in self._home:
            if stream not in self._streams:
                _flush(stream)
        for own in self._streams:
            own.end_of_task()


def _flush(stream: Any) -> None:
    try:
        stream.flush()
    except Exception:
        return  # closed, or no stream at all
