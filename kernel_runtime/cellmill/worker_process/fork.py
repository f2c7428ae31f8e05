"""A process that a task forks (by multiprocessing, a loader, `os.fork`) is none of the kernel's workers.

It can compute, read its inputs and print (see `output_frames`). What it publishes reaches no kernel; should it
come back from the task's function, it ends.
"""

from __future__ import annotations

import os
from typing import Any

from ..backends.scheduled.scheduler import with_gil


def watch(handle: Any) -> None:
    """Have children forked from this worker leave its rings alone from now on."""
    os.register_at_fork(
        before=lambda: with_gil.csched_worker_forks(handle, 1),
        after_in_parent=lambda: with_gil.csched_worker_forks(handle, 0),
        after_in_child=lambda: with_gil.csched_worker_forked(handle),
    )
