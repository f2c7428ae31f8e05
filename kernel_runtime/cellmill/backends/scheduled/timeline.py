"""The binding to csched's timeline: journeys folded in C, without the GIL."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from ... import _csched
from .scheduler import Scheduler, check, nogil

ffi = _csched.ffi  # of the module whose calls release the GIL
SPAN_BYTES = int(ffi.sizeof("csched_span_t"))
MOST_SPANS = 1024  # csched keeps no more
MOST_FIGURES = 257
MOST_RUNNING = 1024
EVERY_RUN = -1
RUN = 4  # the interval in user code
MOST_BARS = 16  # of a histogram


@dataclass(frozen=True, slots=True)
class Figure:
    """One interval of one function's journeys: the number of tasks that have it, and nanoseconds."""

    count: int
    sum: int
    median: int
    p95: int
    p99: int
    largest: int


@dataclass(frozen=True, slots=True)
class FunctionFigures:
    """One function's journeys: the seven intervals, then pickling, then waiting beside others of its chunk."""

    function: int
    tasks: int
    failed: int
    cut: int
    lost: int  # of the cut ones
    of: tuple[Figure, ...]
    edges: tuple[int, ...]  # of the histogram of run times, in nanoseconds: each bar is from one to the next
    counts: tuple[int, ...]  # tasks in each bar


class Timeline:
    """A fold of one scheduler's journeys, which it does not keep alive. One thread at a time."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._of = weakref.ref(scheduler)
        out = ffi.new("csched_timeline_t **")
        check(nogil.csched_timeline_open(out), "folding journeys")
        self._handle = ffi.gc(out[0], nogil.csched_timeline_close)
        self._state = ffi.new("csched_timeline_state_t *")
        self._spans = ffi.new("csched_span_t[]", MOST_SPANS)
        self._run = EVERY_RUN

    def begin(self, since_ns: int, run: int = EVERY_RUN) -> None:
        """Start anew, with the tasks submitted since then (monotonic nanoseconds), of one run or of all."""
        self._run = run
        nogil.csched_timeline_begin(self._handle, self._scheduler().nogil_handle, since_ns, run)

    def _scheduler(self) -> Scheduler:
        scheduler = self._of()
        if scheduler is None:
            raise ReferenceError("the executor of these journeys is gone")
        return scheduler

    def fold(self) -> Any:
        """Read what came since; the state (csched_timeline_state_t), valid until the next call."""
        nogil.csched_timeline_fold(self._handle, self._scheduler().nogil_handle, self._state)
        return self._state

    def spans(self, after: int | None) -> bytes:
        """The spans that changed after that fold; None: all of them."""
        number = 2**64 - 1 if after is None else after
        n = nogil.csched_timeline_spans(self._handle, number, MOST_SPANS, self._spans)
        return bytes(ffi.buffer(self._spans, n * SPAN_BYTES))

    def running(self) -> bytes:
        """A span for each task that runs now."""
        spans = ffi.new("csched_span_t[]", MOST_RUNNING)
        n = nogil.csched_timeline_running(self._scheduler().nogil_handle, self._run, MOST_RUNNING, spans)
        return bytes(ffi.buffer(spans, n * SPAN_BYTES))

    @property
    def overwritten(self) -> bool:
        """Whether the oldest journeys, of whatever run, have made room for later ones."""
        cursor, missed = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        row = ffi.new("csched_journey_t[]", 1)
        check(nogil.csched_journeys(self._scheduler().nogil_handle, cursor, 1, row, missed), "a journey")
        return bool(missed[0])

    def figures(self) -> list[FunctionFigures]:
        """Return the figures of each function's tasks."""
        rows = ffi.new("csched_figures_t[]", MOST_FIGURES)
        n = nogil.csched_timeline_figures(self._handle, MOST_FIGURES, rows)
        edges, counts = ffi.new("uint64_t[]", MOST_BARS + 1), ffi.new("uint64_t[]", MOST_BARS)
        return [
            FunctionFigures(
                row.function,
                row.tasks,
                row.failed,
                row.cut,
                row.lost,
                tuple(Figure(f.count, f.sum, f.median, f.p95, f.p99, f.largest) for f in row.of),
                *self._histogram(row.function, edges, counts),
            )
            for row in rows[0:n]
        ]

    def _histogram(self, function: int, edges: Any, counts: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
        bars = nogil.csched_timeline_histogram(self._handle, function, RUN, MOST_BARS, edges, counts)
        return (tuple(edges[0 : bars + 1]), tuple(counts[0:bars])) if bars else ((), ())


def window(scheduler: Scheduler, run: int, start_ns: int, end_ns: int, most: int) -> tuple[bytes, int]:
    """A span for each task of that run that ran between these times, or for an even choice of `most` of them; how many
    did.
    """
    spans, found = ffi.new("csched_span_t[]", most), ffi.new("uint64_t *")
    n = check(
        nogil.csched_timeline_window(scheduler.nogil_handle, run, start_ns, end_ns, most, spans, found),
        "a part of the timeline",
    )
    return bytes(ffi.buffer(spans, n * SPAN_BYTES)), int(found[0])
