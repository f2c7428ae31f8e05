"""What `per_worker` keeps on a remote worker: values of each thread that runs packs, until the caller leaves.

Threads of one process may run tasks at the same time, and a value may be bound to the thread that made it.
"""

from __future__ import annotations

import threading
from typing import Any

from ....process_context import thread_context

_kept: dict[bytes, dict[int, dict[Any, Any]]] = {}  # by token, by thread
_lock = threading.Lock()


def enter(token: bytes) -> None:
    """The calling thread runs tasks of this caller from now on, with the values that it has made for them."""
    with _lock:
        values = _kept.setdefault(token, {}).setdefault(threading.get_ident(), {})
    thread_context.used = True
    thread_context.here.values = values


def leave() -> None:
    """The calling thread does not run tasks any more."""
    thread_context.here.values = None


def forget(token: bytes) -> None:
    """The caller has gone."""
    with _lock:
        _kept.pop(token, None)
