"""`map`: an iterator over results, fed by a stream of chunks.

The input is consumed in the caller's thread: up to a bound at once, the rest as results are read.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...interrupts import whole
from ...runs import Run
from ...task import TaskOptions, known_length
from .scheduler import held
from .stream import Stream

if TYPE_CHECKING:
    from .backend import LocalBackend

MOST_OUTSTANDING = 1_000_000  # elements taken from the input and not yet read as results
SEGMENT = 4096
SLOW_INPUT_S = 0.005

_PENDING = object()
_open: set[MapResults] = set()


def streams_of(backend: LocalBackend, run: int | None) -> Iterator[Stream]:
    """Streams of unfinished maps, of one run or of all."""
    for results in list(_open):
        stream = results.stream
        if stream.backend is backend and (run is None or stream.run == run):
            yield stream


class MapResults(Iterator[Any]):
    """Results of a map, in order or as they come."""

    def __init__(
        self,
        backend: LocalBackend,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        *,
        chunksize: int | None,
        timeout: float | None,
        ordered: bool,
        return_exceptions: bool,
    ) -> None:
        single = len(iterables) == 1
        self._source: Iterator[Any] = iter(iterables[0]) if single else zip(*iterables, strict=False)
        self._run = run
        self._ordered = ordered
        self._return_exceptions = return_exceptions
        self._timeout = timeout
        self._end = None if timeout is None else time.monotonic() + timeout
        # Values by absolute place, in segments, _PENDING where not there yet: the resolver stores
        # them while this thread reads, so no place may depend on how far reading is.
        self._segments: dict[int, list[Any]] = {}
        self._reading: list[Any] = []
        self._first = 0  # elements read
        self._added = 0
        self._arrived: deque[tuple[Any, BaseException | None]] = deque()
        self._input_error: BaseException | None = None
        self._exhausted = False
        self._over = False
        self._length = known_length(iterables)
        self.stream = Stream(
            backend, function, options, run.key, self._deliver, star=not single, chunksize=chunksize
        )
        self.stream.when_done = self._finish_run
        _open.add(self)
        self._refill()

    def _refill(self) -> None:
        """Take from the input up to the bound; an error of the input is kept for its place."""
        if self._exhausted:
            return
        room = MOST_OUTSTANDING - (self._added - self._first)
        block = 1
        while room > 0 and not self._exhausted:
            items: list[Any] = []
            wanted = min(block, room)
            start = time.monotonic()
            try:
                for item in islice(self._source, wanted):
                    items.append(item)
            except Exception as error:
                self._input_error = error
                self._exhausted = True
            if len(items) < wanted:
                self._exhausted = True
            with whole():
                added = self._added
                if self._ordered:
                    for segment in range(added // SEGMENT, (added + len(items) + SEGMENT - 1) // SEGMENT):
                        self._segments.setdefault(segment, [_PENDING] * SEGMENT)
                self._added += len(items)
                room -= len(items)
                self.stream.expected = (
                    0
                    if self._exhausted
                    else None
                    if self._length is None
                    else max(0, self._length - self._added)
                )
                self.stream.add(list(enumerate(items, added)))
                self.stream.send()
            # a slow input is sent on as it comes, a fast one in large blocks
            block = 1 if time.monotonic() - start > SLOW_INPUT_S else min(2 * block, SEGMENT)
        self._finish_run()  # an empty input has no element whose end would do it

    def _deliver(self, key: int, value: Any, error: BaseException | None) -> None:
        if self._ordered:
            self._segments[key // SEGMENT][key % SEGMENT] = value if error is None else _Failed(error)
        else:
            self._arrived.append((value, error))

    def __iter__(self) -> MapResults:
        return self

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        try:
            if self._added - self._first < MOST_OUTSTANDING // 2 and not self._exhausted:
                self._refill()
            if self._first == self._added:
                return self._finish()
            value, error = self._take()
        except BaseException:
            self.close()
            raise
        if error is not None and not self._return_exceptions:
            self.close()
            try:
                raise error
            finally:
                del error
        return value if error is None else error

    def _finish(self) -> Any:
        """Past the last element: the input's own error, or the end."""
        error, self._input_error = self._input_error, None
        self.close()
        if error is not None:
            raise error
        raise StopIteration

    def _take(self) -> tuple[Any, BaseException | None]:
        """The next result; waits for it."""
        if self._ordered:
            place = self._first % SEGMENT
            if not place:
                self._segments.pop(self._first // SEGMENT - 1, None)
                self._reading = self._segments[self._first // SEGMENT]
            if self._reading[place] is _PENDING:
                self._wait()
            value = self._reading[place]
            self._reading[place] = None
            self._first += 1
            return (None, value.error) if type(value) is _Failed else (value, None)
        if not self._arrived:
            self._wait()
        self._first += 1
        return self._arrived.popleft()

    def _there(self) -> bool:
        return self._reading[self._first % SEGMENT] is not _PENDING if self._ordered else bool(self._arrived)

    def _wait(self) -> None:
        backend = self.stream.backend
        resolver, scheduler = backend.resolver, backend.scheduler
        while not self._there():
            backend.check_process()
            if scheduler.poll(20) > 0 and resolver.resolve():
                continue
            slice_ms = 50
            if self._end is not None:
                left = self._end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"map: no result within {self._timeout:g} s")
                slice_ms = min(slice_ms, int(left * 1000) + 1)
            if not self._there():
                scheduler.wait(slice_ms if held.csched_poll(scheduler.handle, 0) <= 0 else 1)

    def close(self) -> None:
        """End the map; elements that have not begun are cancelled."""
        if self._over:
            return
        with whole():
            self._over = True
            if self.stream.unfinished and not self.stream.backend.foreign:
                self.stream.cancel_all()
            self._finish_run()

    def _finish_run(self) -> None:
        """Give the run's number back as soon as no task of it is left."""
        if (self._over or self._exhausted) and not self.stream.unfinished:
            _open.discard(self)
            self._run.finish()


def iterate(results: MapResults) -> Iterator[Any]:
    """What the caller of `map` gets. Left half way it cancels the rest; never begun, everything runs to its end, as
    with the standard executors.
    """
    try:
        yield from results
    finally:
        results.close()


class _Failed:
    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error
