"""How many tasks of a record waited, ran and were over at any moment, of the stamps of its journeys."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import NamedTuple

from ..backends.scheduled.figures import STATUSES
from ..history import RunRecord
from .record import Record

_RETRIED = STATUSES.index("retried")
_DONE = [number for number, name in enumerate(STATUSES) if name == "done"]
_CANCELLED = STATUSES.index("cancelled")
_LOST = STATUSES.index("lost")


class Counts(NamedTuple):
    """Tasks at one moment."""

    submitted: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    lost: int  # of the failed ones

    @property
    def over(self) -> int:
        """Those that have ended."""
        return self.succeeded + self.failed + self.cancelled

    @property
    def queued(self) -> int:
        """Those that wait."""
        return max(0, self.submitted - self.running - self.over)


class Moments:
    """The counters of a record over time; times are monotonic nanoseconds."""

    def __init__(self, record: Record) -> None:
        submitted, started, finished, lost = [], [], [], []
        ends: tuple[list[int], list[int], list[int]] = ([], [], [])
        before = (0, 0, 0, 0)
        for ticket, _, _, _, _, status, attempt, first, _, _, _, begin, end, _, last, _, _ in record.tuples():
            if not attempt:
                submitted.append(first)
            together = (ticket, attempt, begin, end)  # the items of a batch: one of them runs, as live
            if begin and (end or last) and together != before:
                started.append(begin)
                finished.append(end or last)
            before = together
            if status != _RETRIED:
                kind = 0 if status in _DONE else 2 if status == _CANCELLED else 1
                ends[kind].append(end or last)
            if status == _LOST:
                lost.append(end or last)
        self._submitted, self._started, self._finished, self._lost = map(
            _sorted, (submitted, started, finished, lost)
        )
        self._ends = tuple(map(_sorted, ends))
        self.first = self._submitted[0] if self._submitted else record.began_ns
        self.last = max((column[-1] for column in self._ends if column), default=self.first)

    def at(self, moment: int) -> Counts:
        """The counters at one moment."""
        begun, over = bisect_right(self._started, moment), bisect_right(self._finished, moment)
        succeeded, failed, cancelled = (bisect_right(column, moment) for column in self._ends)
        return Counts(
            bisect_right(self._submitted, moment),
            max(0, begun - over),
            succeeded,
            failed,
            cancelled,
            bisect_right(self._lost, moment),
        )

    def evenly(self, count: int) -> list[int]:
        """So many moments from the first task's submission to the last one's end."""
        length = self.last - self.first
        return [self.first + length * number // max(1, count - 1) for number in range(count)]


def final(run: RunRecord, counts: Counts) -> Counts:
    """The counters at the last moment, with tasks that have no journeys of their own: most often cancelled ones."""
    return Counts(run.submitted, counts.running, run.succeeded, run.failed, run.cancelled, run.lost)


def _sorted(values: list[int]) -> array[int]:
    values.sort()
    return array("Q", values)
