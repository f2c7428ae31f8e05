"""Resolving: completions of the scheduler become results of futures, in whatever thread waits, or in one of ours."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ... import futures
from ...by_value.watched import CHANGES
from ...futures import FINISHED, OVER, PENDING, SETTLING, Future
from ...process_context.interrupts import uninterrupted
from .callbacks import Callbacks
from .chunks import Chunk
from .gate import Gate
from .protocols import TaskEvents
from .results import LATER, Results
from .retrying import RetriedFuture
from .scheduler import BATCH, MESSAGE, Completion, Scheduler, nogil, with_gil
from .slots import SlotTable

SLICE_MS = 50  # no sleep is longer: signals are looked at in between
SPIN_US = 20
OTHERS = 3  # times that another thread may be at it
OTHER_SECONDS = 0.5  # that another thread is given to settle what it has taken
FEW = 16  # results of one wake that are told of one by one
ALONE = frozenset((bool, int, float, str, bytes))  # types of values that refer to nothing
CANCELLED = with_gil.CSCHED_CANCELLED


class Resolver:
    """Settles the futures and chunks of tasks that end."""

    def __init__(
        self, scheduler: Scheduler, gate: Gate, slots: SlotTable, results: Results, events: TaskEvents
    ) -> None:
        self.scheduler = scheduler
        self._gate = gate
        self._slots = slots
        self._results = results
        self._events = events
        self.stopped = False
        self._lock = threading.Lock()
        self._settler = 0  # the thread that has it
        # futures settled with the last wake that have callbacks, or are waited for in other ways
        self._followed = 0
        self._callbacks = Callbacks()
        self.waited: Callable[[int], None] = lambda since: None  # told the start of each wait when it is over
        self.call_back = self._callbacks.add  # have the done-callbacks of a future that was settled run
        self._thread = threading.Thread(target=self._background, name="cellmill-resolver", daemon=True)
        self._thread.start()

    # -- waiting

    def wait(self, future: Future, timeout: float | None) -> None:
        """Return when the future is over or ``timeout`` seconds are; this thread resolves meanwhile."""
        since = time.monotonic_ns()
        try:
            self._wait(future, timeout)
        finally:
            self.waited(since)

    def _wait(self, future: Future, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        spin = SPIN_US
        while future._state not in OVER:
            self._gate.check_process()
            if self.scheduler.poll(spin) > 0:
                if not self.resolve():  # another thread is at it
                    with self._lock:
                        pass
                continue
            if end is None:
                slice_ms = SLICE_MS
            else:
                left = end - time.monotonic()
                if left <= 0:
                    return
                slice_ms = min(SLICE_MS, int(left * 1000) + 1)
            self.scheduler.wait(slice_ms, future._ticket)
            if self.stopped and future._state not in OVER:
                time.sleep(0.001)

    def listen(self) -> None:
        """Settle what has come, or comes within a moment."""
        if self.scheduler.poll() > 0 or self.scheduler.wait(SLICE_MS) > 0:
            if not self.resolve():  # another thread is at it
                with self._lock:
                    pass
        elif self.stopped:
            time.sleep(0.001)

    def resolve(self, patience: float = 0.0) -> bool:
        """Settle everything that has come; False when another thread does it right now, which is waited for so many
        seconds at most.
        """
        if self._lock.locked():
            if patience:
                self._wait_for_other(patience)
            return False
        with uninterrupted(), self._lock:
            self._settler = threading.get_ident()
            try:
                self._take_completions()
            finally:
                self._settler = 0
        return True

    def all_settled(self, ask: Callable[[], bool]) -> bool:
        """Settle everything that has come, and return what ``ask`` says before another thread settles more. Elements
        that are tried again have been sent by then: the scheduler counts them as over until they are.
        """
        with uninterrupted(), self._lock:
            self._settler = threading.get_ident()
            try:
                self._take_completions()
                return ask()
            finally:
                self._settler = 0

    def settles_here(self) -> bool:
        """Whether this thread is settling: it runs code of the user's, of a value that is unpickled or collected."""
        return self._settler == threading.get_ident()

    def _wait_for_other(self, seconds: float) -> None:
        """Return when the thread that settles has done so, or after so many seconds."""
        with uninterrupted():  # an interrupt between these two calls would leave the lock taken
            if self._lock.acquire(timeout=seconds):
                self._lock.release()

    def settle(self, seconds: float) -> None:
        """Settle what is over, and return when the callbacks of that have run, or ``seconds`` are over."""
        for _ in range(OTHERS):
            if self.resolve():
                break
            self._wait_for_other(OTHER_SECONDS)  # it may have begun before the last of it came
        self._callbacks.drain(seconds)

    def _background(self) -> None:
        """Settle futures that are waited for by other ways than ours: callbacks, `concurrent.futures.wait`, asyncio."""
        handle, prompt = self.scheduler.nogil_handle, False
        while not self.stopped:
            if nogil.csched_wait_background(handle, 200, prompt) > 0:
                self._followed = 0
                try:
                    self.resolve()
                except Exception as error:
                    self._events.report(error)
                # Where many come at once, settling them together leaves more of the GIL to others.
                prompt = 0 < self._followed <= FEW

    # -- completions

    def _take_completions(self) -> None:
        scheduler, table = self.scheduler, self._slots.entries
        while True:
            n = scheduler.collect()
            # after that look: what these tasks printed, and the first results of chunks, come before their ends
            self._take_messages()
            if not n:
                return
            slots, statuses = scheduler.slots_and_statuses(n)
            values = self._results.small(n, slots, statuses)
            rest: list[int] = []
            # Futures without followers, with nothing or a small value, most of a flood of small tasks, are settled here
            # under one lock: storing their state is all there is to do (see `Future._finish`).
            with SETTLING:
                for place, slot in enumerate(slots):
                    entry, value = table[slot], values[place]
                    if (
                        value is not LATER
                        and entry is not None
                        and entry._followers is None
                        and entry._state == PENDING
                    ):
                        if value is not None:
                            entry._result = value
                            if type(value) not in ALONE:
                                futures.track(entry)
                        if entry._inputs:
                            entry._inputs = ()  # or the last of a chain would keep all results before it
                        entry._state = FINISHED
                        table[slot] = None
                    elif entry is not None:
                        rest.append(place)
            for place in rest:
                self._settle(scheduler.completion(place))
            with_gil.csched_commit(scheduler.handle, n)
            self._results.committed(slots)
            self._slots.free.frombytes(scheduler.slot_bytes(n))
            if n < BATCH:
                return

    def _settle(self, done: Completion) -> None:
        entry = self._slots.entries[done.slot]
        if isinstance(entry, Future):
            self._followed += entry._followers is not None
            if done.status == CANCELLED:
                self._events.cancelled(entry, done)
                called = entry.settle_cancelled()
            else:
                value, error = self._results.of_task(entry, done)
                if error is not None:
                    self._events.failed(entry, done, error)
                called = entry.settle(value, error)
            if entry._inputs:
                entry._inputs = ()  # or the last of a chain would keep all results before it
            if called:
                self.call_back(entry)
        else:
            entry.complete(done.status, done.worker, done.detail, self._results.of_chunk(done), done.time_ns)
        self._slots.entries[done.slot] = None
        self._results.settled(entry)

    # -- messages

    def _take_messages(self) -> None:
        scheduler = self.scheduler
        while True:
            n = scheduler.messages()
            if not n:
                return
            rows = MESSAGE.iter_unpack(scheduler.message_rows(n))
            for kind, worker, slot, detail, run, function, ticket, blob, address, size, limit_ns in rows:
                if kind == with_gil.CSCHED_OUTPUT:
                    self._events.output_ended(worker, ticket, run)
                elif kind == with_gil.CSCHED_PARTIAL:
                    entry = self._slots.entries[slot]
                    if type(entry) is Chunk:
                        came = self._results.partial(slot, detail, blob, address, size)
                        if came is not None:
                            entry.partial(came)
                elif kind == with_gil.CSCHED_REPLY and detail == CHANGES:
                    self._events.changed(bytes(scheduler.view(address, size)))
                elif kind == with_gil.CSCHED_REPLY:
                    self._events.reply(worker, detail, bytes(scheduler.view(address, size)))
                elif kind == with_gil.CSCHED_ATTEMPT:
                    failed = Completion(
                        slot, detail, worker, 0, 0, blob, address, size, limit_ns, function, run
                    )
                    self._again(ticket, failed)
                elif ticket:
                    self._events.overdue(ticket, detail, limit_ns)
                else:  # its memory does not hold what it must
                    self._events.corrupt(worker)
            with_gil.csched_messages_commit(scheduler.handle, n)

    def _again(self, ticket: int, failed: Completion) -> None:
        """An attempt failed: whether there is another one."""
        entry = self._slots.entries[failed.slot]
        if type(entry) is RetriedFuture:
            _, error = self._results.of_task(entry, failed)
            assert error is not None
            entry.answer(self.scheduler.handle, ticket, failed.status, error)

    def in_callback(self) -> bool:
        """Whether the caller is a done-callback."""
        return self._callbacks.is_caller()

    def stop(self) -> None:
        """No more background resolving; the thread is joined unless it is the caller."""
        self.stopped = True
        with_gil.csched_wake(self.scheduler.handle)
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self._callbacks.stop()
