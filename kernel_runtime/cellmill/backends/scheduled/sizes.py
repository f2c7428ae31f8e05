"""The size of a map's next chunk, and the number of elements taken from its input ahead of the reader: by
measured time and size, so that no knob is needed.

Two models of chunks. For plain functions every element costs about the same, and a chunk should last long enough to
make its own cost small. For batch functions a call costs ``a + c * n``, and ``n`` should make ``a`` a small part of it.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from types import FunctionType, MethodType
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ..taking import AHEAD_BYTES

GROWTH = 4
SHORTEST_PART = (
    16  # chunks near the end shrink to this part of the wanted size, no further: each has its cost
)
FIRST_PART = 16  # of a chunk's length is what elements may take that were fast before, and no longer are
CHUNK_NS = 10_000_000  # what a chunk costs (30 us, ten times that where kernel and workers share cores) is hidden then
BATCH_NS = 100_000_000  # batches this long cost nothing but a smoother bar, and hide fixed costs that were not measured
BATCH_OVERHEAD = 0.02  # part of a batch's time that may go into its fixed cost; longer batches, if need be
LONGEST_BATCH_NS = 500_000_000
MOST_MARKED = 4096  # elements whose journeys a chunk can hold


class Paces:
    """Remembers the recent mean duration of a function's elements, for the first chunks of its next map."""

    def __init__(self) -> None:
        self._ns: WeakKeyDictionary[FunctionType, float] = WeakKeyDictionary()

    def note(self, function: Any, element_ns: float) -> None:
        """Remember a chunk's mean duration of an element, in nanoseconds. Callable objects are left out: their hash is
        their own code.
        """
        plain = _plain(function)
        if plain is not None:
            self._ns[plain] = element_ns

    def of(self, function: Any) -> float:
        """Return the mean duration of an element in nanoseconds; 0 where it is not known."""
        plain = _plain(function)
        return self._ns.get(plain, 0.0) if plain is not None else 0.0


def _plain(function: Any) -> FunctionType | None:
    """Return the function of a partial or of a method, which is made anew at each access; None where there is none."""
    found = function.func if type(function) is partial else function
    found = found.__func__ if type(found) is MethodType else found
    return found if type(found) is FunctionType else None


class Sizes(Protocol):
    """Chooses chunk sizes."""

    def observe(self, count: int, run_ns: int) -> None: ...

    def next(self, available: int, remaining: int | None) -> int: ...


class FixedSizes:
    """Chunks of the size that ``chunksize=`` asks for."""

    def __init__(self, size: int) -> None:
        self._size = size

    def observe(self, count: int, run_ns: int) -> None:
        pass

    def next(self, available: int, remaining: int | None) -> int:
        return min(self._size, available)


class ChunkSizes:
    """Sizes for functions of one element.

    ``crowding`` is the number of workers per CPU where there are more workers: they take turns, so that what they do
    seems to take so many times as long.
    ``expected_ns`` is what an element took in an earlier map; the first chunks would be that part of a chunk's length.
    """

    def __init__(self, workers: int, crowding: float = 1.0, expected_ns: float = 0.0) -> None:
        self._workers = workers
        self._chunk_ns = CHUNK_NS * max(1.0, crowding)
        first = self._chunk_ns / FIRST_PART / expected_ns if expected_ns else 1.0
        self._size = int(max(1.0, min(first, MOST_MARKED)))
        self._least = 1
        self._element_ns = 0.0

    def observe(self, count: int, run_ns: int) -> None:
        """A chunk of ``count`` elements ran for ``run_ns``."""
        mean = run_ns / count
        self._element_ns = 0.7 * self._element_ns + 0.3 * mean if self._element_ns else mean
        wanted = int(self._chunk_ns / max(self._element_ns, 1.0))
        self._size = max(1, min(wanted, self._size * GROWTH, MOST_MARKED))
        self._least = wanted // SHORTEST_PART

    def next(self, available: int, remaining: int | None) -> int:
        """Elements for the next chunk; ``remaining`` is what is left in all, if known."""
        share = max(_share(remaining, self._workers), self._least)
        return max(1, min(self._size, available, share))


