"""Progress in a terminal: one line on stderr, drawn over itself.

What the program prints goes to the same terminal. So the line is taken away before text comes, and is not drawn while a
line of the program's is unfinished.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from cellmill_widgets.bars import LIMIT, View, drawn, text, total

QUIET_BELOW = 2.0
"""Seconds a run must have lasted to be mentioned where stderr is no terminal."""
_STREAMS = ("stdout", "stderr")


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False  # there is no such stream, or it was closed


class _Heard:
    """Wraps sys.stdout or sys.stderr: the terminal is told of text before it is written."""

    def __init__(self, under: Any, terminal: Terminal) -> None:
        self._under = under
        self._terminal = terminal
        self._pid = os.getpid()

    def write(self, words: str) -> int:
        """Text of the program."""
        if os.getpid() != self._pid:  # a forked child: the lock may have been held by a thread it has not
            self._under.write(self._terminal.before_words_of_a_child(words))
            return int(self._under.write(words) or 0)
        with self._terminal.printing(words):
            return int(self._under.write(words) or 0)

    def writelines(self, lines: Iterable[str]) -> None:
        """See `write`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._under)


class Terminal:
    """One line while runs go on, one for each that ended; after the first few, one for all others."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._drawn = False
        self._writing = False
        self._unfinished = False
        self._going = False  # runs, so that the line may be drawn at any moment
        self._lines = 0
        self._left: list[str] = []
        self._folded: list[View] = []
        self._heard: dict[str, _Heard] = {}

    def attend(self) -> None:
        """Hear what the program prints from now on, where that goes to a terminal."""
        for name in _STREAMS:
            stream = getattr(sys, name)
            if _is_terminal(stream):
                self._heard[name] = _Heard(stream, self)
                setattr(sys, name, self._heard[name])

    def leave(self) -> None:
        """Leave the streams as they were, but one that was replaced since."""
        for name, heard in self._heard.items():
            if getattr(sys, name) is heard:
                setattr(sys, name, heard._under)
        self._heard.clear()

    def fresh_line(self) -> None:
        """Other code has begun a new line, as an interactive shell does before each cell."""
        self._unfinished = False

    @contextmanager
    def printing(self, words: str) -> Iterator[None]:
        """Around text of the program; our own comes by there too."""
        with self._lock:
            if self._writing:
                yield
                return
            self._clear()
            yield
            if words:
                self._unfinished = not words.endswith("\n")
            self._write_left()

    def before_words_of_a_child(self, words: str) -> str:
        """Return what a forked child writes before text of its own: its parent may have drawn the line meanwhile."""
        clearing = "\r\x1b[2K" if (self._drawn or self._going) and not self._unfinished else ""
        if words:
            self._unfinished = not words.endswith("\n")
        return clearing

    def draw(self, views: Sequence[View]) -> None:
        """Redraw the line; nothing where stderr is no terminal, or in the middle of a line of the program's."""
        running = [view for view in views if not view.finished]
        self._going = bool(running)
        if not running or not _is_terminal(sys.stderr):
            return
        whole = running[0] if len(running) == 1 else replace(total(running), name=f"{len(running):,} runs")
        columns = shutil.get_terminal_size().columns
        with self._lock:
            if not self._unfinished:
                self._write(f"\r\x1b[2K{drawn(whole, columns)}")
                self._drawn = True

    def ended(self, view: View) -> None:
        """Leave a line for a run that ended."""
        with self._lock:
            self._clear()
            if view.elapsed < QUIET_BELOW and not _is_terminal(sys.stderr):
                return
            if self._lines < LIMIT:
                self._lines += 1
                self._left.append(text(view))
                self._write_left()
            else:
                self._folded.append(view)

    def settle(self) -> None:
        """The cell or the program ends: say what the folded runs did, and count anew."""
        with self._lock:
            self._clear()
            if self._folded:
                self._left.append(text(total(self._folded)))
            if self._left and self._unfinished:
                self._write("\n")
                self._unfinished = False
            self._write_left()
            self._lines, self._folded, self._going = 0, [], False

    def _clear(self) -> None:
        if self._drawn:
            self._write("\r\x1b[2K")
            self._drawn = False

    def _write_left(self) -> None:
        """The lines of the runs that ended, unless the program is in the middle of one of its own."""
        if self._left and not self._unfinished:
            self._write("".join(f"{line}\n" for line in self._left))
            self._left.clear()

    def _write(self, words: str) -> None:
        self._writing = True
        try:
            sys.stderr.write(words)
            sys.stderr.flush()
        except (AttributeError, OSError, ValueError):
            return  # stderr was closed; there is nowhere to say so
        finally:
            self._writing = False
