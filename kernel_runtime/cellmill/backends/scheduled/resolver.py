"""Resolving: completions of the scheduler become results of futures, in whatever thread waits, or in one of ours."""

from __future__ import annotations

import pickle
import threading
import time
from array import array
from typing import TYPE_CHECKING, Any

from ... import futures
from ...by_value.watched import CHANGES
from ...futures import FINISHED, OVER, PENDING, SETTLING, Future
from ...process_context.interrupts import whole
from ...runs import note_failure
from ...serialization.exceptions import load_error
from ...serialization.payload import BUFFER_MIN
from . import changes, outcomes
from .callbacks import Callbacks
from .retrying import RetriedFuture
from .scheduler import BATCH, MESSAGE, Completion, Scheduler, with_gil
from .stream import Chunk

if TYPE_CHECKING:
    from .backend import ScheduledBackend

SLICE_MS = 50  # no sleep is longer: signals are looked at in between
SPIN_US = 20
_LATER = object()
ALONE = frozenset((bool, int, float, str, bytes))  # types of values that refer to nothing
CANCELLED, NONE, VALUE = with_gil.CSCHED_CANCELLED, with_gil.CSCHED_NONE, with_gil.CSCHED_VALUE


class Resolver:
    """The table of unfinished tasks and what happens when they end.

    ``table[slot]`` is the future or chunk of the task in that slot. Slots are taken before a task is submitted and
    given back after its completion was committed; an interrupt in between loses nothing, because what was not
    committed is seen again and what was settled is not settled twice.
    """

    def __init__(self, backend: ScheduledBackend, scheduler: Scheduler) -> None:
        self.backend = backend
        self.scheduler = scheduler
        self.table: list[Any] = []
        self.slots = array(
            "I"
        )  # no list: a million of its integers would hold on to memory that futures gave back
        self.stopped = False
        self._lock = threading.Lock()
        self._growing = threading.Lock()
        self._callbacks = Callbacks()
        self.call_back = self._callbacks.add  # have the done-callbacks of a future that was settled run
        self._thread = threading.Thread(target=self._background, name="cellmill-resolver", daemon=True)
        self._thread.start()

    def take_slot(self) -> int:
        """A free slot; the table doubles when there is none."""
        while True:
            try:
                return self.slots.pop()
            except IndexError:
                # torn in two by Stop, it would double again with each Stop that follows
                with whole(), self._growing:
                    if self.slots:
                        continue
                    size = len(self.table)
                    grown = max(4096, 2 * size)
                    with_gil.csched_reserve(self.scheduler.handle, grown)
                    self.table.extend([None] * (grown - size))
                    self.slots.extend(array("I", range(grown - 1, size - 1, -1)))

    # -- waiting

    def wait(self, future: Future, timeout: float | None) -> None:
        """Return when the future is over or ``timeout`` seconds are; this thread resolves meanwhile."""
        end = None if timeout is None else time.monotonic() + timeout
        spin = SPIN_US
        while future._state not in OVER:
            self.backend.check_process()
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

    def resolve(self) -> bool:
        """Settle everything that lies there; False when another thread does it right now."""
        if self._lock.locked():
            return False
        with whole(), self._lock:
            self._take_completions()
        return True

    def settle(self, seconds: float) -> None:
        """Settle what is over, and return when the callbacks of that have run, or the time is over."""
        self.resolve()
        self._callbacks.drain(seconds)

    def _background(self) -> None:
        """For futures that are not waited for in a way of ours: callbacks, `concurrent.futures.wait`, asyncio."""
        from .scheduler import nogil

        handle = self.scheduler.nogil_handle
        while not self.stopped:
            if nogil.csched_wait_background(handle, 200) > 0:
                try:
                    self.resolve()
                except Exception as error:
                    self.backend.report(error)

    # -- completions

    def _take_completions(self) -> None:
        scheduler, table = self.scheduler, self.table
        while True:
            n = scheduler.collect()
            # after that look: what these tasks printed, and the first results of chunks, come before their ends
            self._take_messages()
            if not n:
                return
            slots, statuses = scheduler.slots_and_statuses(n)
            values = self._small_values(n, slots, statuses)
            rest: list[int] = []
            # Futures without followers, with nothing or a small value, most of a flood of small tasks, are settled here
            # under one lock: storing their state is all there is to do (see `Future._finish`).
            with SETTLING:
                for place, slot in enumerate(slots):
                    entry, value = table[slot], values[place]
                    if (
                        value is not _LATER
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
            self.settled(slots)
            self.slots.frombytes(scheduler.slot_bytes(n))
            if n < BATCH:
                return

    def settled(self, slots: list[int]) -> None:
        """These tasks are over and committed; their slots are not free yet."""

    def _small_values(self, n: int, slots: list[int], statuses: list[int]) -> list[Any]:
        """What lone futures take from this batch; `_LATER` for everything that needs more care."""
        table = self.table
        if statuses.count(NONE) == n:
            return [None if type(table[slot]) is Future else _LATER for slot in slots]
        values: list[Any] = []
        addresses, sizes = self.scheduler.addresses_and_sizes(n)
        buffer, load = self.scheduler.buffer, pickle.loads
        for slot, status, address, size in zip(slots, statuses, addresses, sizes, strict=True):
            entry = table[slot]
            value: Any = _LATER
            if type(entry) is Future and entry._followers is None:
                if status == NONE:
                    value = None
                elif status == VALUE and size < BUFFER_MIN:
                    try:
                        value = load(buffer(address, size))
                    except BaseException:  # SystemExit too: it would be seen again for ever
                        value = _LATER  # `_settle` tells why
            values.append(value)
        return values

    def _settle(self, done: Completion) -> None:
        entry = self.table[done.slot]
        if isinstance(entry, Future):
            if done.status == CANCELLED:
                self.backend.cancellations.explain(entry, done.slot, done.run)
                called = entry.settle_cancelled()
            else:
                value, error = self._outcome(entry, done)
                if error is not None:
                    note_failure(done.run, self.backend, error)
                    came = done.status in (with_gil.CSCHED_LOST, with_gil.CSCHED_TIMEOUT) and done.size
                    arguments = self.scheduler.view(done.address, done.size) if came else None
                    self.backend.failures.of_task(entry, done.slot, done.status, error, arguments)
                called = entry.settle(value, error)
            if entry._inputs:
                entry._inputs = ()  # or the last of a chain would keep all results before it
            if called:
                self.call_back(entry)
        else:
            entry.complete(done.status, done.worker, done.detail, self._came(done), done.time_ns)
        self.table[done.slot] = None

    # -- what came: of workers that are processes, or places

    def _came(self, done: Completion) -> Any:
        """With the end of a chunk."""
        return self.scheduler.lasting_view(done.blob, done.address, done.size) if done.size else None

    def _came_early(self, slot: int, detail: int, blob: int, address: int, size: int) -> Any:
        """Of the first elements of a chunk that still runs; None: nothing."""
        return self.scheduler.lasting_view(blob, address, size)

    def _outcome(self, future: Future, done: Completion) -> tuple[Any, BaseException | None]:
        """Of a task that ended, or of its latest attempt."""
        scheduler, status, size = self.scheduler, done.status, done.size
        if type(future) is RetriedFuture and future.last is not None:
            return None, future.last
        if status == NONE:
            return None, None
        if status == VALUE:
            if size < BUFFER_MIN:  # it has no buffers in it: nothing refers to its memory after unpickling
                return outcomes.load_value(scheduler.buffer(done.address, size), pickle.loads)
            return outcomes.load_value(scheduler.lasting_view(done.blob, done.address, size), scheduler.load)
        if status == with_gil.CSCHED_ERROR:
            return None, load_error(scheduler.view(done.address, size))
        if status == with_gil.CSCHED_DEPENDENCY:
            before = future._inputs[done.detail] if done.detail < len(future._inputs) else None
            return None, outcomes.dependency_failed(before, done.detail)
        arguments = scheduler.view(done.address, size) if size else None
        return None, outcomes.cut_short(
            self.backend,
            status,
            done.worker,
            done.function,
            arguments,
            done.time_ns / 1e9,
            self.backend.failures.name_of(done.slot),
        )

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
                    self.backend.listener.end_of_task(worker, ticket, run)
                elif kind == with_gil.CSCHED_PARTIAL:
                    entry = self.table[slot]
                    if (
                        type(entry) is Chunk
                        and (came := self._came_early(slot, detail, blob, address, size)) is not None
                    ):
                        entry.partial(came)
                elif kind == with_gil.CSCHED_REPLY and detail == CHANGES:
                    named = self.backend.functions.by_name
                    changes.hear(bytes(scheduler.view(address, size)), named)
                elif kind == with_gil.CSCHED_REPLY:
                    self.backend.pool.reply(worker, detail, bytes(scheduler.view(address, size)))
                elif kind == with_gil.CSCHED_ATTEMPT:
                    failed = Completion(
                        slot, detail, worker, 0, 0, blob, address, size, limit_ns, function, run
                    )
                    self._again(ticket, failed)
                elif ticket:
                    self.backend.stopper.overdue(ticket, detail)
                else:  # its memory does not hold what it must
                    self.backend.pool.kill(worker)
            with_gil.csched_messages_commit(scheduler.handle, n)

    def _again(self, ticket: int, failed: Completion) -> None:
        """An attempt failed: whether there is another one."""
        entry = self.table[failed.slot]
        if type(entry) is RetriedFuture:
            _, error = self._outcome(entry, failed)
            assert error is not None
            entry.answer(self.scheduler.handle, ticket, failed.status, error)

    def stop(self) -> None:
        """No more background resolving; the thread is joined unless it is the caller."""
        self.stopped = True
        with_gil.csched_wake(self.scheduler.handle)
        if threading.current_thread() is not self._thread:
            self._thread.join(2)
        self._callbacks.stop()
