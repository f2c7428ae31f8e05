"""Many calls of one function, sent in chunks whose size is found by measuring: behind `map` and ``batch=True``.

Elements wait here, are cut into chunks as workers finish earlier ones, and come back to a `Receiver`, each with its
own value or error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import DependencyError, PayloadError, WorkerLostError
from ...functions import function_name
from ...futures import Future
from ...interrupts import whole
from ...raised import load_error
from ...runs import note_failure
from ...task import TaskOptions, short_repr
from . import outcomes
from .elements import Elements
from .salvage import mark_in, salvage
from .scheduler import NO_ELEMENT, Closed, held
from .sizes import BatchSizes, ChunkSizes, FixedSizes, Sizes

if TYPE_CHECKING:
    from .backend import LocalBackend

NOT_LOADED = 0  # failures that a worker reports of a chunk which it could not unpickle
AHEAD = 3  # chunks per worker that are sent: one runs, the next waits in its ring


class Receiver(Protocol):
    """Whom a stream's elements come back to."""

    def receive(self, keys: Sequence[Any], values: list[Any]) -> None:
        """Values of so many elements, in the order of their keys."""

    def receive_error(self, key: Any, error: BaseException) -> None:
        """One element failed or was cancelled."""


class Stream:
    """Elements of one function on their way to workers and back."""

    def __init__(
        self,
        backend: LocalBackend,
        function: Any,
        options: TaskOptions,
        run: int,
        receiver: Receiver,
        *,
        star: bool,
        chunksize: int | None = None,
    ) -> None:
        self.backend = backend
        self.function = function
        self.options = options
        self.run = run
        self.receiver = receiver
        self.star = star
        self.sizes: Sizes
        if chunksize is not None:
            self.sizes = FixedSizes(chunksize)
        elif options.timeout is not None or options.after:
            self.sizes = FixedSizes(1)  # a limit holds for one element
        else:
            workers = backend.max_workers
            self.sizes = BatchSizes(workers) if options.batch else ChunkSizes(workers, backend.crowding)
        self.expected: int | None = None  # elements still to be added, if known
        self.waiting = Elements()
        self.sent = 0  # chunks in flight
        self.unfinished = 0  # elements added and not delivered
        self.cancellations = 0
        self.when_done: Callable[[], None] | None = None  # called once nothing is unfinished
        self._failure: BaseException | None = None
        self._attempts: dict[Any, int] = {}
        self._lock = threading.RLock()

    def add(self, keys: Sequence[Any], items: list[Any]) -> None:
        """More elements; `send` gets them going."""
        with self._lock:
            self.unfinished += len(items)
            self.waiting.add(keys, items)
        self.backend.adjust_run(self.run, submitted=len(items))

    def send(self) -> None:
        """Cut and submit chunks as long as workers have use for them."""
        with self._lock:
            if self._failure is not None:
                self.fail(self._failure)
            most = AHEAD * self.backend.max_workers
            while self.waiting and self.sent < most:
                available = len(self.waiting)
                remaining = None if self.expected is None else available + self.expected
                self._submit(*self.waiting.take(self.sizes.next(available, remaining)))

    def _submit(
        self, keys: Sequence[Any], items: list[Any], attempt: int = 0, delay: float | None = None
    ) -> None:
        chunk = Chunk(self, keys, items, attempt, delay)
        body = {"items": items, "batch": self.options.batch, "star": self.star}
        try:
            self.backend.submit_chunk(self.function, body, chunk, self.options, self.run)
        except Closed:
            self.backend.adjust_run(self.run, cancelled=len(items))
            for key in keys:
                self._settle_error(key, outcomes.cancelled())
            raise
        except (DependencyError, PayloadError) as error:
            if len(items) == 1:
                self.backend.adjust_run(self.run, failed=1)
                self._settle_error(keys[0], error)
                return
            half = len(items) // 2
            self._submit(keys[:half], items[:half])
            self._submit(keys[half:], items[half:])
        else:
            with self._lock:
                self.sent += chunk.counted

    def cancel_all(self) -> int:
        """Drop what has not been sent and take back what has not begun; how many elements that is."""
        return self.cancel_waiting() + self.backend.cancel_sent(self.run)

    def cancel_waiting(self) -> int:
        """Drop what has not been sent, and send nothing again of what was; how many elements that is."""
        with whole():
            with self._lock:
                self.cancellations += 1
                dropped = self.waiting.clear()
            self.backend.adjust_run(self.run, cancelled=len(dropped))
            for key in dropped:
                self._settle_error(key, outcomes.cancelled())
        return len(dropped)

    def take_back(self, key: Any) -> bool:
        """Cancel one element that waits here still."""
        with whole(), self._lock:
            if not self.waiting.remove(key):
                return False
            self._over(1)
            self.backend.adjust_run(self.run, cancelled=1)
            return True

    def fail(self, error: BaseException) -> None:
        """The pool is broken: what waits fails, and so does what comes."""
        self._failure = error
        with self._lock:
            dropped = self.waiting.clear()
        self.backend.adjust_run(self.run, failed=len(dropped))
        for key in dropped:
            failure = WorkerLostError(f"the task did not run: {error}")
            failure.__cause__ = error
            self._settle_error(key, failure)

    # -- a home for the futures of a batch

    def wait(self, future: Future, timeout: float | None) -> None:
        """See `futures.Home`."""
        self.backend.resolver.wait(future, timeout)

    def cancel(self, future: Future) -> bool:
        """See `futures.Home`: an element that waits here still can be taken back."""
        return self.take_back(future)

    def stop(self, future: Future) -> bool | None:
        """See `futures.Home`: what was sent cannot be stopped without the others of its batch."""
        return None

    def is_running(self, future: Future) -> bool:
        """An element that was sent may run: nobody asks the worker."""
        with self._lock:
            return future not in self.waiting

    def is_stopping(self, future: Future) -> bool:
        """See `futures.Home`."""
        return False

    # -- from the resolver

    def settle(self, keys: Sequence[Any], values: list[Any]) -> None:
        """These elements have their values."""
        self.receiver.receive(keys, values)
        self._over(len(values))

    def _settle_error(self, key: Any, error: BaseException) -> None:
        note_failure(self.run, self.backend, error)
        self.receiver.receive_error(key, error)
        self._over(1)

    def _over(self, count: int) -> None:
        with self._lock:
            self.unfinished -= count
            done = self.when_done if not self.unfinished else None
        if done is not None:
            done()

    def fail_or_retry(self, key: Any, item: Any, error: BaseException) -> bool:
        """Deliver the error, or send the element again, alone; True when it is over."""
        if self.options.retries and not isinstance(error, (CancelledError, DependencyError, PayloadError)):
            attempt = self._attempts.get(key, 0)
            delay = self.options.retry.delay(attempt, error)
            if delay is not None:
                self._attempts[key] = attempt + 1
                self._submit([key], [item], attempt + 1, delay)
                return False
            self._attempts.pop(key, None)
        self._settle_error(key, error)
        return True


