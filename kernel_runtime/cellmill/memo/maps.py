"""Maps of functions whose results are kept: what is kept is looked up, the rest is a map of its own, and the results
come in their places.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, NoReturn

from ..backends.inline_map import InlineMap
from ..backends.map_iterator import MapIterator, Progress, reading
from ..backends.map_options import MapOptions
from ..backends.taking import AHEAD_BYTES, Pause, Pausing, is_whole
from ..diagnostics.short_text import add_note, notes_of
from ..errors import is_a
from ..run_registry import Run
from ..task import HitCount, RunCounts, TaskOptions, known_length
from . import recording
from .calls import Memo, checkpoint_of, memo_of

_MOST_PENDING = 10_000  # results found for an input of unknown length, which are not read yet
_MOST_AT_ONCE = 1000
_LONGEST_S = 0.02  # that kept results are looked up while their reader waits
_SLOW_ELEMENT_S = 0.0001  # an input that takes longer for each is read as its results are
_LOOKED_UP_AT_ONCE = 500
_OF_MAP = re.compile("in element .* of a map")
_RUN = object()  # in the place of a result that a task brings

BeginMap = Callable[
    [Any, tuple[Iterable[Any], ...], TaskOptions, MapOptions, dict[str, Any], HitCount], MapIterator
]
OpenRun = Callable[[str, Any, int, HitCount], Run]


class _Calls:
    """The calls of a map as its input gives them. ``plan``: for each, in order, its kept bytes or `_RUN`; of a map
    that is not ordered, the kept bytes alone.
    """

    def __init__(
        self,
        memo: Memo,
        iterables: tuple[Iterable[Any], ...],
        constants: dict[str, Any],
        how: MapOptions,
        *,
        batch: bool,
    ) -> None:
        self.plan: deque[Any] = deque()
        self.places: deque[int] = deque()  # in the input, of those that are run
        self.hits = HitCount()
        self.given = 0  # results that were read
        self.slow = False  # the input takes long for each
        self._kept = self._kept_bytes = 0  # results in the plan
        self.prefetch = how.prefetch
        self._next_place = 0
        self._ordered = how.ordered
        self._memo = memo
        self._constants = constants
        self._batch = batch
        if how.star:
            self._arguments: Iterator[tuple[Any, ...]] = map(tuple, iterables[0])
        else:
            self._arguments = zip(*iterables, strict=False)

    def written(self) -> None:
        """A result is kept before it is given: a process that is killed then does not run it again."""
        self._memo.store.write()

    def to_run(self) -> Iterator[tuple[Any, ...]]:
        """Return the elements that tasks are to run: (key, arguments); the others are noted in the plan.

        The input goes with what is returned.
        """
        arguments, self._arguments = self._arguments, iter(())
        return _ToRun(self, arguments, self._memo)

    def missing(self, args: tuple[Any, ...], base: bytes) -> tuple[Any, ...] | None:
        """The same of the next element alone; None where its result is kept."""
        key = self._key(args, base)
        return next(self._planned([(key, args)], self._memo.find_all([key])), None)

    def at_hand(self) -> bool:
        """Whether the reader's next result is a kept one."""
        return bool(self.plan) and self.plan[0] is not _RUN

    def take_kept(self) -> bytes:
        """The next one of the plan, which is a kept one."""
        data: bytes = self.plan.popleft()
        self._kept -= 1
        self._kept_bytes -= len(data)
        return data

    def full(self) -> bool:
        """Whether as many kept results wait for the reader as may."""
        if not self._kept or self.prefetch is None:
            return self._kept >= _MOST_PENDING or self._kept_bytes > AHEAD_BYTES
        return self._next_place - self.given >= self.prefetch

    def low(self) -> bool:
        """Whether more are to be taken before the reader has those that are there: workers may lack work."""
        if self.prefetch is None:
            return not self.slow and 2 * self._kept < _MOST_PENDING and 2 * self._kept_bytes < AHEAD_BYTES
        return 2 * (self._next_place - self.given) <= self.prefetch

    def all_to_run(self) -> list[tuple[Any, ...]]:
        """Return the same of an input that is whole, all at once.

        What the function refers to is looked at once for many elements: no code of the user's runs in between.
        """
        missing: list[tuple[Any, ...]] = []
        while arguments := [*islice(self._arguments, _LOOKED_UP_AT_ONCE)]:
            base = self._memo.base()
            keyed = [(self._key(args, base), args) for args in arguments]
            missing += self._planned(keyed, self._memo.find_all([key for key, _ in keyed]))
        return missing

    def _key(self, args: tuple[Any, ...], base: bytes) -> bytes:
        place, self._next_place = self._next_place, self._next_place + 1
        return self._memo.key(args, self._constants, place if self._memo.of_map else None, base)

    def _planned(
        self, keyed: list[tuple[bytes, tuple[Any, ...]]], found: dict[bytes, bytes]
    ) -> Iterator[tuple[Any, ...]]:
        for place, (key, args) in enumerate(keyed, self._next_place - len(keyed)):
            data = found.get(key)
            if data is None:
                self.hits.places.append(place)
                if self._ordered:
                    self.plan.append(_RUN)
                    self.places.append(place)
                hidden = recording.argument(key)
                yield (hidden, args[0]) if self._batch else (hidden, *args)
            else:
                self.hits.note()
                self.plan.append(data)
                self._kept += 1
                self._kept_bytes += len(data)


