"""What the journeys tell of the elements of a chunk: only its results say how each of them ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .scheduler import Scheduler, ffi, with_gil


class EndedChunk(Protocol):
    """What is asked of a chunk that is over."""

    @property
    def items(self) -> Sequence[Any]: ...

    @property
    def slot(self) -> int: ...

    @property
    def marks(self) -> dict[int, list[int]] | None:
        """Elements that did not end well, by status."""

    @property
    def rest(self) -> int | None:
        """The status of its elements without an outcome: they run again as other chunks, or are cancelled; None: its
        own.
        """

    @property
    def culprit(self) -> int | None:
        """The element with which its worker was lost; None: not known."""


def tell(scheduler: Scheduler, chunk: EndedChunk, status: int, good: int) -> None:
    """Write what is known of a chunk's elements. ``status``: its own; ``good``: how many outcomes had come before."""
    marks, count = dict(chunk.marks or {}), len(chunk.items)
    if count > 1 and status > with_gil.CSCHED_ERROR:  # it has one row
        statuses = [with_gil.CSCHED_VALUE] * good
        for ended, places in marks.items():
            for place in places:
                if place < good:
                    statuses[place] = ended
        if good < count:
            first = good if chunk.culprit is None else chunk.culprit
            several = 1 if chunk.culprit is not None else count - first
            with_gil.csched_elements_ended(
                scheduler.handle, chunk.slot, first, several, ffi.new("uint32_t[]", statuses), good
            )
        again = sum(place >= good for place in marks.get(with_gil.CSCHED_RETRIED, ()))
        marks = {with_gil.CSCHED_RETRIED: [0]} if 0 < again == count - good else {}
    if chunk.rest is not None:
        marks[chunk.rest] = list(range(good, count))
    for ended, places in marks.items():
        with_gil.csched_mark_elements(
            scheduler.handle, chunk.slot, ended, ffi.new("uint32_t[]", places), len(places)
        )
