"""A choice of tasks where a record has too many to draw or send: what failed, the longest, and an even choice."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ..backends.scheduled.figures import STATUSES
from .record import Record

_DONE = {number for number, name in enumerate(STATUSES) if name == "done"}
_RETRIED = {number for number, name in enumerate(STATUSES) if name == "retried"}
_SHARE = 4  # a quarter of the choice each for failed and for long tasks


def chosen(record: Record, most: int) -> list[tuple[int, ...]]:
    """At most so many rows of the record, in their order: all, where they are no more."""
    if len(record) <= most:
        return list(record.tuples())
    part = most // _SHARE
    failed: list[int] = []
    lengths: list[tuple[int, int]] = []
    for number, row in enumerate(record.tuples()):
        if row[5] not in _DONE and len(failed) < part:
            failed.append(number)
        lengths.append((row[11] - row[10], number))
    keep = {*failed, *(number for _, number in heapq.nlargest(part, lengths))}
    even = most - len(keep)
    keep.update(len(record) * number // even for number in range(even))
    return [row for number, row in enumerate(record.tuples()) if number in keep]


def tasks_in(rows: Iterable[tuple[int, ...]]) -> int:
    """How many tasks these rows are of: attempts that others follow are none."""
    return sum(row[5] not in _RETRIED for row in rows)


def sentence(record: Record, rows: int) -> str:
    """What was left out, in words; "" where nothing was."""
    if rows >= len(record):
        return ""
    return (
        f"Of {len(record):,} tasks {rows:,} are in it: up to a quarter of them failed ones, a quarter the longest, the "
        "others an even choice. Counters are of all."
    )
