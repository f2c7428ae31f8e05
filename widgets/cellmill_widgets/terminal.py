"""Progress in a terminal: one line on stderr, drawn over itself."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from cellmill_widgets.bars import LIMIT, View, drawn, text, total

QUIET_BELOW = 2.0
"""Seconds a run must have lasted to be mentioned where stderr is no terminal."""


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False  # there is no stderr, or it was closed


class Terminal:
    """One line while runs go on, one for each that ended; after the first few, one for all others."""

    def __init__(self) -> None:
        self._drawn = False
        self._lines = 0
        self._folded: list[View] = []

    def draw(self, views: Sequence[View]) -> None:
        """Redraw the line; nothing where stderr is no terminal."""
        running = [view for view in views if not view.finished]
        if not running or not _is_terminal():
            return
        whole = running[0] if len(running) == 1 else total(running)
        columns = shutil.get_terminal_size().columns
        self._write(f"\r\x1b[2K{drawn(whole, columns)}")
        self._drawn = True

    def ended(self, view: View) -> None:
        """Leave a line for a run that ended."""
        terminal = _is_terminal()
        self.clear()
        if not terminal and view.elapsed < QUIET_BELOW:
            return
        if self._lines < LIMIT:
            self._lines += 1
            self._write(f"{text(view)}\n")
            return
        self._folded = [view] if not self._folded else [*self._folded, view]

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._write("\r\x1b[2K")
            self._drawn = False

    def settle(self) -> None:
        """The cell or the program ends: say what the folded runs did, and count anew."""
        self.clear()
        if self._folded:
            self._write(f"{text(total(self._folded))}\n")
        self._lines, self._folded = 0, []

    @staticmethod
    def _write(words: str) -> None:
        try:
            sys.stderr.write(words)
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):
            return  # stderr was closed; there is nowhere to say so
