"""Many calls of one function, sent in chunks whose size is found by measuring: behind `map` and ``batch=True``.

Elements wait here, are cut into chunks as workers finish earlier ones, and come back to a `Receiver`, each with its
own value or error.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from typing import Any

from ...diagnostics.blame import OUTSIDE, who
from ...errors import DependencyError, PayloadError, UsageError
from ...futures import Future
from ...process_context.interrupts import uninterrupted
from ...randomness.streams import Root
from ...run_registry import Run, find, note_failure
from ...serialization.function_code import function_name
from ...task import NO_RUN, TaskOptions
from . import outcomes, state_map
from .call_encoding import AwaitedInput
from .chunks import FAILED, Chunk
from .element_names import cancelled_text, name_failed
from .elements import Dropped, Elements
from .parked import Parked, ParkedElement
from .protocols import Receiver, StreamHost
from .scheduler import Closed, with_gil
from .sizes import BatchSizes, ChunkSizes, FixedSizes, Sizes

__all__ = ["Chunk", "Stream"]

MOST_DROPPED = 1024


class CancelledItem:
    """Error text of a cancelled item of a batch. ``by``: what cancelled it alone."""

    def __init__(self, stream: Stream, key: Any, error: CancelledError, by: str = "") -> None:
        run = None if by else find(stream.run, stream.host)
        self._parts = stream, key, error, run, by

    def __str__(self) -> str:
        stream, key, error, run, by = self._parts
        return str(stream.explain(error, key, None, run, by))


class Stream:
    """Elements of one function on their way to workers and back."""

    def __init__(
        self,
        host: StreamHost,
        function: Any,
        options: TaskOptions,
        run: int,
        receiver: Receiver,
        *,
        star: bool,
        chunksize: int | None = None,
    ) -> None:
        self.host = host
        self.function = function
        self.number, generators, self.captured = host.functions.pin(function)  # 0: it goes with each chunk
        weakref.finalize(self, host.functions.unpin, self.number).atexit = False
        self._renewed: list[int] = []  # keys from which on elements see another state of the function...
        self._numbers = [self.number]  # ...and its number before the first of them, and from each on
        self._generators = [generators]  # the same of the generators of random numbers that it refers to
        self.roots: dict[int, Root] = {}  # of what elements draw from, by their place among these
        self.options = options
        self.run = run
        self.receiver = receiver
        self.settings = host.map_settings()
        self.star = star
        self.sizes: Sizes
        alone = options.timeout is not None and not host.limits_elements
        if chunksize is not None and not alone:
            self.sizes = FixedSizes(chunksize)
        elif alone or options.after or (options.timeout is not None and options.batch):
            self.sizes = FixedSizes(1)  # a limit holds for one element
        else:
            workers = host.max_workers
            expected = host.paces.of(function)
            self.sizes = (
                BatchSizes(workers) if options.batch else ChunkSizes(workers, host.crowding, expected)
            )
        self.expected: int | None = None  # elements still to be added, if known
        self.waiting = Elements()
        self._packing = 0  # nanoseconds that it took to pack what waits
        self.parked = Parked(self._go_on)
        self.sent = 0  # chunks in flight
        self.unfinished = 0  # elements added and not delivered
        self.cancellations = 0
        self.cancelled_by = ""
        self.dropped: dict[
            Any, Any
        ] = {}  # the first of those that were cancelled before they were sent, by key
        self.when_done: Callable[[], None] | None = None  # called once nothing is unfinished
        self.when_low: Callable[[], None] | None = None  # called when workers have use for more elements
        self.observe: Callable[[int, int], None] | None = None  # hears how long so many elements took
        self._failure: BaseException | None = None
        self._attempts: dict[Any, int] = {}
        self._lock = threading.RLock()

    def add(self, keys: Sequence[Any], items: list[Any], packing: int = 0) -> None:
        """More elements; `send` gets them going. ``packing``: nanoseconds that it took to pack them."""
        with self._lock:
            # counted first: once they are here, another thread may send them
            self.host.scheduler.adjust_run(self.run, submitted=len(items))
            self._packing += packing
            self.unfinished += len(items)
            self.waiting.add(keys, items)

    def send(self) -> None:
        """Cut and submit chunks as long as workers have use for them. Raises `Closed`: all that waited is cancelled."""
        with self._lock:
            if self._failure is not None:
                self.fail(self._failure)
            most = self.host.ahead * self.host.max_workers
            while self.waiting and self.sent < most:
                available = len(self.waiting)
                remaining = None if self.expected is None else available + self.expected
                size = self.sizes.next(available, remaining)
                if self._renewed:
                    size = min(size, self._same_state(self.waiting.first_key()))
                keys, items, position = self.waiting.take(size)
                packing = self._packing * len(items) // available
                self._packing -= packing
                try:
                    self._submit(keys, items, position=position, packing=packing)
                except Closed:  # nothing will be sent any more: what is left ends as well
                    self.cancelled_by = self.cancelled_by or "the end of its executor"
                    self.cancel_waiting()
                    raise
        if self.when_low is not None and self.sent < most:
            self.when_low()

    def send_again(self, keys: Sequence[Any], items: list[Any], position: int) -> None:
        """Send a chunk with elements that were sent before, and are at this position of the state map."""
        self._submit(keys, items, position=position)

    def put_back(self, spans: Sequence[tuple[Sequence[Any], list[Any], int]]) -> None:
        """These elements come next, the last span first; they were sent before."""
        with self._lock:
            for keys, items, position in spans:
                self.waiting.put_back(keys, items, position)

    def ended(self, counted: bool) -> None:
        """A chunk is over; ``counted``: it was among those in flight."""
        with self._lock:
            self.sent -= counted

    def renew(self, key: int) -> int:
        """Use the function's present state from this element of a map on; return its number."""
        number, generators, self.captured = self.host.functions.pin(self.function)
        weakref.finalize(self, self.host.functions.unpin, number).atexit = False
        with self._lock:
            self._renewed.append(key)
            self._numbers.append(number)
            self._generators.append(generators)
        return number

    def number_for(self, keys: Sequence[Any]) -> int:
        """The function's number for a chunk with these elements."""
        return self._numbers[bisect_right(self._renewed, keys[0])] if self._renewed else self.number

    def generators_for(self, keys: Sequence[Any]) -> tuple[int, Sequence[Any]]:
        """Return the generators for a chunk with these elements, and the function's first state with the same ones."""
        place = bisect_right(self._renewed, keys[0]) if self._renewed else 0
        found = self._generators[place]
        while place and list(map(id, self._generators[place - 1])) == list(map(id, found)):
            place -= 1
        return place, found

    def _same_state(self, key: int) -> int:
        """Return how many elements from this one on see the same state of the function."""
        place = bisect_right(self._renewed, key)
        return self._renewed[place] - key if place < len(self._renewed) else 1 << 62

    def _submit(
        self,
        keys: Sequence[Any],
        items: list[Any],
        attempt: int = 0,
        delay: float | None = None,
        position: int | None = None,
        packing: int = 0,
    ) -> None:
        """Submit one chunk. ``position``: in the state map, of elements that were submitted before; ``packing``:
        nanoseconds that it took to pack the elements.
        """
        chunk = Chunk(self, keys, items, attempt, delay, position, packing)
        body = {"items": items, "batch": self.options.batch, "star": self.star}
        if self.options.timeout is not None:
            body["limited"] = True
        try:
            self.host.submit_chunk(self.function, body, chunk, self.options, self.run)
        except Closed:
            self.host.scheduler.adjust_run(self.run, cancelled=len(items))
            self.host.states.put(position, len(items), state_map.CANCELLED, self.run)
            for key, item in zip(keys, items, strict=True):
                self.settle_error(key, outcomes.cancelled(item))
            raise
        except (AwaitedInput, DependencyError, PayloadError, UsageError) as error:
            if len(items) == 1 and isinstance(error, AwaitedInput):
                self.parked.add(keys[0], ParkedElement(error.future, items[0], attempt, delay, position))
                return
            if len(items) == 1:
                self._refuse(keys[0], items[0], position, error)
                return
            half = len(items) // 2
            self._submit(keys[:half], items[:half], position=position)
            self._submit(keys[half:], items[half:], position=None if position is None else position + half)
        else:
            with self._lock:
                self.sent += chunk.counted

    def _go_on(self, key: Any) -> None:
        """Send an element that was parked, unless it was cancelled meanwhile."""
        with contextlib.suppress(Closed), uninterrupted(), self._lock:  # closed: it is cancelled
            element = self.parked.take(key)
            if element is None:
                return
            _, item, attempt, delay, position = element
            if self._failure is not None:
                self._refuse(key, item, position, outcomes.not_run(self._failure))
                return
            try:
                self._submit([key], [item], attempt, delay, position)
            except (OSError, MemoryError) as error:
                self._refuse(key, item, position, error)

    def _refuse(self, key: Any, item: Any, position: int | None, error: BaseException) -> None:
        """This element cannot be sent."""
        self.host.scheduler.adjust_run(self.run, failed=1)
        self.host.failures.of_refused(self.run, function_name(self.function), error)
        self.host.states.put(position, 1, state_map.FAILED, self.run)
        self.name(key, item, error)
        self.settle_error(key, error)

    def cancel_all(self) -> int:
        """Drop what has not been sent and take back what has not begun; how many elements that is."""
        return self.cancel_waiting() + self.host.cancel_sent(self.run)

    def cancel_waiting(self) -> int:
        """Drop what has not been sent, and send nothing again of what was; how many elements that is."""
        with uninterrupted():
            return self.tell_cancelled(self.drop_waiting())

    def drop_waiting(self) -> list[Dropped]:
        """The first half of `cancel_waiting`, which is quick; `tell_cancelled` must follow with what it returns."""
        with self._lock:
            self.cancellations += 1
            self.cancelled_by = self.cancelled_by or who("cancel() of its run")
            return self._drop_waiting(state_map.CANCELLED)

    def tell_cancelled(self, dropped: list[Dropped]) -> int:
        """Notify the waiters of these elements; return the number of elements."""
        count = sum(len(span.keys) for span in dropped)
        self.host.scheduler.adjust_run(self.run, cancelled=count)
        try:
            if count:
                self._over(count)
        finally:
            for span in dropped:
                self.receiver.receive_cancelled(span.keys)
        for span in dropped:  # the waiters come first
            span.let_go()
        return count

    def _drop_waiting(self, state: int) -> list[Dropped]:
        """What waited here, which ends in this state of the map."""
        dropped = self.waiting.clear()
        for key, element in self.parked.clear().items():
            dropped.append(Dropped([key], [element.item], 0, element.position))
        for keys, items, gone, position in dropped:
            self.host.states.put(position, len(keys), state, self.run)
            if type(keys) is not range:
                self.dropped.update(zip(keys, items[gone:], strict=True))
            elif len(self.dropped) < MOST_DROPPED:
                self.dropped[keys[0]] = items[gone]
        return dropped

    def take_back(self, key: Any) -> bool:
        """Cancel one element that waits here still."""
        with uninterrupted(), self._lock:
            parked = self.parked.take(key) if key in self.parked else None
            removed = self.waiting.remove(key) if parked is None else ([key], [parked.item], parked.position)
            if removed is None:
                return False
            self._over(1)
            self.dropped[key] = removed[1][0]
            self.host.states.put(removed[2], 1, state_map.CANCELLED, self.run)
            self.host.scheduler.adjust_run(self.run, cancelled=1)
            return True

    def fail(self, error: BaseException) -> None:
        """The pool is broken: what waits fails, and so does what comes."""
        self._failure = error
        with self._lock:
            dropped = [key for span in self._drop_waiting(state_map.FAILED) for key in span.keys]
        self.host.scheduler.adjust_run(self.run, failed=len(dropped))
        for key in dropped:
            self.settle_error(key, outcomes.not_run(error))

    @property
    def broken(self) -> BaseException | None:
        """Why the pool is broken, unless what waits was cancelled before that."""
        return None if self.cancelled_by else self._failure

    # -- a owner for the futures of a batch

    def wait(self, future: Future, timeout: float | None) -> None:
        """See `futures.FutureOwner`."""
        self.host.wait(future, timeout)

    def cancel(self, future: Future) -> bool:
        """See `futures.FutureOwner`: an element that waits here still can be taken back."""
        self.dropped.pop(future, None)
        if not self.take_back(future):
            return False
        future._cancelled = CancelledItem(self, future, CancelledError(), who("cancel() of its future"))
        return True

    def stop(self, future: Future) -> bool | None:
        """See `futures.FutureOwner`: what was sent cannot be stopped without the others of its batch."""
        return None

    def is_running(self, future: Future) -> bool:
        """An element that was sent may run: the worker is not asked."""
        with self._lock:
            return future not in self.waiting and future not in self.parked

    def is_stopping(self, future: Future) -> bool:
        """See `futures.FutureOwner`."""
        return False

    def call_text(self, future: Future) -> str:
        """See `futures.FutureOwner`: of the items of a batch nothing is at hand."""
        return f"{function_name(self.function)}(…)"

    # -- from the resolver

    def ran(self, count: int, run_ns: int) -> None:
        """A chunk of so many elements ran for ``run_ns``."""
        self.sizes.observe(count, run_ns)
        self.host.paces.note(self.function, run_ns / count)
        if self.observe is not None:
            self.observe(count, run_ns)

    def settle(self, keys: Sequence[Any], values: list[Any], size: int) -> None:
        """These elements have their values, which hold so many bytes."""
        try:
            self._over(len(keys))
        finally:
            self.receiver.receive(
                keys, values, size
            )  # another thread may take values out of the list from here on

    def settle_error(self, key: Any, error: BaseException) -> None:
        """This element has failed for good, or was cancelled."""
        note_failure(self.run, self.host, error)
        try:
            self._over(1)
        finally:
            self.receiver.receive_error(key, error)

    def _over(self, count: int) -> None:
        """Called before their reader has them: where the last result of a map has been read, its run has ended."""
        with self._lock:
            self.unfinished -= count
            done = self.when_done if not self.unfinished else None
        if done is not None:
            done()

    def fail_or_retry(
        self, key: Any, item: Any, error: BaseException, position: int, counts: Mapping[str, int] = FAILED
    ) -> bool:
        """Deliver the error, or send the element again, alone; True when it is over.

        ``position``: its own in the state map; ``counts``: what it counts as where it is over.
        """
        final = (CancelledError, DependencyError, PayloadError)
        if self.options.retries and self._failure is None and not issubclass(type(error), final):
            attempt = self._attempts.get(key, 0)
            delay = self.options.retry.delay(attempt, error)
            if delay is not None:
                self._attempts[key] = attempt + 1
                self._submit([key], [item], attempt + 1, delay, position)
                return False
            self._attempts.pop(key, None)
        self.fail_element(key, item, error, counts)
        return True

    def fail_element(
        self, key: Any, item: Any, error: BaseException, counts: Mapping[str, int] = FAILED
    ) -> None:
        """Deliver the error of an element that is over; counted before its reader, and the end of the run, look."""
        self.host.scheduler.adjust_run(self.run, **counts)
        self.name(key, item, error)
        self.settle_error(key, error)

    def explain(
        self, error: CancelledError, key: Any, total: int | None, run: Run | None, by: str = ""
    ) -> CancelledError:
        """Say in the error of a cancelled element what it was, by whom it was cancelled, and how much was done."""
        if error.args:
            return error
        item = error.__dict__.pop(outcomes.ITEM, None)
        if item is None:
            item = self.dropped.pop(key, None)
        by = by or self.cancelled_by or self._cancelled_outside() or "cancel() of its task"
        error.args = (cancelled_text(self.function, key, item, by, run, total, star=self.star),)
        return error

    def _cancelled_outside(self) -> str:
        """By another process, whose word the scheduler has heeded, and this process has not yet."""
        if self.run == NO_RUN or self.host.gate.foreign:
            return ""
        return OUTSIDE if with_gil.csched_cancelled_by_command(self.host.scheduler.handle, self.run) else ""

    def name(self, key: Any, item: Any, error: BaseException) -> None:
        """Note on its error which element failed."""
        name_failed(error, self.function, key, item, star=self.star)
