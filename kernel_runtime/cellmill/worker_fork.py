"""A process that a task forks (by multiprocessing, a loader, `os.fork`) is none of the kernel's workers.

It can compute, read its inputs and print, to where the kernel's own descriptors lead. What it publishes reaches nobody;
should it come back from the task's function, it ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from .backends.local.scheduler import held
from .output import TaskStream


def watch(handle: Any, streams: Iterable[TaskStream]) -> None:
    """From now on children forked from this worker leave its rings and descriptors alone."""

    def leave() -> None:
        held.csched_worker_forked(handle)
        for stream in streams:
            stream.go_direct()

    os.register_at_fork(after_in_child=leave)
