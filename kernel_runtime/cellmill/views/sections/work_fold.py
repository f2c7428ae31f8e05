"""The journeys of the present piece of work, folded for the sections that show them.

Journeys are folded in C (csched's timeline). This module knows whose they are: the default executor's at the moment,
if its backend keeps a journey ring.
"""

from __future__ import annotations

import struct
import threading
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cellmill.backends._observing import Observer, Timeline
from cellmill.executor import Executor
from cellmill.history import Moved
from cellmill.telemetry import schema

if TYPE_CHECKING:
    from cellmill.backends.scheduled.timeline import FunctionFigures

_colours: dict[str, int] = {}  # by name, in the order in which views are told of them
_colour_lock = threading.Lock()
OTHER_FUNCTIONS = 2**32 - 1
SPAN = struct.Struct("=QQQIIIHHIIIBBBBII")  # csched_span_t
INTERVALS = (*schema.INTERVALS, "pickle", "beside")
_MOST_FOLDS = 64  # twice what a full ring takes


def _seconds(ns: int) -> float:
    return round(ns * 1e-9, 9)


def name_of(names: Mapping[int, str], number: int) -> str:
    """A function's name as it was defined, without the place of its definition."""
    if number == OTHER_FUNCTIONS:
        return "other functions"
    name = names.get(number, "?")
    return "a call" if name == "?" else name.rpartition("<locals>.")[2]


def named(names: Mapping[int, str], numbers: Iterable[int]) -> list[schema.FunctionName]:
    """Return functions as views read them, in the order of their numbers."""
    found: list[schema.FunctionName] = []
    for number in sorted(numbers):
        name = name_of(names, number)
        with _colour_lock:
            colour = _colours.setdefault(name, len(_colours))
        found.append({"number": number, "name": name, "colour": colour})
    return found


def functions_in(spans: bytes) -> set[int]:
    """The numbers of the functions in some spans."""
    found: set[int] = set()
    for at in range(0, len(spans), SPAN.size):
        found.update(SPAN.unpack_from(spans, at)[8:11])
    found.discard(OTHER_FUNCTIONS)
    return found


@dataclass(frozen=True, slots=True)
class Folded:
    """Result of reading the journeys once."""

    work: int
    state: Any  # csched_timeline_state_t
    timeline: Timeline
    function_names: Mapping[int, str]


class WorkFold:
    """One fold for one reader; one thread at a time."""

    def __init__(self, run: int | None = None) -> None:
        """``run``: only its tasks, by the backend's number."""
        self._run = run
        self._timeline: Timeline | None = None
        self._of: weakref.ref[Observer] | None = None
        self._work = (0, 0.0)

    def look(self, executor: Executor, work: tuple[int, float]) -> Folded | None:
        """Fold what came since; `work` is the number of the piece of work and when it began, monotonic seconds.

        None when the executor's backend keeps no journeys.
        """
        observer = executor._backend.observer
        if observer is None:
            return None
        if self._timeline is None or self._of is None or self._of() is not observer:
            self._timeline = observer.timeline()
            self._of = weakref.ref(observer)
            self._begin(self._timeline, work)
        elif work != self._work:
            self._begin(self._timeline, work)
        return Folded(work[0], fold_all(self._timeline), self._timeline, observer.function_names)

    def _begin(self, timeline: Timeline, work: tuple[int, float]) -> None:
        self._work = work
        if self._run is None:
            timeline.begin(int(work[1] * 1e9))
        else:
            timeline.begin(0, self._run)


def fold_all(timeline: Timeline) -> Any:
    """Fold until nothing is left to read, that is some milliseconds for a full ring; the state."""
    for _ in range(_MOST_FOLDS):
        state = timeline.fold()
        if not state.behind:
            break
    return state


def journey_of(
    figures: FunctionFigures,
    names: Mapping[int, str],
    peaks: Mapping[int, int],
    moved: Mapping[int, Moved],
) -> schema.FunctionJourney:
    """One function's figures as views read them. ``peaks``: see `ResourceUse`; ``moved``: see `moved_by`."""
    bytes_moved = moved.get(figures.function)
    return {
        "number": figures.function,
        "name": name_of(names, figures.function),
        "tasks": figures.tasks,
        "failed": figures.failed,
        "cut": figures.cut,
        "lost": figures.lost,
        "intervals": [
            {
                "known": f.count,
                "total": _seconds(f.sum),
                "median": _seconds(f.median),
                "p95": _seconds(f.p95),
                "p99": _seconds(f.p99),
                "longest": _seconds(f.largest),
            }
            for f in figures.of
        ],
        "times": {"edges": [_seconds(edge) for edge in figures.edges], "counts": list(figures.counts)},
        "memory": peaks.get(figures.function),
        "sent": None if bytes_moved is None else bytes_moved.sent,
        "received": None if bytes_moved is None else bytes_moved.received,
    }


def moved_by(executor: Executor, figures: Iterable[FunctionFigures], run: int | None) -> Mapping[int, Moved]:
    """Return the bytes that tasks moved, by function: of the present piece of work, or of a run (by the backend's
    number) with a single function.
    """
    functions, observer = [each.function for each in figures], executor._backend.observer
    if run is None:
        return {} if observer is None else observer.moved_by(functions)
    moved = executor._backend.moved(run) if len(functions) == 1 else None
    return {} if moved is None else {functions[0]: moved}


def journeys_of(
    figures: list[FunctionFigures],
    names: Mapping[int, str],
    peaks: Mapping[int, int],
    moved: Mapping[int, Moved],
) -> list[schema.FunctionJourney]:
    """All functions', those whose tasks took the most time first."""
    by_time = sorted(figures, key=lambda f: sum(part.sum for part in f.of), reverse=True)
    return [journey_of(f, names, peaks, moved) for f in by_time]
