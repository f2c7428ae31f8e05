"""The executors of this process: which is the default one, and what becomes of all of them at a fork and at the end."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, cast

from . import runs
from .backends import Backend
from .backends.parents import ParentsBackend

if TYPE_CHECKING:
    from .executor import Executor

EXIT_GRACE_SECONDS = 0.5  # for running tasks of a notebook whose kernel ends

executors: weakref.WeakSet[Executor] = weakref.WeakSet()
default: Executor | None = None
default_lock = threading.Lock()


def _leave_to_parent() -> None:
    """In a forked child: executors with workers are the parent's, the default one too."""
    global default, default_lock
    for executor in executors:
        if not executor._backend.forks:
            parents = ParentsBackend(executor._backend)
            executor._backend = cast(Backend, parents)
            executor._submit = parents.submit
    default, default_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)


def _stop_notebook(executor: Executor) -> None:
    """A kernel that is told to end does not wait for its cells' tasks: they are stopped, and then their workers."""
    executor.stop()
    for run in runs.active_runs():
        run.stop()
    deadline = time.monotonic() + EXIT_GRACE_SECONDS
    while executor.stats().running and time.monotonic() < deadline:
        time.sleep(0.01)
    if not executor.stats().running:
        executor.shutdown()  # else the zygote takes the workers along


def _finish_all() -> None:
    """At interpreter exit: submitted work is finished, as with the standard executors, and nothing is left behind."""
    ours = [ex for ex in list(executors) if ex._process == os.getpid() and not ex.closed]
    for executor in ours:
        if executor is default and "cellmill.magics" in sys.modules:
            _stop_notebook(executor)
        else:
            executor.shutdown(wait=True, cancel_futures=executor is default)
    ending = sys.modules.get("cellmill.backends.scheduled.ending")
    if ending is not None:
        ending.join_all()
    client = sys.modules.get("cellmill.backends.local.zygote_client")
    if client is not None:
        client.close_shared()


# before threads are joined, where the standard executors end theirs too
_register = getattr(threading, "_register_atexit", atexit.register)
_register(_finish_all)
