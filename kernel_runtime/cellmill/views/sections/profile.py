"""What workers execute, as a tree of calls."""

from __future__ import annotations

from cellmill.diagnostics.places import place_of
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.telemetry.profile import Bar, Flame

MOST_BARS = 400
LEAST_SHARE = 0.002  # of all time; what has less is shown together


class ProfileSection:
    """The samples of all workers, merged; once a second."""

    interval = 1.0

    def __init__(self) -> None:
        self._last: object = None

    def restart(self) -> None:
        self._last = None

    def frame(self, executor: Executor) -> schema.Profile | None:
        profiling = executor._backend.profiling
        on = profiling is not None and profiling.on
        flame = Flame(0.0, 0, ()) if profiling is None else profiling.flame(MOST_BARS, LEAST_SHARE)
        seen = (profiling is None, on, flame)
        if seen == self._last:
            return None
        self._last = seen
        return told(profiling is not None, on, flame, "" if profiling is None else profiling.note)


def told(known: bool, on: bool, flame: Flame, note: str) -> schema.Profile:
    """Convert a profile to the schema's form."""
    labels: dict[tuple[str, str], int] = {}
    return {
        "cellmill": schema.VERSION,
        "kind": "profile",
        "known": known,
        "on": on,
        "seconds": round(flame.seconds, 3),
        "samples": flame.samples,
        "note": note,
        "label": [labels.setdefault(_label(bar), len(labels)) for bar in flame.bars],
        "labels": [{"name": name, "place": place} for name, place in labels],
        "parent": [bar.parent for bar in flame.bars],
        "total": [round(bar.total, 3) for bar in flame.bars],
        "own": [round(bar.own, 3) for bar in flame.bars],
        "line": [bar.hottest for bar in flame.bars],
    }


def _label(bar: Bar) -> tuple[str, str]:
    return bar.name, place_of(bar.file, bar.line)
