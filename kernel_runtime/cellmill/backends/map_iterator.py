"""The iterator that `map` returns: over its results, with the progress of the map."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import chain, repeat
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from ..diagnostics.boundary import bounded_next
from ..task import RunCounts

LONGEST_SLEEP_S = 0.2  # of a reader in an event loop: time limits are checked in between


class Progress(NamedTuple):
    """How far a map has come. ``total``: number of its elements, None where unknown; ``read``: number that the loop
    over it has read.
    """

    name: str
    counts: RunCounts
    total: int | None
    read: int
    closed: bool  # left before its end: what had not begun is cancelled


class Source(Protocol):
    """The source of a map's results."""

    begun: bool  # whether it is read

    def next_piece(self) -> list[Any]:
        """The next results, the last of them first; empty at the end. Waits for them; raises an element's error."""

    def take_ahead(self) -> None:
        """Take from the input what may be taken now; waits for no result."""

    async def arrival(self) -> None:
        """Return when `next_piece` need not wait."""

    def close(self) -> None:
        """Its reader is gone."""

    def run_out(self) -> None:
        """It will not be read: everything runs to its end."""

    def progress(self) -> Progress: ...


class MapIterator(chain[Any]):
    """The results of a map, for ``for`` and ``async for``.

    Left half way, or closed, it cancels what has not begun; never begun, everything runs to its end, as with the
    standard executors. As an iterator it has no ``len()``; where the number of elements is known it hints at how many
    are left to read.
    """

    # A chain over the pieces in which results come: each result is handed on by C alone.

    _source: Source
    _piece: _Piece
    _given: Generator[Iterator[Any], None, None]
    _kept: tuple[Any, ...]

    def close(self) -> None:
        """Read no more. What has not begun is cancelled; where no result was read yet, all of it runs."""
        self._piece.end()
        self._given.close()
        if self._source.begun:
            self._source.close()
        else:
            self._source.run_out()

    def take_piece(self) -> list[Any]:
        """The next result, and those behind it that are at hand, in their order. Raises `StopIteration` at the end."""
        return [next(self), *self._piece.take()]

    def __length_hint__(self) -> int:
        told = self._source.progress()
        if told.closed:
            return 0
        return NotImplemented if told.total is None else told.total - told.read + len(self._piece.left)

    def __repr__(self) -> str:
        return f"<map of {_told(self._source.progress())}>"

    def __aiter__(self) -> MapIterator:
        return self

    async def __anext__(self) -> Any:
        if not self._piece.left:
            await self._source.arrival()
        try:
            return next(self)
        except StopIteration:
            raise StopAsyncIteration from None

    def __reduce__(self) -> NoReturn:
        raise TypeError("the results of a map are read once, where the map began: pass on a list of them")

    def __del__(self) -> None:
        if hasattr(self, "_source") and not self._source.begun and not sys.is_finalizing():
            self._source.run_out()


class _Piece:
    """The results at hand, the last of them first; ``turns`` ends their iterator."""

    __slots__ = ("left", "turns")

    def __init__(self) -> None:
        self.left: list[Any] = []
        self.turns: Iterator[Any] = iter(())

    def take(self) -> list[Any]:
        """Take what is left, in its order."""
        left = self.left[::-1]
        self.end()
        return left

    def end(self) -> None:
        """Nothing more of it is read."""
        deque(self.turns, 0)
        self.left.clear()


_NEVER = object()


def reading(source: Source) -> MapIterator:
    """An iterator over the results."""
    piece = _Piece()
    given = _pieces(source, piece)
    step = bounded_next(_one_at_a_time(given, piece))
    steps = iter(step, _NEVER)
    made = cast(MapIterator, MapIterator.from_iterable(steps))
    made._kept = step, steps  # `chain` lets go of them at the end, while other threads may be within
    made._source, made._piece, made._given = source, piece, given
    return made


def _one_at_a_time(given: Iterator[Iterator[Any]], piece: _Piece) -> Callable[[], Iterator[Any]]:
    """What brings the next piece: one thread waits for it, and others that read the same map share it then."""
    lock = threading.RLock()

    def step() -> Iterator[Any]:
        with lock:
            return map(list.pop, piece.turns) if piece.left else next(given)

    return step


def _pieces(source: Source, piece: _Piece) -> Generator[Iterator[Any], None, None]:
    """Each as an iterator that lets go of a result when it hands it on."""
    try:
        while left := source.next_piece():
            piece.left, piece.turns = left, repeat(left, len(left))
            yield map(list.pop, piece.turns)
    finally:
        source.close()


async def woken(came: Callable[[], bool], tell: Callable[[Callable[[], object] | None], None]) -> None:
    """Return when ``came()``, which is asked in the thread of the event loop. ``tell`` keeps what wakes it there."""
    import asyncio

    stirred, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed
            loop.call_soon_threadsafe(stirred.set)

    tell(wake)
    try:
        while not came():
            # not `wait_for`: before Python 3.12 it loses a cancellation that comes together with what it waits for
            late = loop.call_later(LONGEST_SLEEP_S, stirred.set)
            try:
                await stirred.wait()
            finally:
                late.cancel()
            stirred.clear()
    finally:
        tell(None)


def _told(progress: Progress) -> str:
    """`f: 12 of 3,000 done, 1 failed`"""
    name, counts, total, _, closed = progress
    of = "" if total is None else f" of {total:,}"
    parts = [f"{counts.succeeded + counts.failed:,}{of} done"]
    raised = counts.failed - counts.lost
    parts += [f"{raised:,} failed"] if raised else []
    parts += [f"{counts.lost:,} lost"] if counts.lost else []
    parts += [f"{counts.cancelled:,} cancelled"] if counts.cancelled else []
    parts += ["closed"] if closed else []
    return f"{name}: {', '.join(parts)}"
