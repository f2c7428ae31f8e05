"""The worker processes of one executor: started from the zygote, replaced when they die."""

from __future__ import annotations

import contextlib
import pickle
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from multiprocessing.process import current_process
from typing import Any

from ...by_value import kernel_modules
from ...by_value.import_log import Loaded
from ...diagnostics import notices
from ...errors import BackendError, CellmillError, UsageError, describe_exit
from ...process_context.context import ProcessContext
from ...process_context.cpus import available_cpus, processor_seconds
from ...process_context.interrupts import uninterrupted
from ...process_context.settings import Settings
from ...serialization.exceptions import load_error
from ...task import WorkerInfo
from ...worker_process.protocol import CONTEXT, IMPORTS, INITIALIZER_FAILED, LOADS
from ..common_options import CommonOptions
from ..scheduled.context_watch import ContextWatch, current_context
from ..scheduled.output_pipes import WorkerPipes
from ..scheduled.output_reader import OutputReader
from ..scheduled.protocols import PoolHost
from ..scheduled.requests import REPLY_SECONDS, Requests
from ..scheduled.scheduler import advice, with_gil
from ..scheduled.stale import StaleModules
from ..scheduled.worker_exit import Exit
from ..scheduled.worker_infos import info_of, infos
from ..scheduled.worker_set import WorkerSet
from . import zygote_client
from .children import Member
from .failed_starts import FailedStarts

MOST_LOADS = 1024  # imports by workers that are remembered
KNOWN_SECONDS = 1.0  # for the zygote's word of a worker that is at work already
REASON_SECONDS = 1.0  # for a thread that settles what came to be done with it


