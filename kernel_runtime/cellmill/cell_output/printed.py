"""The printed lines of one notebook cell's tasks, each with its task, in bounded memory.

All of it is folded under the bars of the cell; the first lines come below these as well, as a plain loop would show
them. The bars' owner sets it: see `Run.printed`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

PLAIN = 20  # lines of a cell that are shown as they are
MOST_CHARACTERS = 1 << 19
LATE_SECONDS = 2.0
ALIKE = 2  # of lines in a row that are the same, so many are shown


class Line(NamedTuple):
    """One line, or several equal lines in a row."""

    who: str  # the function and its task
    number: int  # of the stream: 1 or 2
    text: str
    times: int


class Printed:
    """The printed lines of one cell. Thread-safe."""

    def __init__(self, begins: Callable[[], object] = int) -> None:
        self._begins = begins  # called before the first line is shown
        self._lock = threading.Lock()
        self._lines: list[Line] = []
        self._open: dict[tuple[str, int], int] = {}  # index of a line that has no end yet
        self._callers: set[str] = set()
        self._characters = 0
        self._shown = 0
        self._draw_again: Callable[[], object] | None = None
        self._until = 0.0
        self.closed = False
        self.count = self.dropped = self.version = 0
        self.folded = False  # not all of it is shown as it is, too
        self.where = ""  # the rest of it can be had

    def begin(self) -> None:
        """Something is going to be shown: the bars must be above it."""
        if not self.closed:
            self._begins()

    def take(self, who: str, number: int, lines: list[tuple[str, int]], most: int) -> int:
        """Keep lines, each with how often it comes, up to ``most`` in all; how many of these are shown as well."""
        with self._lock:
            if self.closed and time.monotonic() > self._until:
                return len(lines)
            self.version += 1
            self._callers.add(who)
            plain = 0
            for line, times in lines:
                if self._shown < PLAIN and not self.folded:
                    plain += 1
                    self._shown += min(times, ALIKE)
                else:
                    self.folded = True
                self._keep(who, number, line, times, most)
            return plain

    def _keep(self, who: str, number: int, line: str, times: int, most: int) -> None:
        at = self._open.pop((who, number), None)
        if at is not None:
            line = self._lines[at].text + line
        else:
            self.count += times
        size = min(times, ALIKE) * len(line)
        if at is None and (len(self._lines) >= most or self._characters + size > MOST_CHARACTERS):
            self.dropped += times
            return
        self._characters += size
        if at is None:
            at = len(self._lines)
            self._lines.append(Line(who, number, "", times))
        if not line.endswith("\n") and len(line) < MOST_CHARACTERS:
            self._open[who, number] = at
        self._lines[at] = Line(who, number, line, times)

    def close(self, draw_again: Callable[[], object] | None = None) -> None:
        """The bars are not drawn any more. What comes in a moment has them drawn again; after that, or if they cannot
        be, lines are shown as they are.

        Tasks are counted as done before all that they printed is heard.
        """
        with self._lock:
            self.closed = True
            self._draw_again = draw_again
            self._until = time.monotonic() + LATE_SECONDS if draw_again is not None else 0.0

    def late(self) -> None:
        """Lines were taken: see `close`."""
        draw_again = self._draw_again
        if draw_again is not None and time.monotonic() <= self._until:
            draw_again()

    def snapshot(self, last: int | None = None) -> tuple[list[Line], dict[str, Any]]:
        """The lines, or the last ones, and the counts: lines, callers, dropped."""
        with self._lock:
            lines = self._lines[-last:] if last else list(self._lines)
            return lines, {"lines": self.count, "callers": sorted(self._callers), "dropped": self.dropped}
