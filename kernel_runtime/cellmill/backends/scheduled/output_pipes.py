"""The pipes between one worker and the kernel, and what the kernel has heard of them so far."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading

from ...cell_output.transcript import TaskOutput
from ...task import NO_RUN
from ...worker_process.output_frames import PIPE_BYTES, STDERR, STDOUT


class WorkerPipes:
    """The output pipes of one worker: read ends here, the descriptors for its process in ``theirs``."""

    def __init__(self) -> None:
        pairs = []
        try:
            for _ in range(3):
                pairs.append(os.pipe())
        except OSError:
            for fd in (fd for pair in pairs for fd in pair):
                os.close(fd)
            raise
        (self.frames, frames), (out, out_w), (err, err_w) = pairs
        self.natives = {out: STDOUT, err: STDERR}
        self.theirs = [frames, out_w, err_w, out, err]
        self.lock = threading.RLock()
        self.index = -1
        self.rest = b""  # of a frame that is not complete
        self.messages: dict[int, bytes] = {}  # by ticket, parts so far
        self.profile = b""  # samples, parts so far
        self.outputs: dict[tuple[int, int], TaskOutput] = {}
        self.latest: tuple[int, int, int] = (0, 0, 0)  # element, function, ticket of the latest frame
        self.at_length = 0  # the task whose native output is read here, as it comes
        self.run_of = (0, NO_RUN)  # a task's run, as its worker's word had it
        self.closed = False
        for fd in (self.frames, *self.natives):
            os.set_blocking(fd, False)
            with contextlib.suppress(OSError):  # a limit of the system: the default does too
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)

    def close_theirs(self) -> None:
        """The worker has them now. What native code writes is read here and there: those two stay."""
        passed, self.theirs = self.theirs[:3], []
        for fd in passed:
            os.close(fd)

    def close(self) -> None:
        """The worker is gone."""
        self.closed = True
        for fd in (self.frames, *self.natives):
            os.close(fd)
