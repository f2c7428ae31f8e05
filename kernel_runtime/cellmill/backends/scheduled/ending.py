"""Ends a backend over the scheduler: in order, or because no worker can be had any more."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Protocol

from ...errors import CellmillError
from ...futures import Future
from ...process_context.interrupts import uninterrupted
from ...run_registry import finish_all, note_failure
from ...task import NO_RUN, Stats
from .cancellations import Cancellations
from .gate import Gate
from .mapping import streams_of, take_rest
from .outcomes import not_run
from .protocols import OutputListener, WorkerPool
from .resolver import Resolver
from .scheduler import Scheduler, with_gil
from .slots import SlotTable
from .stream import Stream

FIRST_TASK_SECONDS = 1.0

_lock = threading.RLock()  # an executor may be collected while another one ends
_finishing: weakref.WeakKeyDictionary[Ending, _Finish] = weakref.WeakKeyDictionary()


class Ending(Protocol):
    """The backend that ends."""

    scheduler: Scheduler
    gate: Gate
    slots: SlotTable
    resolver: Resolver
    cancellations: Cancellations

    @property
    def pool(self) -> WorkerPool: ...

    @property
    def listener(self) -> OutputListener: ...

    def batch_streams(self) -> list[Stream]: ...

    def stats(self) -> Stats: ...


def _streams(backend: Ending) -> Iterator[Stream]:
    yield from list(streams_of(backend, None))
    yield from backend.batch_streams()


def break_down(backend: Ending, error: CellmillError) -> None:
    """Everything outstanding fails with the reason: the first one, if it is broken already."""
    if backend.gate.broken is None:
        backend.gate.broken = error
    error = backend.gate.broken
    for stream in _streams(backend):
        stream.fail(error)
    table = backend.slots.entries
    for slot, entry in enumerate(list(table)):
        if entry is None:
            continue
        if isinstance(entry, Future):
            failed = not_run(error)
            note_failure(_count_as_failed(backend.scheduler, entry._ticket), backend, failed)
            if entry.settle(None, failed):
                backend.resolver.call_back(entry)
            table[slot] = None
    with_gil.csched_cancel_all(backend.scheduler.handle)  # chunks hear of it as cancelled
    backend.resolver.resolve()


def _count_as_failed(scheduler: Scheduler, ticket: int) -> int:
    """The scheduler is about to count this task as cancelled; its run."""
    if not with_gil.csched_task_state(scheduler.handle, ticket):
        return NO_RUN
    run = int(with_gil.csched_task_run(scheduler.handle, ticket))
    scheduler.adjust_run(run, failed=1, cancelled=-1)
    return run


def cancel_everything(backend: Ending) -> int:
    """Cancel every task that has not begun; how many those were."""
    backend.cancellations.note(None, "its executor")
    before = backend.stats().cancelled
    for stream in _streams(backend):
        stream.cancel_all()
    with_gil.csched_cancel_all(backend.scheduler.handle)
    # where another thread resolves, it may have begun before the cancellation
    while not backend.resolver.resolve() and not backend.resolver.settles_here():
        backend.scheduler.wait(1)
    return backend.stats().cancelled - before


def shut_down(backend: Ending, wait: bool, cancel_futures: bool) -> None:
    """Finish or cancel what is outstanding, then let the workers go. Stop ends the wait for that, and not the rest."""
    try:
        if cancel_futures:
            _let_begin(backend)
            cancel_everything(backend)
        else:
            take_rest(backend)
    finally:
        with uninterrupted(), _lock:
            finish = _finishing.get(backend)
            if finish is None:
                finish = _finishing[backend] = _Finish(backend)
    if wait:
        finish.wait(backend)


class _Finish:
    """Works off what a backend has to do, and ends its parts, in a thread of its own."""

    def __init__(self, backend: Ending) -> None:
        self._thread = threading.Thread(
            target=self._run, args=(backend,), name="cellmill-shutdown", daemon=True
        )
        self._over = threading.Event()
        self._error: BaseException | None = None
        self._waited_for = False
        with contextlib.suppress(RuntimeError):  # the system has no thread for it: the one that waits does it
            self._thread.start()

    def _run(self, backend: Ending) -> None:
        try:
            _finish(backend)
        except BaseException as error:
            self._error = error
            if not self._waited_for:
                raise
        finally:
            self._over.set()

    def wait(self, backend: Ending) -> None:
        """Return when the backend has ended; raises what its end has raised."""
        self._waited_for = True
        if self._thread.ident is None or backend.resolver.in_callback():  # that thread waits for callbacks
            self._run(backend)
        elif threading.current_thread() is not self._thread and not backend.resolver.settles_here():
            self._over.wait()  # what settles has to go on first
        if self._error is not None:
            raise self._error


def join_all() -> None:
    """Return when the backends that were shut down without waiting have finished their work."""
    for backend, finish in _finishing.copy().items():
        finish.wait(backend)


def _leave_to_parent() -> None:
    """A forked child ends none of these: the threads that do are its parent's."""
    global _lock, _finishing
    _lock, _finishing = threading.RLock(), weakref.WeakKeyDictionary()


os.register_at_fork(after_in_child=_leave_to_parent)


def _let_begin(backend: Ending) -> None:
    """A pool that has just been made gets as far as its first tasks, as the standard executors do, which start their
    processes before they return from `submit`: what was asked for first is not cancelled because workers are slow.
    """
    deadline = time.monotonic() + FIRST_TASK_SECONDS
    while backend.gate.broken is None and time.monotonic() < deadline:
        stats = backend.stats()
        if stats.running or stats.done or not stats.queued:
            return
        backend.resolver.resolve()
        backend.scheduler.wait(5)


def _finish(backend: Ending) -> None:
    resolver, handle = backend.resolver, backend.scheduler.handle
    # at once, or what another thread submits meanwhile would be closed out half way
    _work_off(backend, lambda: int(with_gil.csched_close_idle(handle)) == 0)
    with_gil.csched_close(handle)
    resolver.resolve()
    backend.pool.close(True)
    resolver.resolve()
    backend.listener.stop()
    resolver.stop()
    finish_all(backend)


def work_off(backend: Ending) -> None:
    """Return when all that was submitted is over."""
    _work_off(backend, lambda: not _busy(backend))


def _work_off(backend: Ending, over: Callable[[], bool]) -> None:
    """Return when ``over()``, which is asked while nothing is being settled."""
    with_gil.csched_pause(backend.scheduler.handle, 0)  # paused, what is outstanding would never be over
    while not backend.resolver.stopped and backend.gate.broken is None:
        if not _busy(backend) and backend.resolver.all_settled(over):
            return
        backend.resolver.resolve()
        backend.scheduler.wait(50)


def _busy(backend: Ending) -> bool:
    stats = backend.stats()
    return stats.done < stats.submitted