class Chunk:
    """Some elements of a stream as one task of the scheduler."""

    __slots__ = (
        "_cancellations",
        "attempt",
        "counted",
        "delay",
        "items",
        "keys",
        "over",
        "received",
        "stream",
    )

    def __init__(
        self, stream: Stream, keys: Sequence[Any], items: list[Any], attempt: int, delay: float | None
    ) -> None:
        self.stream = stream
        self.attempt = attempt  # how often it was tried before
        self.delay = delay or 0.0  # seconds until it may start
        self.counted = (
            delay is None
        )  # among the chunks in flight: what waits to be tried again holds back no other
        self._cancellations = stream.cancellations
        self.keys = keys
        self.items = items
        self.received = 0  # elements whose outcome has come
        self.over = False

    @property
    def cancelled(self) -> bool:
        """It was sent before its stream was cancelled: what has not begun will not."""
        return self._cancellations != self.stream.cancellations

    def partial(self, view: memoryview) -> None:
        """Outcomes of the next elements, from a worker that is still at it."""
        self._take(*self._outcomes(view))

    def _outcomes(self, view: memoryview) -> tuple[int, Any, dict[int, Any]]:
        """What a worker sent: (first element, values, errors). A result that does not unpickle fails alone."""
        taken, error = outcomes.load_value(view)
        if error is None:
            first, values, errors = taken
            return first, values, errors
        try:
            first, values, errors = salvage(view)
            values = list(values)
        except Exception:  # not even its outline
            count = len(self.items) - self.received
            return self.received, [None] * count, dict.fromkeys(range(self.received, len(self.items)), error)
        marks = [(first + i, mark) for i, mark in enumerate(map(mark_in, values)) if mark is not None]
        self.stream.backend.adjust_run(self.stream.run, succeeded=-len(marks), failed=len(marks))
        return first, values, errors | {i: outcomes.not_loaded(mark.problem) for i, mark in marks}

    def _take(self, first: int, values: Any, errors: dict[int, Any]) -> None:
        """Deliver outcomes from element ``first`` on; those that were taken before an interrupt are passed over."""
        stream = self.stream
        values = values if type(values) is list else list(values)  # a batch function may return an array
        end = first + len(values)
        retried = stopped = 0  # counted as failed by the scheduler
        for stop in [*sorted(i for i in errors if i >= self.received), end]:
            if self.received < stop:
                here, self.received = self.received, stop
                stream.settle(self.keys[here:stop], values[here - first : stop - first])
            if stop < end:
                self.received = stop + 1
                error = errors[stop]
                if isinstance(error, bytes):
                    error = load_error(error)
                if self.cancelled and isinstance(error, KeyboardInterrupt):
                    error = outcomes.cancelled()
                    stopped += 1
                retried += not self._fail(stop, error)
        if retried or stopped:
            stream.backend.adjust_run(stream.run, failed=-retried - stopped, cancelled=stopped)

    def _fail(self, place: int, error: BaseException) -> bool:
        """Deliver an error, or try the element again; True when it is over."""
        if self.cancelled:
            self.stream._settle_error(self.keys[place], error)
            return True
        return self.stream.fail_or_retry(self.keys[place], self.items[place], error)

    def complete(self, status: int, worker: int, detail: int, view: memoryview | None, run_ns: int) -> None:
        """The chunk is over; called by the resolver, again if an interrupt came in between."""
        stream = self.stream
        if not self.over:
            if status == held.CSCHED_VALUE and view is not None:
                error = None
                self._take(*self._outcomes(view))
                stream.sizes.observe(len(self.items), run_ns)
            elif status == held.CSCHED_LOST:
                error = None
                self._lost(worker, detail)
            elif status == held.CSCHED_DEPENDENCY or self._not_loaded(status, detail):
                error = None
                self._not_run()
            else:
                error = outcomes.error_of(
                    status, view, function_name(stream.function), stream.options.timeout
                )
            if error is not None:
                self._fail_rest(status, error)
            self.over = True
            with stream._lock:
                stream.sent -= self.counted
        stream.send()

    def _not_loaded(self, status: int, detail: int) -> bool:
        """Whether the worker could not unpickle the elements, and ran none."""
        return bool(status == held.CSCHED_ERROR and detail == NOT_LOADED and len(self.items) > 1)

    def _fail_rest(self, status: int, error: BaseException) -> None:
        """What has no outcome yet ends so; the scheduler counted the whole chunk."""
        good, retried = self.received, 0
        while self.received < len(self.items):
            retried += not self._fail(self.received, error)
            self.received += 1
        stream = self.stream
        if status == held.CSCHED_CANCELLED:
            stream.backend.adjust_run(stream.run, succeeded=good, cancelled=-good)
        elif status != held.CSCHED_VALUE:
            stream.backend.adjust_run(stream.run, succeeded=good, failed=-good - retried)

    def _not_run(self) -> None:
        """An input failed, or does not load: sent again in parts, until the element with it stands alone."""
        self.stream.backend.adjust_run(self.stream.run, failed=-len(self.items))
        self._send_halves()

    def _send_halves(self) -> None:
        """What has no outcome yet, in two chunks."""
        stream, first, end = self.stream, self.received, len(self.items)
        self.received = end
        if self.cancelled:
            self._cancel_rest(self.keys[first:end])
            return
        middle = (first + end) // 2
        for part in (slice(first, middle), slice(middle, end)):
            if self.items[part]:
                stream._submit(self.keys[part], self.items[part])

    def _lost(self, worker: int, element: int) -> None:
        """The worker died: what it had sent stands, the element it ran fails, the rest goes elsewhere.

        Between elements, while all of them are packed or unpacked, and in a batch nobody knows which it was: halves are
        sent, until the culprit stands alone.
        """
        stream, good = self.stream, self.received
        over = False
        left = len(self.items) - good
        if left > 1 and (stream.options.batch or element == NO_ELEMENT):
            self._send_halves()
        elif left:
            keys, items = list(self.keys[good:]), self.items[good:]
            culprit = min(max(element - good, 0), left - 1)
            key, item = keys.pop(culprit), items.pop(culprit)
            error = outcomes.lost(
                stream.backend.pool.exits.get(worker), function_name(stream.function), short_repr(item)
            )
            if self.cancelled:
                over = True
                stream._settle_error(key, error)
                self._cancel_rest(keys)
            else:
                over = stream.fail_or_retry(key, item, error)
                with stream._lock:
                    stream.waiting.put_back(keys, items)
        self.received = len(self.items)
        # the scheduler counted the whole chunk as failed
        stream.backend.adjust_run(stream.run, succeeded=good, failed=over - len(self.items))

    def _cancel_rest(self, keys: Sequence[Any]) -> None:
        """Elements that were to be sent again, and are not."""
        stream = self.stream
        stream.backend.adjust_run(stream.run, cancelled=len(keys))
        for key in keys:
            stream._settle_error(key, outcomes.cancelled())