class BatchSizes:
    """Sizes for functions that take a list."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._size = 1
        self._fastest: dict[int, tuple[int, float]] = {}  # by magnitude: (count, ns) of the fastest call

    def observe(self, count: int, run_ns: int) -> None:
        """A batch of ``count`` elements ran for ``run_ns``."""
        magnitude = count.bit_length()
        best = self._fastest.get(magnitude)
        if best is None or run_ns / count < best[1] / best[0]:
            self._fastest[magnitude] = (count, float(max(run_ns, 1)))
        if count >= self._size // 2:
            self._size = max(1, min(self._wanted(), self._size * GROWTH))

    def _wanted(self) -> int:
        small_count, small_ns = self._fastest[min(self._fastest)]
        count, ns = self._fastest[max(self._fastest)]
        if count == small_count:
            return count * GROWTH if ns * GROWTH <= BATCH_NS else max(1, int(count * BATCH_NS / ns))
        each = max((ns - small_ns) / (count - small_count), 0.02 * ns / count)
        fixed = max(small_ns - each * small_count, 0.0)
        by_overhead = fixed * (1 - BATCH_OVERHEAD) / (BATCH_OVERHEAD * each)
        by_length = max(BATCH_NS / each, 1.0)
        longest = max((LONGEST_BATCH_NS - fixed) / each, 1.0)
        return max(1, int(min(max(by_overhead, by_length), longest)))

    def next(self, available: int, remaining: int | None) -> int:
        """Elements for the next batch; ``remaining`` is what is left in all, if known."""
        share = max(_share(remaining, self._workers), self._size // SHORTEST_PART)
        return max(1, min(self._size, available, share))


def _share(remaining: int | None, workers: int) -> int:
    """So small near the end that no worker is left with a long last chunk."""
    return 1 << 62 if remaining is None else max(1, -(-remaining // (3 * workers)))


AHEAD_NS = 2_000_000_000  # of measured work may be taken from an iterator and not yet read
MOST_AHEAD = 1_000_000  # elements
LEAST_AHEAD = 2  # elements for each worker: one runs, the next waits


class ReadAhead:
    """Limits how much of a map's input may be taken and not yet read, by what its elements have cost so far.

    Counts elements from the first to the last; ``first`` is the one to be read next.
    """

    def __init__(self, workers: int, chunksize: int | None, prefetch: int | None, *, whole: bool) -> None:
        self.whole = whole and prefetch is None  # an input with an end, of which everything may be taken
        self._prefetch = prefetch
        self._least = LEAST_AHEAD * workers * (chunksize or 1)
        self._taken: deque[tuple[int, int]] = deque()  # (end, bytes) of blocks of elements
        self._taken_bytes = 0
        self._count = self._bytes = 0  # ever taken
        self._results = self._result_bytes = 0  # ever received
        self._read_bytes = 0  # of the results that were read; the reader counts them, the resolver what comes
        self.element_ns = 0.0  # the time that elements take, as measured last

    def lift(self) -> None:
        """`prefetch` was for a reader, and there is none."""
        self._prefetch = None
        self.whole = True

    def took(self, count: int, size: int) -> None:
        """So many elements more."""
        self._count += count
        if size:
            self._bytes += size
            self._taken_bytes += size
            self._taken.append((self._count, size))

    def came(self, count: int, size: int) -> None:
        """Results, which wait to be read."""
        self._results += count
        self._result_bytes += size

    def read(self, size: int) -> None:
        """Results of so many bytes were read."""
        self._read_bytes += size

    def observe(self, count: int, run_ns: int) -> None:
        """A chunk of ``count`` elements ran for ``run_ns``."""
        mean = max(run_ns / count, 1.0)
        self.element_ns = 0.7 * self.element_ns + 0.3 * mean if self.element_ns else mean

    def room(self, first: int, running: int) -> int:
        """Return how many more elements may be taken; ``running``: how many of those taken have no result yet."""
        while self._taken and self._taken[0][0] <= first:
            self._taken_bytes -= self._taken.popleft()[1]
        unread = self._count - first
        return min(self.limit() - unread, max(self._by_bytes(running), 0 if unread else 1))

    def limit(self) -> int:
        """Return how many elements may be taken and unread, whatever their size."""
        if self._prefetch is not None:
            return self._prefetch
        if self.whole:
            return 1 << 62
        measured = AHEAD_NS / self.element_ns if self.element_ns else 0.0
        return max(self._least, min(int(measured), MOST_AHEAD))

    def _by_bytes(self, running: int) -> int:
        if self._prefetch is not None:
            return 1 << 62
        used = float(self._taken_bytes)
        each = self._bytes / self._count if self._count else 0.0
        if not self.whole:
            result = self._result_bytes / self._results if self._results else 0.0
            used += self._result_bytes - self._read_bytes + running * result
            each += result
        left = AHEAD_BYTES - used
        return int(left / each) if each else 1 << 62
