"""Progress of a long run, to be read outside the notebook: counts of the running calls, a few
times a second.

Inside the kernel :func:`report_to` polls cellmill's counters and appends lines to a file; outside, the
demo command follows the file. On a terminal :class:`Ticker` shows the same counts directly.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

FILE_VARIABLE = "CELLMILL_DEMO_PROGRESS"
"""Environment variable naming the file the kernel reports to."""
INTERVAL = 0.5
"""Seconds between two looks at the counters."""


def running() -> list[dict[str, Any]]:
    """The running calls: name, done, failed and total (None when unknown)."""
    import cellmill.run_registry

    found = []
    for run in cellmill.run_registry.active_runs():
        counts = run.counts()
        done = counts.succeeded + counts.failed + counts.cancelled
        found.append({"name": run.name, "done": done, "failed": counts.failed, "total": run.total})
    return found


class Watcher:
    """A daemon thread that hands :func:`running` to ``show`` every half second until closed."""

    def __init__(self, show: Callable[[list[dict[str, Any]]], None]) -> None:
        self._show = show
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="docking-progress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(INTERVAL):
            self._show(running())


def report_to(path: str | Path | None = None) -> Watcher | None:
    """Report the running calls to ``path`` (by default the one the demo command named), one JSON line
    each."""
    target = path or os.environ.get(FILE_VARIABLE)
    if not target:
        return None

    def show(calls: list[dict[str, Any]]) -> None:
        if calls:
            with open(target, "a") as file:
                file.write(json.dumps(calls) + "\n")

    return Watcher(show)


class Ticker:
    """One line on a terminal that is rewritten in place; on anything else a line every ten seconds."""

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._start = time.monotonic()
        self._last_line = self._start
        self._width = 0
        self._lock = threading.Lock()

    def show(self, calls: list[dict[str, Any]]) -> None:
        """Show the counts of the running ``calls``."""
        if not calls:
            return
        text = self._stamp() + "; ".join(_describe(call) for call in calls)
        with self._lock:
            if self._terminal:
                self._stream.write("\r" + text.ljust(self._width))
                self._width = len(text)
            elif time.monotonic() - self._last_line >= 10.0:
                self._last_line = time.monotonic()
                self._stream.write(text + "\n")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Write ``text`` as a line of its own."""
        with self._lock:
            clear = "\r" + " " * self._width + "\r" if self._terminal and self._width else ""
            self._width = 0
            self._last_line = time.monotonic()
            self._stream.write(f"{clear}{self._stamp()}{text}\n")
            self._stream.flush()

    def _stamp(self) -> str:
        seconds = time.monotonic() - self._start
        return f"[{int(seconds) // 60:2d}:{int(seconds) % 60:02d}] "


@contextmanager
def on_terminal() -> Iterator[Ticker]:
    """A :class:`Ticker` on stderr that shows the running calls until the block ends."""
    ticker = Ticker()
    watcher = Watcher(ticker.show)
    try:
        yield ticker
    finally:
        watcher.close()


def _describe(call: dict[str, Any]) -> str:
    total = f"/{call['total']:,}" if call["total"] else ""
    failed = f" ({call['failed']} failed)" if call["failed"] else ""
    return f"{call['name']} {call['done']:,}{total}{failed}"
