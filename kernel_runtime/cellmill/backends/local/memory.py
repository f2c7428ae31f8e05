"""Watching what workers use, and the zygote: one thread for all executors of a process, which looks every second, and
more often while tasks run.

A worker counts with its private memory: without the shared memory of payloads and the files it maps.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from functools import partial
from typing import Protocol

from ...process_context.machine import left_and_total, own_bytes
from ...run_registry import Run, on_run_started
from ...serialization.functions import FunctionTable
from ...task import Stats, size_text
from ..scheduled.gate import Gate
from ..scheduled.protocols import OutputListener, WorkerPool
from ..scheduled.resource_use import OFTEN, ResourceUse
from ..scheduled.scheduler import NO_ELEMENT, Scheduler, with_gil
from ..scheduled.worker_infos import info_of
from . import zygote_client

PERIOD_S = 0.2
MACHINE_EVERY_S = 1.0
SCARCE = 0.06  # of all memory left: time to say so
AGAIN_S = 60.0
PAGE = os.sysconf("SC_PAGE_SIZE")


class Watched(Protocol):
    """A backend with worker processes."""

    scheduler: Scheduler
    gate: Gate
    functions: FunctionTable
    memory_per_worker: int
    use: ResourceUse

    @property
    def pool(self) -> WorkerPool: ...

    @property
    def listener(self) -> OutputListener: ...

    def stats(self) -> Stats: ...


_watched: weakref.WeakSet[Watched] = weakref.WeakSet()
_lock = threading.Lock()
_wake = threading.Event()
_thread: threading.Thread | None = None


def watch(backend: Watched) -> None:
    """Look after the workers of a backend as long as it lives."""
    global _thread
    with _lock:
        _watched.add(backend)
        if _thread is None or not _thread.is_alive():
            on_run_started(_begun)
            _thread = threading.Thread(target=_run, name="cellmill-memory", daemon=True)
            _thread.start()


def _begun(run: Run) -> None:
    """A run may be over before the next look of an idle thread."""
    _wake.set()


def _run() -> None:
    machine_at = checked_at = 0.0
    while True:
        pause, busy, machine_at, checked_at = _look(machine_at, checked_at)
        if busy:
            time.sleep(pause)  # however many runs begin
        else:
            _wake.wait(pause)
        _wake.clear()


def _look(machine_at: float, checked_at: float) -> tuple[float, bool, float, float]:
    """Return how long to sleep, whether tasks run, and when to look at the machine and at limits again.

    A function of its own: a name in the loop would keep the last pool, with its memory and descriptors, after it was
    shut down and dropped.
    """
    backends = [b for b in list(_watched) if not b.gate.closed and not b.gate.foreign]
    busy = [b for b in backends if b.stats().running]
    limited = any(b.memory_per_worker for b in backends)
    now = time.monotonic()
    if now >= checked_at:
        for backend in backends:
            if backend.memory_per_worker:
                check(backend)
        zygote_client.look_after()
        checked_at = now + (PERIOD_S if busy and limited else MACHINE_EVERY_S)
    pauses = [pause for backend in backends if (pause := backend.use.look()) is not None]
    if busy and now >= machine_at:
        warned = _warn_if_scarce(busy)
        machine_at = now + (AGAIN_S if warned else MACHINE_EVERY_S)
    return min([max(OFTEN, checked_at - now), *pauses]), bool(pauses), machine_at, checked_at


def check(backend: Watched) -> None:
    """End the tasks of workers above the limit; an idle worker above it is replaced."""
    limit = backend.memory_per_worker
    for index, member in list(backend.pool.members.items()):
        size = own_bytes(member.pid) if member.pid and not member.retiring else 0
        if size <= limit:
            continue
        info = info_of(backend.scheduler, index)
        if not info.ticket:
            backend.pool.replace(index)
        elif with_gil.csched_worker_condemn(
            backend.scheduler.handle, index, info.ticket, info.attempt, NO_ELEMENT
        ):
            backend.pool.kill(
                index,
                f"was stopped: it used {size_text(size)} of memory, more than memory_per_worker, "
                f"{size_text(limit)}",
            )


def _warn_if_scarce(backends: list[Watched]) -> bool:
    left, total = left_and_total()
    if left > SCARCE * total:
        return False
    workers = [
        (own_bytes(member.pid), member.pid, index, backend)
        for backend in backends
        for index, member in list(backend.pool.members.items())
        if member.pid
    ]
    if not workers:
        return False
    size, pid, index, backend = max(workers, key=lambda worker: worker[0])
    info = info_of(backend.scheduler, index)
    doing = f"runs {backend.functions.names.get(info.function, 'a task')}" if info.ticket else "is idle"
    cell = backend.listener.cell_of(int(info.ticket))
    cell.do(partial(cell.stream(2).write, _words(left, total, pid, doing, size)))
    return True


def _words(left: int, total: int, pid: int, doing: str, size: int) -> str:
    return (
        f"cellmill: memory is nearly used up: {size_text(left)} of {size_text(total)} are left, and the operating "
        f"system will kill a process soon. The largest worker (pid {pid}) {doing} and uses {size_text(size)}. Stop "
        "it, use fewer workers, or set Executor(memory_per_worker=...).\n"
    )


def _in_child() -> None:
    global _lock, _thread, _wake
    _lock, _thread, _wake = threading.Lock(), None, threading.Event()
    _watched.clear()


os.register_at_fork(after_in_child=_in_child)
