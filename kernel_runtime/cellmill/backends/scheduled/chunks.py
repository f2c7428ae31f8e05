"""A chunk in the kernel: some elements of a stream as one task, and what becomes of each of them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import Any, Protocol

from ...diagnostics.short_text import element_text, short_repr
from ...errors import DependencyError, TaskTimeoutError, is_a
from ...futures import Future
from ...process_context.settings import Settings
from ...randomness.streams import Root
from ...serialization.exceptions import load_error, number_raised
from ...serialization.function_code import function_name
from ...task import TaskOptions
from . import chunk_rows as rows
from . import outcomes, state_map
from .protocols import StreamHost
from .salvage import mark_in, salvage
from .scheduler import NO_ELEMENT, Closed, with_gil

# Outcomes, packed or as they are; or why there are none.
Came = memoryview | tuple[int, Any, dict[int, Any]] | BaseException
FEW = 64  # values that are looked at one by one
_SMALL = frozenset((type(None), bool, int, float))
FAILED: Mapping[str, int] = {"failed": 1}
"""What an element that is over counts as: the scheduler counts those of chunks that went well, or were cancelled."""
LOST: Mapping[str, int] = {"failed": 1, "lost": 1}
CANCELLED: Mapping[str, int] = {"cancelled": 1}
NOT_LOADED = 0  # failures that a worker reports of a chunk which it could not unpickle


class ChunkSource(Protocol):
    """The stream that a chunk's elements come from and go back to."""

    host: StreamHost
    function: Any
    options: TaskOptions
    run: int
    star: bool
    settings: Settings | None
    cancellations: int
    roots: dict[int, Root]

    @property
    def broken(self) -> BaseException | None: ...

    def number_for(self, keys: Sequence[Any]) -> int: ...

    def generators_for(self, keys: Sequence[Any]) -> tuple[int, Sequence[Any]]: ...

    def settle(self, keys: Sequence[Any], values: list[Any], size: int) -> None: ...

    def settle_error(self, key: Any, error: BaseException) -> None: ...

    def fail_or_retry(
        self, key: Any, item: Any, error: BaseException, position: int, counts: Mapping[str, int] = FAILED
    ) -> bool: ...

    def fail_element(
        self, key: Any, item: Any, error: BaseException, counts: Mapping[str, int] = FAILED
    ) -> None: ...

    def name(self, key: Any, item: Any, error: BaseException) -> None: ...

    def send_again(self, keys: Sequence[Any], items: list[Any], position: int) -> None: ...

    def put_back(self, spans: Sequence[tuple[Sequence[Any], list[Any], int]]) -> None: ...

    def ran(self, count: int, run_ns: int) -> None: ...

    def ended(self, counted: bool) -> None: ...

    def send(self) -> None: ...


