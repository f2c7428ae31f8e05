"""Many calls of one function, sent in chunks whose size is found by measuring: behind `map` and ``batch=True``.

Elements wait here, are cut into chunks as workers finish earlier ones, and come back one by one, each with its own
value or error, to ``deliver(key, value, error)``.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any, Protocol

from ... import payload
from ...errors import DependencyError, PayloadError, WorkerLostError
from ...functions import function_name
from ...futures import Future
from ...interrupts import whole
from ...task import TaskOptions, short_repr
from . import outcomes
from .scheduler import held
from .sizes import BatchSizes, ChunkSizes

if TYPE_CHECKING:
    from .backend import LocalBackend

AHEAD = 3  # chunks per worker that are sent: one runs, the next waits in its ring


class Sizes(Protocol):
    """Chooses chunk sizes; see `sizes`."""

    def observe(self, count: int, run_ns: int) -> None: ...

    def next(self, available: int, remaining: int | None) -> int: ...


class FixedSizes:
    """What ``chunksize=`` asks for."""

    def __init__(self, size: int) -> None:
        self._size = size

    def observe(self, count: int, run_ns: int) -> None:
        pass

    def next(self, available: int, remaining: int | None) -> int:
        return min(self._size, available)


class Stream:
    """Elements of one function on their way to workers and back."""

    def __init__(
        self,
        backend: LocalBackend,
        function: Any,
        options: TaskOptions,
        run: int,
        deliver: Callable[[Any, Any, BaseException | None], None],
        *,
        star: bool,
        chunksize: int | None = None,
    ) -> None:
        self.backend = backend
        self.function = function
        self.options = options
        self.run = run
        self.deliver = deliver
        self.star = star
        self.sizes: Sizes
        if chunksize is not None:
            self.sizes = FixedSizes(chunksize)
        elif options.timeout is not None or options.after:
            self.sizes = FixedSizes(1)  # a limit holds for one element
        else:
            self.sizes = BatchSizes(backend.max_workers) if options.batch else ChunkSizes(backend.max_workers)
        self.expected: int | None = None  # elements still to be added, if known
        self.waiting: deque[tuple[Any, Any]] = deque()  # (key, item)
        self.sent = 0  # chunks in flight
        self.unfinished = 0  # elements added and not delivered
        self.when_done: Callable[[], None] | None = None  # called once nothing is unfinished
        self._failure: BaseException | None = None
        self._attempts: dict[Any, int] = {}
        self._lock = threading.RLock()

    def add(self, elements: list[tuple[Any, Any]]) -> None:
        """More elements, as (key, item); `send` gets them going."""
        with self._lock:
            self.unfinished += len(elements)
        self.waiting.extend(elements)
        self.backend.adjust_run(self.run, submitted=len(elements))

    def send(self) -> None:
        """Cut and submit chunks as long as workers have use for them."""
        with self._lock:
            if self._failure is not None:
                self.fail(self._failure)
            most = AHEAD * self.backend.max_workers
            while self.waiting and self.sent < most:
                available = len(self.waiting)
                remaining = None if self.expected is None else available + self.expected
                count = self.sizes.next(available, remaining)
                self._submit([self.waiting.popleft() for _ in range(count)])

    def _submit(self, elements: list[tuple[Any, Any]]) -> None:
        chunk = Chunk(self, elements)
        body = {"items": [item for _, item in elements], "batch": self.options.batch, "star": self.star}
        try:
            self.backend.submit_chunk(self.function, body, chunk, self.options, self.run)
        except (DependencyError, PayloadError) as error:
            if len(elements) == 1:
                self.backend.adjust_run(self.run, failed=1)
                self._settle(elements[0][0], None, error)
                return
            half = len(elements) // 2
            self._submit(elements[:half])
            self._submit(elements[half:])
        else:
            self.sent += 1

    def cancel_all(self) -> int:
        """Drop what has not been sent and take back what has not begun; how many elements that is."""
        with whole():
            with self._lock:
                dropped = list(self.waiting)
                self.waiting.clear()
            self.backend.adjust_run(self.run, cancelled=len(dropped))
            for key, _ in dropped:
                self._settle(key, None, outcomes.cancelled())
        return len(dropped) + self.backend.cancel_sent(self.run)

    def take_back(self, key: Any) -> bool:
        """Cancel one element that waits here still."""
        with whole(), self._lock:
            for i, (waiting, _) in enumerate(self.waiting):
                if waiting is key:
                    del self.waiting[i]
                    self._over(1)
                    self.backend.adjust_run(self.run, cancelled=1)
                    return True
        return False

    def fail(self, error: BaseException) -> None:
        """The pool is broken: what waits fails, and so does what comes."""
        self._failure = error
        dropped = list(self.waiting)
        self.waiting.clear()
        self.backend.adjust_run(self.run, failed=len(dropped))
        for key, _ in dropped:
            failure = WorkerLostError(f"the task did not run: {error}")
            failure.__cause__ = error
            self._settle(key, None, failure)

    # -- a home for the futures of a batch

    def wait(self, future: Future, timeout: float | None) -> None:
        """See `futures.Home`."""
        self.backend.resolver.wait(future, timeout)

    def cancel(self, future: Future) -> bool:
        """See `futures.Home`: an element that waits here still can be taken back."""
        return self.take_back(future)

    def is_running(self, future: Future) -> bool:
        """An element that was sent may run: nobody asks the worker."""
        return all(key is not future for key, _ in list(self.waiting))

    # -- from the resolver

    def _settle(self, key: Any, value: Any, error: BaseException | None) -> None:
        self.deliver(key, value, error)
        self._over(1)

    def _over(self, count: int) -> None:
        with self._lock:
            self.unfinished -= count
            done = self.when_done if not self.unfinished else None
        if done is not None:
            done()

    def settle_or_retry(self, element: tuple[Any, Any], value: Any, error: BaseException | None) -> bool:
        """Deliver, or keep for another attempt; True when it is over."""
        key = element[0]
        if (
            error is not None
            and self.options.retries
            and not isinstance(error, (CancelledError, DependencyError, PayloadError))
        ):
            attempts = self._attempts.get(key, 0)
            if attempts < self.options.retries:
                self._attempts[key] = attempts + 1
                self.waiting.appendleft(element)
                return False
        self._settle(key, value, error)
        return True


class Chunk:
    """Some elements of a stream as one task of the scheduler."""

    __slots__ = ("elements", "over", "received", "stream")

    def __init__(self, stream: Stream, elements: list[tuple[Any, Any]]) -> None:
        self.stream = stream
        self.elements = elements
        self.received = 0  # elements whose outcome has come
        self.over = False

    def partial(self, view: memoryview) -> None:
        """Outcomes of the next elements, from a worker that is still at it."""
        self._take(*payload.decode(view))

    def _take(self, first: int, values: Any, errors: dict[int, bytes]) -> None:
        """Deliver outcomes from element ``first`` on; those that were taken before an interrupt are passed over."""
        stream = self.stream
        if not errors and self.received == first and not stream._attempts:
            for (key, _), value in zip(
                self.elements[first:] if first else self.elements, values, strict=False
            ):
                stream.deliver(key, value, None)
            self.received = first + len(values)
            stream._over(len(values))
            return
        retried = 0  # counted as failed by the scheduler, and not over
        for i in range(max(self.received, first), first + len(values)):
            encoded = errors.get(i)
            error = None if encoded is None else outcomes.load_error(encoded)
            retried += not stream.settle_or_retry(self.elements[i], values[i - first], error)
            self.received = i + 1
        if retried:
            stream.backend.adjust_run(stream.run, failed=-retried)

    def complete(self, status: int, detail: int, view: memoryview | None, run_ns: int) -> None:
        """The chunk is over; called by the resolver, again if an interrupt came in between."""
        stream = self.stream
        if not self.over:
            if status == held.CSCHED_VALUE and view is not None:
                taken, error = outcomes.load_value(view)
                if error is None:
                    self._take(*taken)
                    stream.sizes.observe(len(self.elements), run_ns)
            elif status == held.CSCHED_LOST:
                error = None
                self._lost(detail)
            elif status == held.CSCHED_DEPENDENCY:
                error = None
                self._not_run()
            else:
                error = outcomes.error_of(
                    status, view, function_name(stream.function), stream.options.timeout
                )
            while error is not None and self.received < len(self.elements):
                stream.settle_or_retry(self.elements[self.received], None, error)
                self.received += 1
            self.over = True
            with stream._lock:
                stream.sent -= 1
        stream.send()

    def _not_run(self) -> None:
        """An input failed: sent again in parts, until the element that refers to it stands alone."""
        stream, elements = self.stream, self.elements
        self.received = len(elements)
        stream.backend.adjust_run(stream.run, failed=-len(elements))
        half = len(elements) // 2
        for part in (elements[:half], elements[half:]):
            if part:
                stream._submit(part)

    def _lost(self, element: int) -> None:
        """The worker died: what it had sent stands, the element it ran fails, the rest goes elsewhere."""
        stream = self.stream
        good, rest = self.received, self.elements[self.received :]
        again = rest
        over = False
        if not stream.options.batch or len(rest) == 1:
            culprit = min(max(element - good, 0), len(rest) - 1)
            error = outcomes.lost(
                stream.backend.pool.last_exit, function_name(stream.function), short_repr(rest[culprit][1])
            )
            again = rest[:culprit] + rest[culprit + 1 :]
            over = stream.settle_or_retry(rest[culprit], None, error)
        else:  # nobody knows which element it was: halves, until the culprit stands alone
            stream.sizes = FixedSizes(max(1, len(rest) // 2))
        stream.waiting.extendleft(reversed(again))
        self.received = len(self.elements)
        # the scheduler counted the whole chunk as failed
        stream.backend.adjust_run(stream.run, succeeded=good, failed=over - len(self.elements))
