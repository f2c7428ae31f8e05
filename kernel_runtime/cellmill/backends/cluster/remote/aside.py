"""Places of a Dask worker that tasks give to others while they wait, by `distributed.secede` or `worker_client`."""

from __future__ import annotations

import contextlib
import sys
import threading


def wait_aside(turn: threading.Lock) -> None:
    """Take ``turn`` once it is free. Until then this pack gives its place away, too: what is waited for may need it."""
    if "distributed" in sys.modules:
        with contextlib.suppress(Exception):  # a thread that is none of the worker's places
            from distributed import secede

            secede()
    turn.acquire()


def take_place() -> None:
    """Take a place again if this thread has given it away: the next task of a pack may give it away as well."""
    module = sys.modules.get("distributed.threadpoolexecutor")
    if module is None:
        return
    executor = getattr(module.thread_state, "executor", None)
    if executor is not None and threading.current_thread() not in executor._threads:
        module.rejoin()