class Chunk:
    """Some elements of a stream as one task of the scheduler."""

    __slots__ = (
        "_cancellations",
        "adjusted",
        "attempt",
        "counted",
        "culprit",
        "delay",
        "held",
        "inputs",
        "items",
        "keys",
        "lease",
        "marks",
        "over",
        "packing",
        "position",
        "raised",
        "received",
        "rest",
        "slot",
        "stream",
    )

    def __init__(
        self,
        stream: ChunkSource,
        keys: Sequence[Any],
        items: list[Any],
        attempt: int,
        delay: float | None,
        position: int | None,
        packing: int,
    ) -> None:
        self.stream = stream
        self.attempt = attempt  # how often it was tried before
        self.delay = delay or 0.0  # seconds until it may start
        self.counted = delay is None  # in flight: what waits to be tried again holds back no other
        self.packing = packing  # nanoseconds that packing its elements took
        self._cancellations = stream.cancellations
        self.keys = keys
        self.items = items
        self.received = 0  # elements whose outcome has come
        self.raised = 0  # of those that came while it ran, as the scheduler counts them
        self.marks: dict[int, list[int]] | None = None  # elements that did not end well, by status
        self.rest: int | None = None  # status of the elements without an outcome, where it is not the chunk's
        self.culprit: int | None = None  # the element with which its worker was lost, where it is known
        self.over = self.adjusted = False  # adjusted: the scheduler's counts of a chunk that ended as a whole
        self.position = position  # of its first element in the state map, once it is known
        self.slot = -1
        self.lease: Any = None  # on its elements, where they are kept elsewhere
        self.held: Any = None  # for its elements, until they are over
        self.inputs: Sequence[Future] = ()  # of an element that is alone: one of them may fail

    def describe(self, form: Any) -> None:
        """Fill in what the scheduler is told of it (csched_options_t): the stream has counted its elements, and tries
        them again.
        """
        form.count, form.retries, form.ask, form.attempt = len(self.items), 0, 2, self.attempt
        form.position = 0 if self.position is None else self.position + 1
        form.not_before = time.monotonic_ns() + int(self.delay * 1e9) if self.delay else 0

    @property
    def cancelled(self) -> bool:
        """Whether the stream was cancelled after this chunk was sent; its elements that have not begun will not."""
        return self._cancellations != self.stream.cancellations

    def partial(self, came: Came) -> None:
        """Outcomes of the next elements, from a worker that is still at it."""
        first, values, errors = self._outcomes(came)
        self._put(self.received, first + len(values), state_map.DONE)
        self._take(first, values, errors, _bytes_of(came, values))
        # one that does not load has not failed for the scheduler; a thread has no such
        self.raised += sum(type(error) is bytes or isinstance(came, tuple) for error in errors.values())

    def _position_of(self, place: int) -> int:
        """An element's position in the state map; asked for when something went wrong."""
        if self.position is None:
            self.position = self.stream.host.states.position(self.slot)
        return self.position + place

    def _put(self, first: int, end: int, state: int) -> None:
        """Write the state of some elements into the map: the scheduler sees the chunk as a whole."""
        if end > first:
            self.stream.host.states.put(self._position_of(first), end - first, state)

    def _outcomes(self, view: Came) -> tuple[int, Any, dict[int, Any]]:
        """Unpack what a worker sent: (first element, values, errors). A result that does not unpickle fails alone."""
        if isinstance(view, tuple):  # it is a thread of this process, which may go on with the list
            return view[0], list(view[1]), view[2]
        assert not isinstance(view, BaseException)
        scheduler = self.stream.host.scheduler
        taken, error = outcomes.load_value(view, scheduler.load)
        if error is None:
            first, values, errors = taken
            return first, values, errors
        try:
            first, values, errors = salvage(view, partial(scheduler.own, view))
            values = list(values)
        except Exception:  # not even its outline
            count = len(self.items) - self.received
            scheduler.adjust_run(self.stream.run, succeeded=-count)
            return self.received, [None] * count, dict.fromkeys(range(self.received, len(self.items)), error)
        marks = [(first + i, mark) for i, mark in enumerate(map(mark_in, values)) if mark is not None]
        self.stream.host.scheduler.adjust_run(self.stream.run, succeeded=-len(marks))
        return first, values, errors | {i: outcomes.not_loaded(mark.problem) for i, mark in marks}

    def _take(self, first: int, values: Any, errors: dict[int, Any], size: int) -> None:
        """Deliver outcomes from element ``first`` on, of so many bytes, but for those taken before an interrupt. A list
        without failures becomes the reader's own, which takes the values out of it.
        """
        stream = self.stream
        values = values if type(values) is list else list(values)  # a batch function may return an array
        count, end = len(values), first + len(values)
        for stop in [*sorted(i for i in errors if i >= self.received), end]:
            if self.received < stop:
                here, self.received = self.received, stop
                part = size * (stop - here) // max(1, count)
                mine = values if stop - here == count else values[here - first : stop - first]
                stream.settle(self.keys[here:stop], mine, part)
            if stop < end:
                self.received = stop + 1
                error, counts = errors[stop], FAILED
                if type(error) is bytes:
                    error = load_error(error) if error else self._timeout(stop)
                if self.cancelled and is_a(error, KeyboardInterrupt):
                    error, counts = outcomes.cancelled(self.items[stop]), CANCELLED
                self._put(stop, stop + 1, _state_of(error))
                over = self._fail(stop, error, counts)
                self._mark(stop, error, over)

    def _fail(self, place: int, error: BaseException, counts: Mapping[str, int]) -> bool:
        """Deliver an error, or try the element again; True when it is over. ``counts``: what it counts as then."""
        if not is_a(error, CancelledError):
            number_raised(error, self._name(place))
        if self.cancelled:
            over = True
            self.stream.fail_element(self.keys[place], self.items[place], error, counts)
        else:
            position = self._position_of(place)
            over = self.stream.fail_or_retry(self.keys[place], self.items[place], error, position, counts)
        if over and not is_a(error, CancelledError):
            self._note_failure(place, error)
        return over

    def _note_failure(self, place: int, error: BaseException) -> None:
        stream = self.stream
        form, item = (
            "batch" if stream.options.batch else "star" if stream.star else "element",
            self.items[place],
        )
        shown = element_text(item, stream.star) if self.inputs and is_a(error, DependencyError) else None
        stream.host.failures.of_element(
            self.slot, place, error, stream.function, form, self.attempt + 1, item, shown
        )

    def _name(self, place: int) -> str:
        """An element, as the panel names it."""
        name = self.stream.host.failures.name_of(self.slot)
        return f"{name}.{place}" if name and place else name

    def _mark(self, place: int, error: BaseException, over: bool) -> None:
        """Mark an element that failed for the chunk's journey: the scheduler counts the failed ones and does not know
        which they are.
        """
        ended = (
            with_gil.CSCHED_RETRIED
            if not over
            else with_gil.CSCHED_CANCELLED
            if is_a(error, CancelledError)
            else with_gil.CSCHED_TIMEOUT
            if is_a(error, TaskTimeoutError)
            else with_gil.CSCHED_ERROR
        )
        if self.marks is None:
            self.marks = {}
        self.marks.setdefault(ended, []).append(place)

    def _mark_sent_again(self) -> None:
        """Note that the chunk is an attempt that others follow: of its elements without an outcome none has ended with
        it.
        """
        self.rest = with_gil.CSCHED_RETRIED

    def complete(self, status: int, worker: int, detail: int, view: Came | None, run_ns: int) -> None:
        """The chunk is over; called by the resolver, again if an interrupt came in between."""
        stream = self.stream
        error: BaseException | None
        if not self.over:
            good = self.received
            if (
                status in (with_gil.CSCHED_VALUE, with_gil.CSCHED_NONE) and view is not None
            ):  # NONE: from a thread
                error = None
                first, values, errors = self._outcomes(view)
                self._take(first, values, errors, _bytes_of(view, values))
                stream.ran(len(self.items), run_ns)
            elif status == with_gil.CSCHED_LOST or (
                status == with_gil.CSCHED_TIMEOUT and len(self.items) > 1
            ):
                error = None
                self._lost(worker, detail, status)
            elif status == with_gil.CSCHED_DEPENDENCY and len(self.items) == 1:
                error = outcomes.dependency_failed(self.inputs[detail], detail)
            elif status == with_gil.CSCHED_DEPENDENCY or self._not_loaded(status, detail):
                error = None
                self._send_halves()  # until the element whose input failed, or does not load, is alone
            elif status == with_gil.CSCHED_TIMEOUT:
                error = self._timeout(0)
            else:
                assert not isinstance(view, tuple)
                if isinstance(view, BaseException):
                    error = view
                else:
                    error = outcomes.error_of(status, view, function_name(stream.function), None)
            if error is not None:
                self._fail_rest(status, error)
            rows.tell(stream.host.scheduler, self, status, good)
            self.over = True
            stream.ended(self.counted)
        with contextlib.suppress(Closed):
            stream.send()

    def _not_loaded(self, status: int, detail: int) -> bool:
        """Whether the worker could not unpickle the elements, and ran none."""
        return bool(status == with_gil.CSCHED_ERROR and detail == NOT_LOADED and len(self.items) > 1)

    def _fail_rest(self, status: int, error: BaseException) -> None:
        """End all elements without an outcome with this error; the scheduler has uncounted those that had come, or
        counted all as cancelled: that is put right before readers, and the end of the run, can see the counts.
        """
        stream, first = self.stream, self.received
        cancelled = status == with_gil.CSCHED_CANCELLED
        broken = stream.broken if cancelled and not self.cancelled else None
        if broken is not None:
            error = outcomes.not_run(broken)
        if not self.adjusted:
            self.adjusted = True
            self._adjust(first - self.raised, status, broken is not None)
        self._put(first, len(self.items), _state_of(error))
        counts = {} if cancelled and broken is None else FAILED
        while self.received < len(self.items):
            if broken is not None:
                error = outcomes.not_run(broken)
            elif is_a(error, CancelledError):
                error = outcomes.cancelled(self.items[self.received])
            if not self._fail(self.received, error, counts):
                self._mark(self.received, error, over=False)
            self.received += 1

    def _adjust(self, good: int, status: int, broken: bool) -> None:
        """Correct the counts of the chunk as a whole: of its elements so many have succeeded."""
        adjust, count = partial(self.stream.host.scheduler.adjust_run, self.stream.run), len(self.items)
        if status == with_gil.CSCHED_CANCELLED:
            adjust(succeeded=good, cancelled=-count if broken else -self.received)
        elif status == with_gil.CSCHED_VALUE:
            adjust(succeeded=self.received - count)
        else:
            adjust(succeeded=good)

    def _send_halves(self) -> None:
        """Send the elements without an outcome again, in two chunks."""
        stream, first, end = self.stream, self.received, len(self.items)
        self.received = end
        if self.cancelled:
            self.rest = with_gil.CSCHED_CANCELLED
            self._put(first, end, state_map.CANCELLED)
            self._cancel_rest(self.keys[first:end], self.items[first:end])
            return
        self._mark_sent_again()
        middle = (first + end) // 2
        for part in (slice(first, middle), slice(middle, end)):
            if self.items[part]:
                stream.send_again(self.keys[part], self.items[part], self._position_of(part.start))

    def _timeout(self, place: int) -> BaseException:
        """Make the error of an element that was stopped at its time limit."""
        call = f"{function_name(self.stream.function)}({short_repr(self.items[place])})"
        call = outcomes.with_number(call, self._name(place))
        limit, stopped = self.stream.options.timeout, self.stream.host.stopped
        return outcomes.error_of(with_gil.CSCHED_TIMEOUT, None, call, limit, stopped, self.attempt + 1)

    def _lost(self, worker: int, element: int, status: int) -> None:
        """The worker died: results it had sent are kept, the element it ran fails, the others run elsewhere.

        Between elements, while all of them are packed or unpacked, and in a batch, it is unknown which: halves are
        sent, until the culprit is alone.
        """
        stream, good = self.stream, self.received
        over = False
        left = len(self.items) - good
        # the scheduler has uncounted the outcomes that had come
        stream.host.scheduler.adjust_run(stream.run, succeeded=good - self.raised)
        if left > 1 and (stream.options.batch or element == NO_ELEMENT):
            self._send_halves()
        elif left:
            culprit = self.culprit = good + min(max(element - good, 0), left - 1)
            before, after = slice(good, culprit), slice(culprit + 1, None)
            key, item = self.keys[culprit], self.items[culprit]
            error: BaseException = (
                self._timeout(culprit)
                if status == with_gil.CSCHED_TIMEOUT
                else outcomes.lost(
                    stream.host.exit_of(worker),
                    function_name(stream.function),
                    short_repr(item),
                    self.attempt + 1,
                )
            )
            counts = LOST if status == with_gil.CSCHED_LOST else FAILED
            self._put(good, len(self.items), state_map.CANCELLED if self.cancelled else state_map.QUEUED)
            self._put(
                culprit, culprit + 1, state_map.LOST if status == with_gil.CSCHED_LOST else state_map.FAILED
            )
            if self.cancelled:
                over = True
                stream.fail_element(key, item, error, counts)
                self._cancel_rest(
                    [*self.keys[before], *self.keys[after]], [*self.items[before], *self.items[after]]
                )
            else:
                over = stream.fail_or_retry(key, item, error, self._position_of(culprit), counts)
                if not over:
                    self._mark_sent_again()
                stream.put_back(
                    [
                        (self.keys[part], self.items[part], self._position_of(part.start))
                        for part in (after, before)
                    ]
                )
            if over:
                self._note_failure(culprit, error)
        self.received = len(self.items)

    def _cancel_rest(self, keys: Sequence[Any], items: list[Any]) -> None:
        """Elements that were to be sent again, and are not."""
        stream = self.stream
        stream.host.scheduler.adjust_run(stream.run, cancelled=len(keys))
        for key, item in zip(keys, items, strict=True):
            stream.settle_error(key, outcomes.cancelled(item))


def _bytes_of(came: Came, values: Any) -> int:
    """Memory that these values hold: as packed, or of large ones that came by another way, about."""
    packed = came.nbytes if isinstance(came, memoryview) else 0
    if len(values) > FEW or _SMALL.issuperset(map(type, values)):
        return packed
    return max(packed, sum(map(_bytes_of_one, values)))


def _bytes_of_one(value: Any) -> int:
    kind = type(value)
    if kind in (bytes, str, bytearray):
        return len(value)
    return int(value.nbytes) if kind.__module__ == "numpy" and kind.__name__ == "ndarray" else 0


def _state_of(error: BaseException) -> int:
    """Return the state of a failed element in the state map."""
    return int(state_map.CANCELLED if is_a(error, CancelledError) else state_map.FAILED)
