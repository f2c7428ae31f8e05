"""Threads of this process that run tasks: what code in them finds of its own.

Worker processes have a module for that (`worker.current`); threads share theirs with the notebook.
"""

from __future__ import annotations

import os
import threading
from typing import Any


class Here(threading.local):
    """The task state of the calling thread. ``worker`` is None outside of tasks; ``values`` are those of
    `per_worker`, where they are not the process's.
    """

    worker: Any = None
    values: dict[Any, Any] | None = None


here = Here()
used = False  # whether there has been such a thread: a glance that costs nothing where there are none


def enter(worker: Any) -> None:
    """The calling thread runs tasks from now on, those of ``worker``."""
    global used
    used = True
    here.worker = worker


def leave() -> None:
    """It does not any more: what it kept for its tasks goes."""
    here.worker = here.values = None


def in_thread() -> bool:
    """Whether the calling thread runs tasks."""
    return used and here.worker is not None


def _in_child() -> None:
    """Note in a forked child that only the thread that forked is left."""
    global used
    used = here.worker is not None


os.register_at_fork(after_in_child=_in_child)
