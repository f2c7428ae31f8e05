"""Output of tasks on remote workers: it arrives with the replies of their packs."""

from __future__ import annotations

import threading
from typing import Any

from ...task import NO_RUN
from ..scheduled.output_pipes import WorkerPipes
from ..scheduled.output_reader import LAST_WORDS, OutputReader


class PlaceListener(OutputReader):
    """Shows output of tasks on remote workers as that of worker processes is shown."""

    def hear_lane(self, index: int, frames: memoryview) -> None:
        """Frames of tasks whose results follow."""
        pipes = self._workers.get(index)
        if pipes is None:
            pipes = self._workers[index] = _NoPipes(index)
        with pipes.lock:
            self._take_frames(pipes, bytes(frames))

    def ended_lane(self, index: int, ticket: int) -> str:
        """The last words of the task it ran, as far as they came."""
        pipes = self._workers.pop(index, None)
        if pipes is None:
            return ""
        with pipes.lock:
            words = "".join(v.tail.text for (t, _), v in pipes.outputs.items() if ticket and t == ticket)
            self._end(pipes, None)
        return words[-LAST_WORDS:]

    def ended(self, index: int, ticket: int) -> str:
        """See `OutputReader.stop`, which ends all."""
        pipes = self._workers.pop(index, None)
        if pipes is not None:
            with pipes.lock:
                self._end(pipes, None)
        return ""

    def _read_frames(self, pipes: Any) -> int:
        return 0


class _NoPipes(WorkerPipes):
    """The state of one lane's output, without descriptors."""

    def __init__(self, index: int) -> None:
        self.frames = -1
        self.natives = {}
        self.theirs = []
        self.lock = threading.RLock()
        self.index = index
        self.rest = b""
        self.messages = {}
        self.outputs = {}
        self.latest = (0, 0, 0)
        self.at_length = 0
        self.run_of = (0, NO_RUN)
        self.closed = False

    def close(self) -> None:
        self.closed = True
