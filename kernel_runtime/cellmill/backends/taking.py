"""The input of a map: how much is taken from it at a time, and what of it is kept."""

from __future__ import annotations

import itertools
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from ..by_value.capture import DIFFERS, OTHER_KIND, Capture, take
from ..process_context.interrupts import interrupt_pending, uninterrupted
from ..serialization.fixed import FIXED, fixed, size_of

if TYPE_CHECKING:
    from ..serialization.packer import Packer

AHEAD_BYTES = 256_000_000  # of packed elements, and of an iterator's results
LARGEST_BLOCK = 4096  # elements taken at a time
FIRST_BLOCK = 64  # of an input that is whole
LONGEST_SEARCH_S = 2.0  # for the end of an iterator
MOST_SEARCHED = 1_000_000  # elements
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_WHOLE = {list, tuple, range, str, bytes, bytearray, set, frozenset, dict, deque, array, *_VIEWS}
_ENDLESS = {itertools.repeat, itertools.count}
_OF_NUMBERS: set[type] = {range, itertools.count, str, bytes}
_COMBINED = {
    itertools.product,
    itertools.permutations,
    itertools.combinations,
    itertools.combinations_with_replacement,
}
_ARRAYS = {("numpy", "ndarray"), ("pandas", "Series"), ("pandas", "Index"), ("pandas", "RangeIndex")}


def is_whole(iterable: Iterable[Any]) -> bool:
    """It has an end, and no code of the user's runs while elements are taken."""
    kind = type(iterable)
    return kind in _WHOLE or (kind.__module__.partition(".")[0], kind.__name__) in _ARRAYS


def is_quiet(iterables: tuple[Iterable[Any], ...]) -> bool:
    """No code of the user's runs while elements are taken."""
    return all(is_whole(it) or type(it) in _ENDLESS or type(it) in _COMBINED for it in iterables)


class Pause(Exception):
    """An input gives nothing for now. ``of_reader``: it is the turn of the reader, for whom something is there."""

    def __init__(self, *, of_reader: bool) -> None:
        super().__init__()
        self.of_reader = of_reader


class Pausing(Iterator[Any]):
    """An input that may raise `Pause`, and goes on when it is asked again."""

    bounded = True  # by what waits for the reader


class Watching(Protocol):
    """A watch over what a map's function refers to."""

    capture: Capture

    def taking(self) -> None:
        """The input's code is about to run."""

    def look(self, key: int) -> None:
        """It has run for the element of this place, and what the function refers to has changed."""


class Input:
    """The input of a map. ``packer``: packs elements as they are taken; None: the elements themselves are kept."""

    def __init__(self, iterables: tuple[Iterable[Any], ...], packer: Callable[[bool], Packer] | None) -> None:
        single = len(iterables) == 1
        finite = [is_whole(iterable) for iterable in iterables]
        quiet = all(done or type(it) in _ENDLESS for done, it in zip(finite, iterables, strict=True))
        self.whole = quiet and any(finite)
        self.quiet = quiet or is_quiet(iterables)
        self.exhausted = False
        self.error: BaseException | None = None  # of the input itself, for its place
        self.taken = 0  # elements so far
        self.rests = False  # the last take ended since it was the turn of the reader
        self.watch: Watching | None = None  # asked before and after code of the user's runs
        self._source: Iterator[Any] = iter(iterables[0]) if single else zip(*iterables, strict=False)
        numbers = {type(it) for it in iterables} <= _OF_NUMBERS  # which cannot be changed
        self.packer = packer(self.quiet) if packer is not None and not numbers else None
        # elements are at hand: nothing is gained by taking few at first
        self.first_block, self.growth = (FIRST_BLOCK, 8) if self.whole else (1, 2)

    def take(self, wanted: int) -> tuple[list[Any], int]:
        """The next elements, at most so many, and the bytes they are counted with.

        Elements of a whole input that cannot be changed are not counted: their owner has them anyway.
        """
        packer = self.packer
        made = packer.made if packer is not None else 0
        items: list[Any] = []
        pause: Pause | None = None
        try:
            if packer is None or self.quiet:
                items.extend(islice(self._source, wanted))  # keeps what came before an error
            else:
                self._take_each(wanted, items, packer)
        except KeyboardInterrupt:  # Stop, which does not wait
            raise
        except Pause as told:
            pause = told
        except BaseException as error:
            self.error = error
            self.exhausted = True
        self.rests = pause is not None and pause.of_reader
        if len(items) < wanted and pause is None:
            self.exhausted = True
        self.taken += len(items)
        size = 0 if self.whole else size_of(items)
        if packer is not None and self.quiet:
            with uninterrupted():
                items = packer.pack(items, interrupt_pending)
        return items, size + (packer.made - made if packer is not None else 0)

    def _take_each(self, wanted: int, items: list[Any], packer: Packer) -> None:
        """Take elements of an input that runs the user's code: each is packed before the next one is asked for."""
        watch = self.watch
        assert watch is not None  # where elements are packed
        watch.taking()
        try:
            while (left := wanted - len(items)) > 0:
                why, packed = take(self._source, left, watch.capture, FIXED, packer.plain, items)
                packer.made += packed
                if why & DIFFERS:
                    watch.look(self.taken + len(items) - 1)
                if why & OTHER_KIND and not fixed(items[-1:]):
                    with uninterrupted():
                        items[-1:] = packer.pack(items[-1:])
                if not why:
                    return
        finally:
            if len(items) < wanted and watch.capture.changed() is not None:  # behind the last of them
                watch.look(self.taken + len(items))

    def take_rest(self, endless: Exception) -> tuple[list[Any], int]:
        """All that is left, if it comes to an end; else nothing, and ``endless`` is the input's error.

        An input that has an end is taken whole. Whether others have one is unknown, so the search has a limit.
        """
        if isinstance(self._source, Pausing):
            self._source.bounded = False
        items: list[Any] = []
        size, block, end = 0, 1, time.monotonic() + LONGEST_SEARCH_S
        while not self.exhausted:
            more, bytes_of_more = self.take(block)
            items += more
            size += bytes_of_more
            block = min(2 * block, LARGEST_BLOCK)
            if self.whole or self.exhausted:
                continue
            if len(items) > MOST_SEARCHED or size > AHEAD_BYTES or time.monotonic() > end:
                self.exhausted = True
                self.error = endless
                items, size = [], 0
        self.let_go()
        return items, size

    def let_go(self) -> None:
        """Nothing more is taken: a generator that nothing else refers to ends now, as with a plain loop."""
        self._source = iter(())

    @property
    def packing(self) -> int:
        """Nanoseconds that packing elements has taken so far, without those of plain data from code of the user's."""
        return 0 if self.packer is None else self.packer.spent

    def rest(self) -> None:
        """Pause taking: what was packed is forgotten, since it may have changed when taking goes on."""
        if self.packer is not None:
            self.packer.forget()


def endless(name: str, taken: int) -> RuntimeWarning:
    """Return the warning for a map that is not read and whose input does not end."""
    return RuntimeWarning(
        f"the results of a map of {name} were never read, and its input does not come to an end soon: the {taken:,} "
        "elements that were taken by then run, and no others. Read the results (for _ in results: pass), or pass a "
        "list."
    )
