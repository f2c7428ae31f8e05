"""What workers used over time, for views that come late: bounded, however long the work runs; and how processor time
becomes a number of processors.
"""

from __future__ import annotations

import struct
from array import array
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import NamedTuple

MOST = 600  # points of the present piece of work
MOST_EARLIER, EARLIER = 150, 16  # points of each earlier one, and how many of these are kept
MOST_WORKERS = 64  # that are kept one by one
_WORKER = struct.Struct("=Iff")  # index, bytes, processors; NaN: not known
_NUMBERS = struct.Struct("=8d")  # the fields of a point but its workers
UNKNOWN = float("nan")


class Point(NamedTuple):
    """What was used from ``start`` to ``time``, in monotonic seconds.

    Workers and processors are means over that time, memory is the highest that was seen in it. NaN: not known.
    """

    start: float
    time: float
    busy: float  # workers with a task
    idle: float  # workers without one
    memory: float  # of all workers, in bytes
    cpu: float  # processors that all workers used
    kernel: float  # processors that the kernel used
    used: float  # memory of the machine, or of the control group, that is in use
    workers: bytes  # of each worker; see `worker_values`


def pack_workers(values: Mapping[int, tuple[float, float]]) -> bytes:
    """Pack memory and processors by worker, of the first ones."""
    first = sorted(values.items())[:MOST_WORKERS]
    return b"".join(_WORKER.pack(index, *pair) for index, pair in first)


def worker_values(packed: bytes) -> dict[int, tuple[float, float]]:
    """Return memory and processors by worker."""
    return {index: (memory, cpu) for index, memory, cpu in _WORKER.iter_unpack(packed)}


def merged(one: Point, other: Point) -> Point:
    """Return two points that follow one another as one."""
    before, after = one.time - one.start, other.time - other.start

    def mean(first: float, second: float) -> float:
        if first != first or second != second:
            return second if first != first else first
        whole = before + after
        return (first * before + second * after) / whole if whole > 0 else second

    mine, theirs = worker_values(one.workers), worker_values(other.workers)
    nothing = (UNKNOWN, UNKNOWN)
    workers = {
        index: (
            _most(mine.get(index, nothing)[0], theirs.get(index, nothing)[0]),
            mean(mine.get(index, nothing)[1], theirs.get(index, nothing)[1]),
        )
        for index in mine.keys() | theirs.keys()
    }
    return Point(
        one.start,
        other.time,
        mean(one.busy, other.busy),
        mean(one.idle, other.idle),
        _most(one.memory, other.memory),
        mean(one.cpu, other.cpu),
        mean(one.kernel, other.kernel),
        _most(one.used, other.used),
        pack_workers(workers),
    )


def _most(one: float, other: float) -> float:
    return other if one != one or other > one else one


class _Points:
    """Points one behind the other in one block of memory.

    As objects of their own they would be among those of tasks that come and go, and each would keep a whole arena of
    Python's allocator, 1 MB, from being given back.
    """

    def __init__(self, points: Iterable[Point] = ()) -> None:
        self._data = bytearray()
        self._ends = array("L", [0])
        for point in points:
            self.append(point)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> Point:
        start, end = self._ends[place], self._ends[place + 1]
        numbers = _NUMBERS.unpack_from(self._data, start)
        return Point._make((*numbers, bytes(self._data[start + _NUMBERS.size : end])))

    def __iter__(self) -> Iterator[Point]:
        return map(self.__getitem__, range(len(self)))

    def append(self, point: Point) -> None:
        self._data += _NUMBERS.pack(*point[:-1])
        self._data += point.workers
        self._ends.append(len(self._data))

    def replace_last(self, point: Point) -> None:
        self._ends.pop()
        del self._data[self._ends[-1] :]
        self.append(point)

    def start_of(self, place: int) -> float:
        return float(_NUMBERS.unpack_from(self._data, self._ends[place])[0])


def _halved(points: Iterable[Point]) -> Iterator[Point]:
    """Yield each two of them as one."""
    each = iter(points)
    for point in each:
        after = next(each, None)
        yield point if after is None else merged(point, after)


class UsageHistory:
    """Points in the order of time. Where those of one piece of work become too many, each two become one, and later
    ones stand for twice the time.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._earlier: deque[_Points] = deque(maxlen=EARLIER)
        self._points = _Points()
        self._least = 0.0  # seconds that a point stands for

    def begin(self) -> None:
        """A new piece of work begins."""
        if not self._points:
            return
        kept = self._points
        while len(kept) > MOST_EARLIER:
            kept = _Points(_halved(kept))
        self._earlier.append(kept)
        self._points, self._least = _Points(), 0.0

    def push(self, point: Point) -> None:
        """Take the newest point."""
        kept = self._points
        last = len(kept) - 1
        if kept and point.time - kept.start_of(last) <= self._least:
            kept.replace_last(merged(kept[last], point))
            return
        kept.append(point)
        if len(kept) > self._most:
            self._least = max(2 * self._least, 2 * (point.time - kept.start_of(0)) / self._most)
            self._points = _Points(_halved(kept))

    def points(self, since: float, until: float = float("inf")) -> list[Point]:
        """Return the points of that time, oldest first, at most as many as of one piece of work."""
        found = [
            point
            for part in (*self._earlier, self._points)
            for point in part
            if since < point.time and point.start < until
        ]
        while len(found) > self._most:
            found = [*_halved(found)]
        return found


def of_worker(points: Iterable[Point], index: int) -> list[tuple[float, float, float, float]]:
    """Return start, time, memory and processors of one worker, of the points that have it."""
    rows = ((point, worker_values(point.workers).get(index)) for point in points)
    return [(point.start, point.time, *values) for point, values in rows if values is not None]


class Shares:
    """How many processors processes use, from their processor time at two moments. One thread at a time."""

    def __init__(self, least: float = 0.0) -> None:
        """``least``: seconds between the two moments, at least."""
        self._least = least
        self._before: dict[Hashable, tuple[float, float, float]] = {}  # moment, processor time, processors

    def of(self, process: Hashable, at: float, seconds: float | None) -> float:
        """Return the processors that a process used since the moment before; NaN where that is not known. ``seconds``:
        the processor time that it had used at this moment, by a clock of its own.
        """
        if seconds is None:
            return UNKNOWN
        before = self._before.get(process)
        share = UNKNOWN
        if before is not None:
            passed = at - before[0]
            if passed <= self._least:
                return before[2]
            share = max(0.0, (seconds - before[1]) / passed)
        self._before[process] = (at, seconds, share)
        return share

    def keep(self, processes: Collection[Hashable]) -> None:
        """Forget all but these."""
        self._before = {key: value for key, value in self._before.items() if key in processes}