class _ToRun(Pausing):
    """The elements of an input that tasks are to run. The reader has its turn where kept results wait for it."""

    def __init__(self, calls: _Calls, arguments: Iterator[tuple[Any, ...]], memo: Memo) -> None:
        self._calls, self._arguments, self._memo = calls, arguments, memo
        self._base = memo.base()  # of the map's start

    def __next__(self) -> tuple[Any, ...]:
        """As in any map, elements see what the input's code changes, and nothing else."""
        calls, began = self._calls, time.monotonic()
        while not (self.bounded and calls.full()):
            before, asked = self._memo.base(), time.monotonic()
            args = next(self._arguments)
            calls.slow = time.monotonic() - asked > _SLOW_ELEMENT_S
            after = self._memo.base()
            if after != before:
                self._base = after
            missing = calls.missing(args, self._base)
            if missing is not None:
                return missing
            if time.monotonic() - began > _LONGEST_S:
                break
        raise Pause(of_reader=calls.full() or calls.at_hand())


class _InPlaces:
    """The source of results of such a map; see `map_iterator.Source`."""

    def __init__(self, name: str, calls: _Calls, rest: MapIterator | None, total: int | None) -> None:
        self.begun = False
        self._name = name
        self._calls = calls
        self._plan = calls.plan
        self._rest = rest
        self._total = total
        self._ran = 0
        self._brought: deque[Any] = deque()  # by tasks: values whose turn is yet to come
        self._error: BaseException | None = None  # that comes behind them
        self._closed = False
        self._counts = RunCounts()  # of the rest, once it is over

    def next_piece(self) -> list[Any]:
        """See `map_iterator.Source`."""
        self.begun = True
        if self._rest is not None:
            self._rest._source.begun = True  # left behind a kept result, it is no map that was never read
            if not self._plan or self._calls.low():
                self._rest._source.take_ahead()
        found = self._at_hand()
        while not found:
            if self._error is not None:
                self._raise()
            if self._rest is None:
                return []
            self._bring(self._rest)
            found = self._at_hand()
        self._calls.given += len(found)
        found.reverse()
        return found

    def _bring(self, rest: MapIterator) -> None:
        """Wait for results of tasks."""
        try:
            self._brought.extend(rest.take_piece())
        except StopIteration:
            self._counts, self._rest = rest._source.progress().counts, None
        except KeyboardInterrupt:  # Stop, which does not wait
            raise
        except BaseException as error:
            self._error = error
        self._calls.written()

    def _at_hand(self) -> list[Any]:
        """The results whose turn it is, kept ones and those of tasks."""
        plan, brought, found = self._plan, self._brought, self._kept()
        while brought and len(found) < _MOST_AT_ONCE:
            if plan:  # the place of one that a task brings
                plan.popleft()
                self._note_place(brought[0])
            found.append(brought.popleft())
            found += self._kept()
        return found

    def _raise(self) -> NoReturn:
        error, self._error = self._error, None
        assert error is not None
        if self._plan:
            self._plan.popleft()
            self._note_place(error)
        try:
            raise error
        finally:
            del error  # or the traceback would keep itself alive

    def _note_place(self, outcome: Any) -> None:
        """An error names its element by its number among those that were run: say which one of the input that is."""
        place, ran = self._calls.places.popleft(), self._ran
        self._ran += 1
        if place != ran and is_a(outcome, BaseException) and any(map(_OF_MAP.match, notes_of(outcome))):
            add_note(
                outcome, f"it is element {place:,} of the input, where those count whose results were kept"
            )

    def _kept(self) -> list[Any]:
        """The kept results whose turn it is."""
        found: list[Any] = []
        while self._calls.at_hand() and len(found) < _MOST_AT_ONCE:
            found.append(recording.unpacked(self._calls.take_kept()))
        return found

    def take_ahead(self) -> None:
        """See `map_iterator.Source`."""
        if self._rest is not None:
            self._rest._source.take_ahead()

    async def arrival(self) -> None:
        """See `map_iterator.Source`."""
        rest = self._rest
        if rest is not None and not self._plan:
            rest._source.take_ahead()
        waits = not self._brought and self._error is None and not self._calls.at_hand()
        if rest is not None and waits and not rest._piece.left:
            await rest._source.arrival()

    def close(self) -> None:
        """See `map_iterator.Source`."""
        self._closed = self._closed or self._rest is not None
        if self._rest is not None:
            self._rest.close()

    def run_out(self) -> None:
        """See `map_iterator.Source`."""
        if self._rest is not None:
            self._rest._source.run_out()

    def progress(self) -> Progress:
        """See `map_iterator.Source`."""
        counts = self._rest._source.progress().counts if self._rest is not None else self._counts
        counts = replace(counts, succeeded=counts.succeeded + self._calls.hits.count)
        return Progress(self._name, counts, self._total, self._calls.given, self._closed)


