"""A choice of tasks where a record has too many to draw or send: what failed, the longest, and an even choice."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from ..backends.scheduled.figures import STATUSES
from ..diagnostics.short_text import counted
from .record import Record

_FAILED = {
    number for number, name in enumerate(STATUSES) if name in ("failed", "lost", "timeout", "dependency")
}
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
        if row[5] in _FAILED and len(failed) < part:
            failed.append(number)
        started, finished = row[11], row[12]
        lengths.append((finished - started if started and finished else 0, number))
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
    tasks = tasks_in(record.tuples())
    of = "tasks" if tasks == len(record) else f"attempts at {counted(tasks, 'task')}"
    return (
        f"Of {len(record):,} {of} {rows:,} are in it: up to a quarter of them failed ones, a quarter the longest, the "
        "others an even choice."
    )
