"""One worker: a thread of this process and its end of the scheduler's rings. The loop is csched/python/threads.c."""

from __future__ import annotations

import os
import threading
from typing import Any, Protocol

from ...errors import InternalError
from ...process_context import thread_context
from ..scheduled.scheduler import NO_BLOCK, Scheduler, ffi, with_gil
from .call import Call
from .late_chunks import LateChunks
from .requests import ThreadRequests
from .task_streams import Printed, speaker

_ABANDONED, _CONTROL, _STOPPED = with_gil.CSCHED_OK, with_gil.CSCHED_CONTROL, with_gil.CSCHED_ESTOPPED
_AGAIN = with_gil.CSCHED_EAGAIN


class ThreadOwner(Protocol):
    """The pool that a thread belongs to."""

    @property
    def requests(self) -> ThreadRequests: ...

    @property
    def late_chunks(self) -> LateChunks: ...

    def initialized(self) -> bool: ...

    def ended(self, member: WorkerThread) -> None: ...

    def report(self, error: BaseException) -> None: ...


class OutputTeller(Protocol):
    """Receives what threads print."""

    def say(self, member: WorkerThread, number: int, text: str) -> None: ...

    def end_of(self, printed: Printed) -> None: ...


class WorkerThread:
    """Serves until it is retired, worn out or given up; then tells the pool."""

    def __init__(
        self,
        pool: ThreadOwner,
        index: int,
        handle: Any,
        scheduler: Scheduler,
        calls: dict[int, Call],
        listener: OutputTeller,
        spin_us: int,
    ) -> None:
        self.pool = pool
        self._listener = listener
        self.index = index
        self.pid = os.getpid()
        self.handle = handle
        self.retiring = False
        self.printed = Printed(index)
        self.telling = False  # what this thread writes is for the stream itself
        self._calls = calls  # the form borrows it
        self._scheduler = scheduler  # outlives this thread
        self.form = ffi.new("csched_thread_t *")
        self.form.s, self.form.w = scheduler.handle, handle
        self.form.calls = ffi.cast("void *", id(self._calls))
        self.form.spin_us = spin_us
        self._item = ffi.new("csched_item_t *")
        self._end_of_task = self.tell  # the form borrows it
        self.form.end_of_task = ffi.cast("void *", id(self._end_of_task))
        # a daemon: code that does not return keeps no kernel from ending
        self.thread = threading.Thread(target=self._run, name=f"cellmill-worker-{index}", daemon=True)

    @property
    def abandoned(self) -> bool:
        """Whether its current task counts as over; the thread ends when that returns."""
        return bool(self.form.abandoned)

    def _run(self) -> None:
        thread_context.enter(self)
        thread_context.here.values = {}
        speaker.worker = self
        self.form.ident = threading.get_ident()
        try:
            good = self.pool.initialized()
            self.tell()
            if good:
                with_gil.csched_worker_ready(self.handle)
                self._serve()
        except Exception as error:
            self.pool.report(error)
        finally:
            thread_context.leave()
            speaker.worker = None
            self.pool.ended(self)

    def _serve(self) -> None:
        while True:
            rc = with_gil.csched_thread_serve(self.form, self._item)
            if rc == _CONTROL:
                self.pool.requests.answer(self.function)
                self.tell()
            elif rc in (_ABANDONED, _STOPPED):
                return
            else:
                raise InternalError(f"a worker thread cannot use its rings ({rc})")

    def detach(self) -> None:
        """Its memory goes; nothing uses the form from now on."""
        self.form.ticket = 0
        with_gil.csched_worker_detach(self.handle)

    # -- of the task in hand, in this thread

    def partial(self, end: int, failures: int) -> None:
        """Tell the scheduler that elements before ``end`` are over."""
        if self.abandoned:
            raise SystemExit  # out of the user's code: the rest is not waited for
        while with_gil.csched_worker_partial(self.handle, end, failures, ffi.NULL, 0, NO_BLOCK) == _AGAIN:
            self._scheduler.wait(1)

    @property
    def function(self) -> int:
        """Number of the function of the task in hand."""
        return int(self._item.function)

    def say(self, number: int, text: str) -> None:
        """Keep text that the task prints."""
        if not self.abandoned:
            self._listener.say(self, number, text)

    def tell(self) -> None:
        """Show what the task has printed; also called by the loop in C, before a result."""
        self.telling = True
        try:
            self._listener.end_of(self.printed)
        except Exception as error:  # of a stream that was put in the place of sys.stdout
            self.pool.report(error)
        finally:
            self.telling = False

    def end_output(self, native: bool = False) -> None:
        """See `chunk.Runner`: at the end of the task, the loop in C sees to it."""

    def disown(self) -> None:
        """End the thread in a forked child if it returns from its task: what it publishes reaches no kernel."""
        self.form.abandoned = 1
        with_gil.csched_worker_forked(self.handle)