def map_kept(
    begin: BeginMap,
    open_run: OpenRun,
    function: Any,
    iterables: tuple[Iterable[Any], ...],
    options: TaskOptions,
    how: MapOptions,
    constants: dict[str, Any],
) -> MapIterator:
    """`Executor.map_with` for a function whose results are kept. ``begin`` is that method, for those that are not;
    ``open_run`` opens the run where there are none.

    Raises:
        UsageError: an element, or the function, has no key.
    """
    path = how.checkpoint or options.checkpoint
    memo = memo_of(function, options) if path is None else checkpoint_of(function, options, str(path))
    calls = _Calls(memo, iterables, constants, how, batch=options.batch)
    total = known_length(iterables)
    plain = replace(options, memo=False, checkpoint=None, depends_on=())
    how = replace(how, star=not options.batch, checkpoint=None)

    def run(elements: Iterable[Any]) -> MapIterator:
        return begin(memo.run, (elements,), plain, how, constants, calls.hits)

    if not all(map(is_whole, iterables)):
        rest: MapIterator | None = run(calls.to_run())
        if rest is not None and isinstance(rest._source, InlineMap):
            calls.prefetch = 1  # calls are made as their results are read
    else:
        began_ns = time.monotonic_ns()
        missing = calls.all_to_run()
        rest = run(missing) if missing else None
        if rest is None and calls.hits.count:
            only_hits = open_run(options.name or memo.name, function, 0, calls.hits)
            only_hits.started_ns = began_ns
            only_hits.finish()
    return reading(_InPlaces(options.name or memo.name, calls, rest, total))
