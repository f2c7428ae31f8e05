"""How many elements go into the next chunk of a map: by measured time, so that no knob is needed.

Two models. For plain functions every element costs about the same, and a chunk should last long enough to make its
own cost small. For batch functions a call costs ``a + c * n``, and ``n`` should make ``a`` a small part of it.
"""

from __future__ import annotations

from typing import Protocol

GROWTH = 4
SHORTEST_PART = (
    16  # chunks near the end shrink to this part of the wanted size, no further: each has its cost
)
CHUNK_NS = 2_000_000  # a chunk of this length hides what a chunk costs (about 30 us)
BATCH_NS = (
    100_000_000  # batches this long cost nothing but a smoother bar, and hide fixed costs nobody measured
)
BATCH_OVERHEAD = 0.02  # part of a batch's time that may go into its fixed cost; longer batches, if need be
LONGEST_BATCH_NS = 500_000_000
MOST_MARKED = 4096  # elements whose journeys a chunk can hold


class Sizes(Protocol):
    """Chooses chunk sizes."""

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


class ChunkSizes:
    """Sizes for functions of one element.

    ``crowding`` is the number of workers per CPU where there are more workers: they take turns, so that what they do
    seems to take so many times as long.
    """

    def __init__(self, workers: int, crowding: float = 1.0) -> None:
        self._workers = workers
        self._chunk_ns = CHUNK_NS * max(1.0, crowding)
        self._size = 1
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
