"""Earlier runs of the same calls with fewer workers: the only thing that proves that these take less time."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from ..history import RunRecord

SAME = 0.1  # of the wall time: by more a run is not all of the work


class Earlier(NamedTuple):
    """Runs of the same calls with fewer workers."""

    run: int  # id of the newest one
    workers: int
    seconds: float  # wall time, the median of theirs


def with_fewer_workers(
    records: Sequence[RunRecord], backend: str, workers: int, tasks: int, wall: float
) -> Earlier | None:
    """Return the fastest earlier runs of what the newest record is of, if that is all of a piece of work; else None.

    The same calls are those of a function with the same code, as many of them, with as many bytes of arguments and
    results, made by a cell with the same text on the same backend. ``records``: oldest first; the other arguments are
    of the work.
    """
    last = records[-1] if records else None
    if last is None or not _is_whole(last) or last.succeeded != tasks or abs(last.wall - wall) > SAME * wall:
        return None
    found: dict[int, list[RunRecord]] = {}
    for record in records[:-1]:
        size = _steady_size(record, backend)
        if _is_whole(record) and _calls(record) == _calls(last) and 0 < size < workers:
            found.setdefault(size, []).append(record)
    known = [Earlier(runs[-1].id, size, median(run.wall for run in runs)) for size, runs in found.items()]
    return min(known, key=lambda earlier: earlier.seconds, default=None)


def _is_whole(record: RunRecord) -> bool:
    """Whether all its calls succeeded, in a cell that is known."""
    return bool(record.source and record.code) and record.succeeded == record.submitted and not record.hits


def _calls(record: RunRecord) -> tuple[object, ...]:
    return record.source, record.code, record.submitted, record.moved


def _steady_size(record: RunRecord, backend: str) -> int:
    """Return how many workers of this backend a run had; 0 where their number changed or is not known."""
    figures = record.figures
    if figures is None or figures.backend != backend:
        return 0
    return figures.size if round(figures.workers) == figures.size else 0  # at first they may only start
