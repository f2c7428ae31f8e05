"""The threads of one executor: started, replaced, retired, and given up when what they run does not end."""

from __future__ import annotations

import importlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from ...diagnostics import notices
from ...errors import BackendError, UsageError, in_words
from ...process_context.interrupts import uninterrupted
from ...task import WorkerInfo
from ..common_options import CommonOptions
from ..scheduled.protocols import PoolHost
from ..scheduled.scheduler import check, ffi, with_gil
from ..scheduled.worker_exit import Exit
from ..scheduled.worker_infos import infos
from ..scheduled.worker_set import WorkerSet
from .call import Call
from .late_chunks import LateChunks
from .listening import ThreadListener
from .requests import ThreadRequests
from .thread import WorkerThread

CLOSE_SECONDS = 5.0


class ThreadPool:
    """See `scheduled.protocols.WorkerPool`."""

    def __init__(
        self,
        host: PoolHost,
        listener: ThreadListener,
        calls: dict[int, Call],
        options: CommonOptions,
    ) -> None:
        self._host = host
        self._scheduler = host.scheduler
        self._listener = listener
        self._calls = calls
        self._workers: WorkerSet[WorkerThread] = WorkerSet(host.scheduler, self._start_missing)
        self.members = self._workers.members
        self.preloaded: list[str] = []
        self.exits: dict[int, Exit] = {}  # no thread ends by itself
        self.context: Any = None  # that of this process
        self.restarts: Counter[int] = Counter()
        self._initializer, self._initargs = options.initializer, options.initargs
        self.requests = ThreadRequests(host.scheduler, host.gate, host.resolve, self.members)
        self.late_chunks = LateChunks()
        self._lock = self._workers.lock
        self._told = False

    @property
    def closed(self) -> bool:
        """Whether no more threads are started."""
        return self._workers.closed

    def touched(self) -> bool:
        """Never: threads live in the kernel's context."""
        return False

    def sync_context(self) -> None:
        """Nothing to send."""

    def reply(self, index: int, number: int, data: bytes) -> None:
        """Answers come as objects; see `ThreadRequests`."""

    # -- starting

    def resize(self, count: int) -> None:
        """So many threads; fewer: the surplus finishes what it runs."""
        self._workers.resize(count)

    def _start_missing(self) -> None:
        with uninterrupted(), self._lock:
            while self._workers.missing() > 0:
                try:
                    self._start_one()
                except (BackendError, RuntimeError, OSError) as error:  # descriptors, memory, or threads
                    self._give_up(error)
                    return

    def _start_one(self) -> None:
        scheduler = self._scheduler
        index, fds = scheduler.add_worker()
        out = ffi.new("csched_worker_t **")
        try:
            check(with_gil.csched_thread_attach(ffi.new("int[4]", fds), out), "starting a worker thread")
        except BaseException:
            scheduler.close_passed()
            with_gil.csched_worker_lost(scheduler.handle, index)
            raise
        scheduler.keep_passed()
        member = self.members[index] = WorkerThread(
            self, index, out[0], scheduler, self._calls, self._listener, self._host.worker_spin_us
        )
        try:
            member.thread.start()
        except BaseException:
            del self.members[index]
            with_gil.csched_worker_lost(scheduler.handle, index)
            member.detach()
            raise

    def _give_up(self, error: Exception) -> None:
        """No thread could be started: go on with those there are, if there are any."""
        problem = BackendError(f"no worker thread could be started: {in_words(error)}")
        if not self.members:
            self._host.break_down(problem)
            return
        notices.warn(
            f"cellmill goes on with {len(self.members)} of {self._workers.wanted} worker threads: {problem}"
        )

    def report(self, error: BaseException) -> None:
        """An error of Cellmill's own in one of the threads."""
        self._host.report(error)

    def initialized(self) -> bool:
        """Note in a new thread that its initializer has run."""
        if self._initializer is None:
            return True
        try:
            self._initializer(*self._initargs)
        except BaseException as error:
            problem = BackendError("the initializer of the workers failed")
            problem.__cause__ = error
            self._host.break_down(problem)
            return False
        return True

    def preload(self, modules: Iterable[str]) -> None:
        """Import modules, here, where the threads are."""
        problems = []
        for name in [modules] if isinstance(modules, str) else modules:
            try:
                importlib.import_module(name)
            except Exception as error:
                problems.append(f"{name} cannot be imported: {in_words(error)}")
            else:
                self.preloaded += [name] if name not in self.preloaded else []
        if problems:
            raise UsageError("preload: " + "; ".join(problems))

    # -- ending

    def ended(self, member: WorkerThread) -> None:
        """The last thing that a thread does."""
        if member.abandoned:  # another one has its place
            member.detach()
            return
        with self._lock:
            del self.members[member.index]
            with_gil.csched_worker_lost(self._scheduler.handle, member.index)
            member.detach()
        if not self._host.gate.foreign and self._host.gate.broken is None:
            self._start_missing()

    def abandon(self, index: int, ticket: int, attempt: int) -> bool:
        """Give up a thread that is still in this task: the task ends, and a new thread takes its place."""
        with self._lock:
            member = self.members.get(index)
            if member is None or not with_gil.csched_thread_abandon(member.form, index, ticket, attempt):
                return False
            del self.members[index]
            with_gil.csched_worker_lost(self._scheduler.handle, index)
            self.restarts[index] += 1
        self._listener.end_of(member.printed)
        self._start_missing()
        self._tell()
        return True

    def _tell(self) -> None:
        if self._told:
            return
        self._told = True
        notices.warn(
            "a task did not hear that it is to end. A thread cannot be killed: its task is over for you, a "
            "new thread has taken its place, and the old one goes on until its code returns, with what memory and "
            'processor time that takes. backend="local" runs tasks in processes, which can be killed. This is told '
            "once."
        )

    def kill(self, index: int, reason: str = "") -> None:
        """Not to be had: what would be killed is the kernel."""

    def replace(self, index: int) -> None:
        """A new thread in the place of this one, which finishes what it runs."""
        self._workers.renew([index])

    def restart(self) -> None:
        """New threads in the place of all; what runs is finished first."""
        self._workers.renew_all()

    def close(self, wait: bool) -> None:
        """Retire all threads; with ``wait``, return when they have ended."""
        members = self._workers.close()
        deadline = time.monotonic() + CLOSE_SECONDS
        for member in members if wait else ():
            if member.thread is not threading.current_thread():
                member.thread.join(max(0.0, deadline - time.monotonic()))

    # -- talking to threads

    def call_everywhere(self, function: Callable[..., Any]) -> list[Any]:
        """Call ``function()`` once in each thread; their values, in the order of the workers."""
        with self._lock:
            indexes = sorted(member.index for member in self._workers.staying())
        return self.requests.call(function, indexes)

    def infos(self) -> list[WorkerInfo]:
        """One record per thread."""
        self._scheduler.poll()  # hears of threads that have become ready
        with self._lock:
            members = list(self.members.values())
        return infos(self._scheduler, self._host.functions.names, members, self.restarts)

    @property
    def loads(self) -> tuple[()]:
        return ()  # the kernel imports a module once for all

    def processor_seconds(self) -> dict[int, float]:
        return {}  # threads share the kernel's
