"""`map`: an iterator over results, fed by a stream of chunks.

The input is consumed in the caller's thread: lists and the like at once, iterators as far as their elements' work and
size allow, the rest as results are read.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from ...diagnostics import notices
from ...errors import is_a
from ...process_context.interrupts import uninterrupted
from ...run_registry import Run
from ...serialization.function_code import function_name
from ...task import TaskOptions, known_length
from ..map_iterator import Progress, woken
from ..map_options import MapOptions
from ..taking import LARGEST_BLOCK, Input, endless
from .arrivals import Arrivals, Failed
from .cancellations import done_of
from .protocols import StreamHost
from .scheduler import Closed, with_gil
from .sizes import ReadAhead
from .stream import Stream
from .watching import Watch

SLOW_INPUT_S = 0.005  # for what is taken at a time
SLOW_ELEMENT_S = (
    0.0001  # an input that takes longer for each is the bottleneck: its results are read as they come
)
ENDS = RuntimeError("cannot schedule new futures after shutdown: the program ends")
LONGEST_REFILL_S = 0.02  # while a result is there to be read
LONGEST_BEGIN_S = (
    0.2  # the same before the first is asked for: more is taken when it is, or the reader is gone
)
OTHERS_S = 0.002  # that the thread that settles results is waited for, before the reader looks again

_open: set[MapResults] = set()


def streams_of(host: object, run: int | None) -> Iterator[Stream]:
    """Streams of unfinished maps, of one run or of all."""
    for results in list(_open):
        stream = results.stream
        if stream.host is host and (run is None or stream.run == run):
            yield stream


class MapResults:
    """Results of a map, in order or as they come, in pieces as chunks end."""

    def __init__(
        self,
        host: StreamHost,
        function: Any,
        iterables: tuple[Iterable[Any], ...],
        options: TaskOptions,
        run: Run,
        how: MapOptions,
    ) -> None:
        name = options.name or function_name(function)
        self._input = Input(iterables, host.packer(name, star=how.star))
        self._run = run
        self._ordered = how.ordered
        self._instead = how.instead
        self._timeout = how.timeout
        self._end = None if how.timeout is None else time.monotonic() + how.timeout
        self._ahead = ReadAhead(host.max_workers, how.chunksize, how.prefetch, whole=self._input.whole)
        self._arrivals = Arrivals(self._ahead, ordered=how.ordered)
        self._added = 0  # elements taken from the input
        self._packing = 0  # nanoseconds that it took
        self._block = self._input.first_block  # elements to take at a time
        self._over = False
        self.begun = False  # whether it is read
        self._unwanted = False  # whether it will never be read
        self._left = False  # the program ends
        self._refilling = threading.Lock()
        self._length = known_length(iterables)
        receiver = host.receiver(self._arrivals, run, function)
        self.stream = Stream(
            host, function, options, run.key, receiver, star=how.star, chunksize=how.chunksize
        )
        if self._input.packer is not None:
            self._input.packer.captured = self.stream.captured
            self._input.packer.function = function
        self.stream.when_done = self._finish_run
        self.stream.observe = self._ahead.observe
        self._watch = Watch(self.stream) if host.packer(name, star=False) is not None else None
        if self._watch is not None and not self._input.quiet:
            self._input.watch = self._watch
        self._several = False  # results in the piece that was read last
        _open.add(self)
        try:
            self._refill()
        except BaseException:  # Stop: what was sent already ends with it
            self.close()
            raise

    def _refill(self, *, wait: bool = False) -> None:
        """Take from the input as much as may be taken ahead; an error of the input is kept for its place. ``wait``:
        for another thread that takes, as in `shutdown`.
        """
        if self._input.exhausted or not self._refilling.acquire(blocking=wait):
            return
        try:
            self._take_blocks()
        finally:
            self._input.rest()
            self._refilling.release()
        self._finish_run()  # an empty input has no element whose end would do it

    def _take_blocks(self) -> None:
        began, slow = time.monotonic(), False
        longest = LONGEST_REFILL_S if self.begun else LONGEST_BEGIN_S
        if self._input.whole and not self.begun:
            longest = math.inf  # it may change after the call
        while not self._input.exhausted:
            room = self._ahead.room(self._behind(), self.stream.unfinished)
            start = time.monotonic()
            if room <= 0 or ((slow or start - began > longest) and self._came()):
                return
            items, size = self._input.take(min(self._block, room))
            if self._cancelled_meanwhile():
                return
            with uninterrupted():
                self._add(items, size)
            if self._cancelled_meanwhile():
                self.stream.cancel_all()
                return
            if self._input.rests:
                return
            # a slow input is sent on as it comes, a fast one in large blocks
            took = time.monotonic() - start
            slow = self.begun and took > SLOW_ELEMENT_S * len(items)
            self._block = 1 if took > SLOW_INPUT_S else min(self._input.growth * self._block, LARGEST_BLOCK)

    def _all_taken(self) -> bool:
        """Whether all of the input is with the stream."""
        return self._input.exhausted

    def _add(self, items: list[Any], size: int) -> None:
        added = self._added
        self._added += len(items)
        self._ahead.took(len(items), size)
        self.stream.expected = (
            0 if self._all_taken() else None if self._length is None else max(0, self._length - self._added)
        )
        before, self._packing = self._packing, self._input.packing
        self.stream.add(range(added, added + len(items)), items, self._packing - before)
        self.stream.send()

    def _behind(self) -> int:
        """Elements that need no room any more: they were read, or are over and will not be read."""
        return self._added - self.stream.unfinished if self._unwanted else self._arrivals.first

    def _came(self) -> bool:
        """Whether the reader has a next result."""
        if self._unwanted:
            return False
        host = self.stream.host
        if host.scheduler.poll(0) > 0:
            host.resolve()
        return self._arrivals.there()

    def _cancelled_meanwhile(self) -> bool:
        """Whether the run was ended while its input was read: nothing more is taken, and reading ends there."""
        if not self.stream.cancellations:
            return False
        self._input.exhausted = True
        by, name = self.stream.cancelled_by, function_name(self.stream.function)
        done = done_of(self._run, "elements", self._length)
        self._input.error = CancelledError(f"the map of {name} was cancelled by {by}{done}")
        self.stream.expected = 0
        self._finish_run()
        return True

    def next_piece(self) -> list[Any]:
        """The next results, the last of them first; empty at the end. Waits for them; raises an element's error."""
        if self._over:
            return []
        self.begun = True
        self.stream.host.gate.check_process()
        try:
            if self._watch is not None and self._arrivals.first:
                last = self._arrivals.first == self._added and self._input.exhausted
                self._watch.look_between(last=last, several=self._several)
            self.take_ahead()
            if self._arrivals.first == self._added:
                self._refill(wait=True)
            if self._arrivals.first == self._added:
                self._finish()
                return []
            if not self._arrivals.there():
                since = time.monotonic_ns()
                try:
                    self._wait()
                finally:
                    self.stream.host.waited(since)
            piece = self._arrivals.take()
        except BaseException:
            self.close()
            raise
        self._several = len(piece) > 1
        piece.reverse()
        if type(piece[0]) is Failed:  # a piece of one
            error = ENDS if self._left else piece[0].error
            if is_a(error, CancelledError):
                key = self._arrivals.first - 1 if self._ordered else -1
                error = self.stream.explain(error, key, self._length or self._added, self._run)
            if self._instead is None:
                self.close()
                try:
                    raise error
                finally:
                    del error, piece  # or the traceback would keep itself alive
            piece[0] = self._instead(error)
        return piece

    def take_ahead(self) -> None:
        """See `map_iterator.Source`."""
        if not self._input.exhausted and 2 * (self._added - self._arrivals.first) <= self._ahead.limit():
            self._refill()

    def _finish(self) -> None:
        """Past the last element: the input's own error, if there is one."""
        error, self._input.error = self._input.error, None
        self.close()
        if error is not None:
            raise error

    def _wait(self) -> None:
        host, scheduler = self.stream.host, self.stream.host.scheduler
        while not self._arrivals.there():
            host.gate.check_process()
            if scheduler.poll(20) > 0 and host.resolve(OTHERS_S):
                self.take_ahead()  # others than the one waited for may be over
                continue
            slice_ms = 50
            if self._end is not None:
                left = self._end - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"map: no result within {self._timeout:g} s")
                slice_ms = min(slice_ms, int(left * 1000) + 1)
            if not self._arrivals.there():
                scheduler.wait(slice_ms if with_gil.csched_poll(scheduler.handle, 0) <= 0 else 1)

    async def arrival(self) -> None:
        """See `map_iterator.Source`."""
        self.begun = True
        await woken(self._has_come, self._wake)

    def _has_come(self) -> bool:
        late = self._over or (self._end is not None and time.monotonic() >= self._end)
        if not late:
            self.take_ahead()
        return late or self._arrivals.first == self._added or self._came()

    def _wake(self, tell: Callable[[], object] | None) -> None:
        self._arrivals.tell = tell

    def progress(self) -> Progress:
        """See `map_iterator.Source`."""
        total = self._added if self._all_taken() else self._length
        ended = self._all_taken() and self._arrivals.first == self._added
        name = function_name(self.stream.function)
        return Progress(name, self._run.counts(), total, self._arrivals.first, self._over and not ended)

    def close(self) -> None:
        """End the map; elements that have not begun are cancelled."""
        if self._over:
            return
        with uninterrupted():
            self._over = self._arrivals.closed = True
            self._arrivals.stir()
            if self.stream.unfinished and not self.stream.host.gate.foreign:
                self.stream.cancel_all()
            self._finish_run()
        self._input.let_go()  # which may run code of the user's

    def leave(self) -> None:
        """The program ends: a thread that still reads is refused as any that submits is."""
        self._left = True
        self.close()

    def _finish_run(self) -> None:
        """Give the run's number back as soon as no task of it is left."""
        if (self._over or self._all_taken()) and not self.stream.unfinished:
            _open.discard(self)
            self._run.finish()

    # -- a map that is not read

    def run_out(self) -> None:
        """Run everything to its end: its results will not be read. An input without an end is taken no further."""
        stream = self.stream
        if self._over or self._unwanted or stream.host.gate.foreign:
            return
        with uninterrupted():
            self._unwanted = True
            self._arrivals.drop()
        if self._input.whole:
            self._ahead.lift()
            stream.when_low = self._refill_quietly
            self._refill_quietly()
        elif not self._input.exhausted:
            self.take_rest(endless(function_name(stream.function), self._added))
            if self._input.error is not None:
                notices.warn(str(self._input.error))

    def take_rest(self, refusal: Exception) -> None:
        """Take all that is left of the input now, because nothing can be taken later; an input without an end is ended
        with ``refusal``.
        """
        if self._input.exhausted or self._over or self._cancelled_meanwhile():
            return
        if not self._refilling.acquire(blocking=False):
            return
        try:
            items, size = self._input.take_rest(refusal)
            with uninterrupted():
                self._add(items, size)
        except Closed as error:  # the executor has ended meanwhile: these elements are cancelled
            name = function_name(self.stream.function)
            self._input.error = RuntimeError(f"{error}: what was left of the map of {name} did not run")
        finally:
            self._input.rest()
            self._refilling.release()
        self._finish_run()

    def _refill_quietly(self) -> None:
        """Refill from any thread; a closed backend ends the input."""
        try:
            self._refill()
        except Closed:
            self._input.exhausted = True
            self._finish_run()


def take_rest(host: object) -> None:
    """Take the rest of all inputs of maps now, because nothing can be taken later."""
    for results in list(_open):
        if results.stream.host is host:
            results.take_rest(RuntimeError("cannot schedule new futures after shutdown"))


def leave_begun() -> None:
    """The program ends: maps that were begun will not be read any more."""
    for results in list(_open):
        if results.begun:
            results.leave()