class Pool:
    """Starts, replaces, resizes and ends workers; all from any thread."""

    def __init__(
        self,
        host: PoolHost,
        listener: OutputReader,
        base: Settings,
        options: CommonOptions,
        look_again: Callable[[], Any],
    ) -> None:
        """``look_again``: has the next call look at what the kernel has imported."""
        self._host = host
        self._scheduler = host.scheduler
        self._listener = listener
        self._workers: WorkerSet[Member] = WorkerSet(host.scheduler, self._start_missing)
        self.members = self._workers.members
        self._native_threads = 1  # of each worker
        self.preloaded: list[str] = []
        self.exits: dict[int, Exit] = {}  # by worker: how the last process at that place ended
        self.restarts: Counter[int] = Counter()
        self._failed_starts = FailedStarts()
        self._told = (0, 0)  # that so many workers of so many could be had
        self.requests = Requests(host.scheduler, host.gate, host.resolve, self.members)
        self._lock = self._workers.lock
        self.context = ContextWatch(base)
        self.modules = StaleModules(self.members, self.renew, host.functions, host.scheduler, look_again)
        self._watch_no_more = kernel_modules.watch_imports(look_again)
        self._loads: deque[tuple[int, Loaded]] = deque(maxlen=MOST_LOADS)
        self._initializer = options.pickled_initializer()
        self._starter: threading.Thread | None = None
        # It is not joined: Stop in `Thread.join` has Python take a running thread for one that has ended.
        self._none_missing = threading.Event()
        self._none_missing.set()
        # Here, not in the starting thread: from Python 3.12 on no process can be started once the interpreter ends,
        # and a script may end right after its first submit.
        zygote_client.shared()

    # -- starting

    def resize(self, count: int) -> None:
        """So many workers; fewer: the surplus finishes what it runs."""
        self._workers.resize(count, self._resized)

    def _resized(self) -> None:
        self._told = (0, 0)
        self._share_cores()

    def _share_cores(self) -> None:
        """Native threads of each worker: those that work hear of another number before their next task."""
        before, self._native_threads = self._native_threads, max(1, available_cpus() // self._workers.wanted)
        zygote = zygote_client._shared
        if self.members and before != self._native_threads and zygote is not None:
            self._send_context(zygote.context)

    def _send_context(self, context: ProcessContext) -> None:
        # A worker that is being started is among these, or will be given what the zygote has heard by then.
        for index in list(self.members):
            self.requests.tell_latest(index, CONTEXT, (CONTEXT, self._of_worker(context)))

    def _of_worker(self, context: ProcessContext) -> ProcessContext:
        return context._replace(settings=self.context.settings, native_threads=self._native_threads)

    def _start_missing(self) -> None:
        """Start missing workers in the background; tasks wait in the scheduler meanwhile."""
        with uninterrupted(), self._lock:
            if self._starter is not None:
                return
            starter = threading.Thread(target=self._start_loop, name="cellmill-starter", daemon=True)
            starter.start()  # it waits for the lock
            self._starter = starter
            self._none_missing.clear()

    def _start_loop(self) -> None:
        try:
            self._start_all()
        finally:
            with self._lock:
                if self._starter is threading.current_thread():
                    self._start_no_more()

    def _start_no_more(self) -> None:
        self._starter = None
        self._none_missing.set()

    def _start_all(self) -> None:
        while True:
            with self._lock:
                if self._workers.missing() <= 0:
                    self._start_no_more()
                    return
                pause = self._failed_starts.pause
            time.sleep(pause)
            try:
                self._start_one()
            except Exception as error:
                if self._give_up(error):
                    return

    def _give_up(self, error: Exception) -> bool:
        """No worker could be started: try again for a moment, then go on with those there are, if there are any."""
        with self._lock:
            self._failed_starts.add()
            if isinstance(error, zygote_client.NoWorker) and not self._failed_starts.hopeless:
                return False
            self._start_no_more()
        problem = (
            error
            if isinstance(error, CellmillError)
            else BackendError(f"no worker could be started: {error}")
        )
        with self._lock:  # one that is not ready yet is one: should it die, others are tried again
            there, wanted = len(self._workers.staying()), self._workers.wanted
            told, self._told = self._told, (there, wanted)
        if not there:
            self._host.break_down(problem)
        elif told != self._told:
            notices.warn(f"cellmill goes on with {there} of {wanted} workers: {problem}")
        return True

    def _start_one(self) -> None:
        zygote = zygote_client.shared()
        zygote.update_context()
        try:
            index, fds = self._scheduler.add_worker()
            pipes = self._pipes(index)
        except (
            BackendError,
            OSError,
        ) as error:  # descriptors or memory: others may give theirs back in a moment
            raise zygote_client.NoWorker(_explained(error)) from error
        member = Member(index)
        with self._lock:
            self.members[index] = member
            if self._workers.closed or self._workers.missing() < 0:  # since the loop checked
                self._workers.retire(member)  # it ends as soon as it has started
        config = {
            "context": self._of_worker(zygote.context),
            "authkey": bytes(current_process().authkey),
            "spin_us": self._host.worker_spin_us,
            "initializer": self._initializer,
        }
        try:
            member.pid = zygote.fork(config, [*fds, *pipes.theirs], lambda ended: self._ended(member, ended))
        except BaseException:
            with self._lock:
                self.members.pop(index, None)
            self._listener.ended(index, 0)
            with_gil.csched_worker_lost(self._scheduler.handle, index)
            raise
        finally:
            member.known.set()
            self._scheduler.close_passed()
            pipes.close_theirs()

    def _pipes(self, index: int) -> WorkerPipes:
        """The pipes that a new worker prints to."""
        try:
            pipes = WorkerPipes()
        except OSError:
            self._scheduler.close_passed()
            with_gil.csched_worker_lost(self._scheduler.handle, index)
            raise
        self._listener.add(index, pipes)
        return pipes

    def preload(self, modules: Iterable[str]) -> None:
        """Import modules once, in the zygote; workers started later have them from the start."""
        names = [m for m in ([modules] if isinstance(modules, str) else modules) if m not in self.preloaded]
        if not names:
            return
        problems = []
        zygote = zygote_client.shared()
        zygote.update_context()
        for name, (_, problem) in zygote.preload(names).items():
            if problem.startswith("cannot"):
                problems.append(f"{name} {problem}")
            else:
                self.preloaded.append(name)
        if problems:
            raise UsageError("preload: " + "; ".join(problems))

    # -- ending

    def _ended(self, member: Member, ended: Exit) -> None:
        """A worker process is gone; called by the thread that listens to the zygote."""
        ready = self._was_ready(member)
        ticket = int(info_of(self._scheduler, member.index).ticket)
        worn_out = ready and ended.exitcode == 0 and not ticket  # max_tasks_per_child
        ended.task = ticket or None
        ended.output = self._listener.ended(member.index, ticket)
        ended.reason = member.doom
        with self._lock:
            if not worn_out:
                self.exits[member.index] = ended
            if not member.retiring and not worn_out:
                self.restarts[member.index] += 1
                if ready:
                    self._failed_starts.end()
                else:
                    self._failed_starts.add()
            self.members.pop(member.index, None)
            if not (self._workers.closed or member.retiring):
                self._none_missing.clear()  # from now on: the loss is told before another one is started
            self.modules.gone(member.index)
        with_gil.csched_worker_lost(self._scheduler.handle, member.index)
        member.gone.set()
        if self._workers.closed or member.retiring:
            return
        if ended.exitcode == INITIALIZER_FAILED:
            self._none_missing.set()
            self._hear_why()
            self._host.break_down(
                BackendError("the initializer of the workers failed; its error was printed")
            )
        elif self._failed_starts.hopeless and not self._standing():
            count, how = self._failed_starts.count, describe_exit(ended.signal, ended.exitcode)
            problem = f"{count} workers in a row died before they were ready; the last one {how}"
            self._none_missing.set()
            self._host.break_down(BackendError(problem))
        else:
            self._start_missing()

    def _hear_why(self) -> None:
        """Have the error that a worker sent before it ended settled first, also by a thread that settles right now."""
        deadline = time.monotonic() + REASON_SECONDS
        while not self._host.resolve() and time.monotonic() < deadline:
            time.sleep(0.001)

    def _was_ready(self, member: Member) -> bool:
        return bool(info_of(self._scheduler, member.index).state == 2)

    def _standing(self) -> int:
        return sum(self._was_ready(member) for member in list(self.members.values()))

    def replace(self, index: int) -> None:
        """A new worker in the place of this one, which finishes what it runs."""
        self._workers.renew([index])

    def kill(self, index: int, reason: str = "") -> None:
        """End a worker at once; its running task fails, a new worker takes its place."""
        member = self.members.get(index)
        if member is not None and self.process_of(member):
            member.doom = reason
            zygote_client.shared().kill(member.pid, signal.SIGKILL)

    def restart(self) -> None:
        """New workers in the place of all; what runs is finished first."""
        self._workers.renew_all()

    def renew(self, indexes: Iterable[int], zygote_too: bool) -> None:
        """New workers in the place of these, which hold modules that were edited."""
        with contextlib.suppress(BackendError):  # a new zygote has none of them
            if zygote_too:
                zygote_client.shared().forget_modules()
        self._workers.renew(indexes)

    def close(self, wait: bool) -> None:
        """Retire all workers; with ``wait``, return when their processes are gone."""
        self._watch_no_more()
        with self._lock:
            starter = self._starter
            self._workers.close()
        if not wait:
            return
        deadline = time.monotonic() + 5
        if starter is not None and starter is not threading.current_thread():
            self._none_missing.wait(5)  # one more worker may be on its way
        with self._lock:
            members = list(self.members.values())
        for member in members:
            if member.pid and not member.gone.wait(max(0.0, deadline - time.monotonic())):
                zygote_client.shared().kill(member.pid)
                member.gone.wait(2)

    # -- talking to workers

    def touched(self) -> bool:
        """Return whether there may be something to send, or modules to look at; a cheap check."""
        return self.context.touched() or self.modules.touched()

    def sync_context(self) -> None:
        """Send workers what changed in the kernel's context since the last look (see `ContextWatch.changed`); and
        let those go whose modules were edited.
        """
        self.modules.look()
        if not self.context.changed():
            return
        if zygote_client._shared is not None:
            self.context.warn(self._scheduler)
            try:
                context = zygote_client.shared().update_context()
            except BackendError:
                context = current_context()
            self._send_context(context)
        self.context.told()

    def call_everywhere(self, function: Callable[..., Any]) -> list[Any]:
        """Call ``function()`` once on each worker; their values, in the order of the workers."""
        self.sync_context()
        self._none_missing.wait(REPLY_SECONDS)
        return self.requests.call(
            function, sorted(m.index for m in list(self.members.values()) if not m.retiring)
        )

    def reply(self, index: int, number: int, data: bytes) -> None:
        """A worker's answer to a request, or a word of its own."""
        if number == IMPORTS:
            self.modules.hear(index, *pickle.loads(data))
        elif number == LOADS:
            self._loads.append((index, Loaded(*pickle.loads(data))))
        elif number == 0:
            error = BackendError("the initializer of the workers failed")
            error.__cause__ = load_error(data)
            self._host.break_down(error)
        else:
            self.requests.reply(number, data)

    @property
    def loads(self) -> list[tuple[int, Loaded]]:
        """See `WorkerPool.loads`."""
        return list(self._loads)

    def infos(self) -> list[WorkerInfo]:
        """One record per worker process."""
        self._scheduler.poll()  # hears of workers that have become ready
        with self._lock:
            members = list(self.members.values())
        for member in members:
            self.process_of(member)
        return infos(self._scheduler, self._host.functions.names, members, self.restarts)

    def processor_seconds(self) -> dict[int, float]:
        """Return the processor time of each worker process so far, by process id."""
        with self._lock:
            pids = [member.pid for member in self.members.values() if member.pid]
        used = ((pid, processor_seconds(pid)) for pid in pids)
        return {pid: seconds for pid, seconds in used if seconds is not None}

    def process_of(self, member: Member) -> int:
        """Its id; 0 while it starts. A worker may be at its first task before the zygote's word of it is heard."""
        if not member.pid and self._was_ready(member):
            member.known.wait(KNOWN_SECONDS)
        return member.pid


def _explained(error: BackendError | OSError) -> str:
    """Why no worker could be made, and what helps."""
    if isinstance(error, OSError):
        return f"{error.strerror}. {advice(error.errno or 0)}"
    return str(error)
