"""`map`: an iterator over results, fed by a stream of chunks.

The input is consumed in the caller's thread: up to a bound at once, the rest as results are read.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...interrupts import whole
from ...runs import Run
from ...task import TaskOptions, known_length
from . import outcomes
from .scheduler import held
from .stream import Stream

if TYPE_CHECKING:
    from .backend import ScheduledBackend

MOST_OUTSTANDING = 1_000_000  # elements taken from the input and not yet read as results
LARGEST_BLOCK = 4096  # elements taken from the input at a time
SLOW_INPUT_S = 0.005

_open: set[MapResults] = set()


def streams_of(backend: ScheduledBackend, run: int | None) -> Iterator[Stream]:
    """Streams of unfinished maps, of one run or of all."""
    for results in list(_open):
        stream = results.stream
        if stream.backend is backend and (run is None or stream.run == run):
            yield stream


class MapResults:
    """Results of a map, in order or as they come, in pieces as chunks end."""

    def __init__(
        self,
        backend: ScheduledBackend,
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
        # Pieces of results by the place of their first element, which the resolver stores while this thread reads:
        # the piece to be read next begins where reading is. Unordered: pieces as they came.
        self._pieces: dict[int, list[Any] | _Cancelled] = {}
        self._arrived: deque[list[Any] | _Cancelled] = deque()
        self._first = 0  # elements read
        self._added = 0
        self._input_error: BaseException | None = None
        self._exhausted = False
        self._over = False
        self._length = known_length(iterables)
        self.stream = Stream(backend, function, options, run.key, self, star=not single, chunksize=chunksize)
        self.stream.when_done = self._finish_run
        _open.add(self)
        try:
            self._refill()
        except BaseException:  # Stop: what was sent already ends with it
            self.close()
            raise

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
                items.extend(islice(self._source, wanted))  # keeps what came before an error
            except Exception as error:
                self._input_error = error
                self._exhausted = True
            if len(items) < wanted:
                self._exhausted = True
            if self._cancelled_meanwhile():
                return
            with whole():
                added = self._added
                self._added += len(items)
                room -= len(items)
                self.stream.expected = (
                    0
                    if self._exhausted
                    else None
                    if self._length is None
                    else max(0, self._length - self._added)
                )
                self.stream.add(range(added, added + len(items)), items)
                self.stream.send()
            if self._cancelled_meanwhile():
                self.stream.cancel_all()
                return
            # a slow input is sent on as it comes, a fast one in large blocks
            block = 1 if time.monotonic() - start > SLOW_INPUT_S else min(2 * block, LARGEST_BLOCK)
        self._finish_run()  # an empty input has no element whose end would do it

    def _cancelled_meanwhile(self) -> bool:
        """Whether somebody ended the run while its input was read: nothing more is taken, and reading ends there."""
        if not self.stream.cancellations:
            return False
        self._exhausted = True
        self._input_error = outcomes.cancelled()
        self.stream.expected = 0
        self._finish_run()
        return True

    def receive(self, keys: Sequence[Any], values: list[Any]) -> None:
        """See `Receiver`."""
        if not self._ordered:
            self._arrived.append(values)
        elif type(keys) is range:
            self._pieces[keys.start] = values
        else:
            for key, value in zip(keys, values, strict=True):
                self._pieces[key] = [value]

    def receive_error(self, key: Any, error: BaseException) -> None:
        """See `Receiver`."""
        self.receive(range(key, key + 1), [_Failed(error)])

    def receive_cancelled(self, keys: Sequence[Any]) -> None:
        """See `Receiver`: a million elements are one piece until they are read."""
        if self._over:
            return  # nobody reads any more
        if not self._ordered:
            self._arrived.append(_Cancelled(len(keys)))
        elif type(keys) is range:
            self._pieces[keys.start] = _Cancelled(len(keys))
        else:
            self._pieces.update((key, _Cancelled(1)) for key in keys)

    def next_piece(self) -> list[Any]:
        """The next results, the last of them first; empty at the end. Waits for them; raises an element's error."""
        if self._over:
            return []
        self.stream.backend.check_process()
        try:
            if self._added - self._first < MOST_OUTSTANDING // 2 and not self._exhausted:
                self._refill()
            if self._first == self._added:
                self._finish()
                return []
            if not self._there():
                self._wait()
            found = self._pieces.pop(self._first) if self._ordered else self._arrived.popleft()
            piece = self._first_of(found) if isinstance(found, _Cancelled) else found
        except BaseException:
            self.close()
            raise
        self._first += len(piece)
        piece.reverse()
        if type(piece[0]) is _Failed:  # it stands alone
            error = piece[0].error
            if not self._return_exceptions:
                self.close()
                try:
                    raise error
                finally:
                    del error, piece  # or the traceback would keep itself alive
            piece[0] = error
        return piece

    def _first_of(self, cancelled: _Cancelled) -> list[Any]:
        """One of these elements; the others come next."""
        if cancelled.count > 1:
            rest = _Cancelled(cancelled.count - 1)
            if self._ordered:
                self._pieces[self._first + 1] = rest
            else:
                self._arrived.appendleft(rest)
        return [_Failed(outcomes.cancelled())]

    def _finish(self) -> None:
        """Past the last element: the input's own error, if there is one."""
        error, self._input_error = self._input_error, None
        self.close()
        if error is not None:
            raise error

    def _there(self) -> bool:
        return self._first in self._pieces if self._ordered else bool(self._arrived)

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
        while piece := results.next_piece():
            while piece:
                yield piece.pop()
    finally:
        results.close()


class _Failed:
    __slots__ = ("error",)

    def __init__(self, error: BaseException) -> None:
        self.error = error


class _Cancelled:
    """A piece of elements that were cancelled before they were sent."""

    __slots__ = ("count",)

    def __init__(self, count: int) -> None:
        self.count = count
