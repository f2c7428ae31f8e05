"""A record played in a terminal: one line that tells how far it was, at the speed that is asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from cellmill.diagnostics.short_text import duration_text
from cellmill.records.moments import Counts, Moments, final
from cellmill.records.record import Record
from cellmill.telemetry.text_bar import text_bar

WIDTH = 40  # characters of the bar
PAUSE = 0.05  # seconds between lines


def play(
    record: Record, speed: float, out: TextIO | None = None, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Play it; in what is no terminal each line is of its own, and there are at most twenty."""
    out = sys.stdout if out is None else out
    moments = Moments(record)
    length = (moments.last - moments.first) / 1e9
    live = out.isatty()
    steps = max(1, min(int(length / speed / PAUSE), 10_000 if live else 20))
    for step in range(steps + 1):
        at = moments.first + (moments.last - moments.first) * step // steps
        counts = moments.at(at)
        if step == steps:
            counts = final(record.run, counts)
        line = _line(record, counts, (at - moments.first) / 1e9)
        out.write(f"\r{line}\033[K" if live else f"{line}\n")
        out.flush()
        if step < steps:
            sleep(length / speed / steps)
    if live:
        out.write("\n")


def _line(record: Record, counts: Counts, elapsed: float) -> str:
    states = {
        "d": counts.succeeded,
        "f": counts.failed - counts.lost,
        "l": counts.lost,
        "c": counts.cancelled,
    }
    bar = text_bar(states, record.run.submitted, WIDTH)
    failures = f", {counts.failed:,} failed" if counts.failed else ""
    failures += f" ({counts.lost:,} lost)" if counts.lost else ""
    failures += f", {counts.cancelled:,} cancelled" if counts.cancelled else ""
    return (
        f"{record.run.name} [{bar}] {counts.over:,} of {record.run.submitted:,}{failures}, {counts.running:,} running, "
        f"{counts.queued:,} waiting, {duration_text(elapsed)}"
    )
