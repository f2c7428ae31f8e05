"""Places of a Dask worker that tasks give to others while they wait, by `distributed.secede` or `worker_client`."""

from __future__ import annotations

import contextlib
import sys
import threading


def wait_aside(turn: threading.Lock) -> None:
    """Take ``turn`` once it is free. Until then this pack gives its place away, too."""
    leave_place()
    turn.acquire()


def leave_place() -> None:
    """Give this thread's place to others, before a wait: what is waited for may need it."""
    if "distributed" in sys.modules and _has_place():
        with contextlib.suppress(Exception):  # a thread that is none of the worker's places
            from distributed import secede

            secede()


def take_place() -> None:
    """Take a place again if this thread has given it away: the next task of a pack may give it away as well."""
    module = sys.modules.get("distributed.threadpoolexecutor")
    if module is not None and not _has_place():
        module.rejoin()


def _has_place() -> bool:
    """Whether this thread has not given a place away."""
    module = sys.modules.get("distributed.threadpoolexecutor")
    executor = getattr(module.thread_state, "executor", None) if module is not None else None
    return executor is None or threading.current_thread() in executor._threads
