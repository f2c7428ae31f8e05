"""The newest output of all tasks of one backend, in bounded memory, for views that show it as it comes.

Pieces are numbered. A reader names the number after the last piece that it has, and is given what came since, as far
as it is kept; lines are counted, so that it can say how many it has missed.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from datetime import datetime
from typing import NamedTuple

LOG, DISPLAY = 3, 4  # beside the numbers of stdout and stderr
MOST_PIECES, MOST_BYTES = 5000, 1 << 20
PIECE_BYTES = 1 << 15  # of one piece: the end of a longer one is kept
CUT = "… ".encode()  # before that end
MOST_RUNS = 256  # whose lines are counted by themselves

_feeds = itertools.count(1)


class Speaker(NamedTuple):
    """Whose output it is."""

    name: str  # function and number, as the table of tasks has it
    ticket: int  # 0: of no task
    element: int
    worker: int | None
    run: int | None  # its id


class Piece(NamedTuple):
    """Output of one task that came at once."""

    number: int
    at: float  # seconds since 1970
    speaker: Speaker
    stream: int
    data: bytes
    lines: int  # ends of lines in it, also in what was not kept of it


class News(NamedTuple):
    """What a reader is given."""

    pieces: list[Piece]
    after: int  # the number of the next piece
    lines: int  # that have been printed until then
    gap: bool  # pieces between the named number and the first of these are not kept


class Recent:
    """The newest pieces. Thread-safe."""

    def __init__(self) -> None:
        self.feed = next(_feeds)
        self._pieces: deque[Piece] = deque()
        self._next = self._bytes = self._lines = 0
        self._lines_of: dict[int | None, int] = {}
        self._cut: dict[
            tuple[Speaker, int], bytes
        ] = {}  # the beginning of a character, which the next piece ends
        self._lock = threading.Lock()

    def add(self, speaker: Speaker, stream: int, data: bytes) -> None:
        """More output of a task."""
        if not data:
            return
        with self._lock:
            if self._cut or data[-1] >= 0x80:
                data = self._cut.pop((speaker, stream), b"") + data
                cut = _cut_off(data)
                if cut:
                    self._cut[speaker, stream] = data[-cut:]
                    data = data[:-cut]
            if data:
                self._add(speaker, stream, data)

    def end(self, speaker: Speaker) -> None:
        """No more comes of a task."""
        if self._cut:
            with self._lock:
                for stream in (1, 2):
                    rest = self._cut.pop((speaker, stream), b"")
                    if rest:
                        self._add(speaker, stream, rest)

    def _add(self, speaker: Speaker, stream: int, data: bytes) -> None:
        lines, run = data.count(b"\n"), speaker.run
        self._lines += lines
        of_run = self._lines_of
        if run in of_run:
            of_run[run] += lines
        else:
            of_run[run] = lines
            if len(of_run) > MOST_RUNS:
                del of_run[next(iter(of_run))]
        if len(data) > PIECE_BYTES:
            data = data[-PIECE_BYTES:]
            data = CUT + (data[data.find(b"\n") + 1 :] or data)
        self._pieces.append(Piece(self._next, datetime.now().timestamp(), speaker, stream, data, lines))
        self._next += 1
        self._bytes += len(data)
        while len(self._pieces) > MOST_PIECES or self._bytes > MOST_BYTES:
            self._bytes -= len(self._pieces.popleft().data)

    def since(self, number: int, most: int, most_bytes: int, run: int | None = None) -> News:
        """Return the first pieces from a number on, of one run (by its id) or of all, and the counts up to there."""
        with self._lock:
            first = self._pieces[0].number if self._pieces else self._next
            later = list(itertools.islice(self._pieces, max(0, number - first), None))
            after = self._next
            lines = self._lines if run is None else self._lines_of.get(run, 0)
        if run is not None:
            later = [piece for piece in later if piece.speaker.run == run]
        taken, size = 0, 0
        for piece in later:
            size += len(piece.data)
            if taken and (taken == most or size > most_bytes):
                after = piece.number
                break
            taken += 1
        return News(later[:taken], after, lines - sum(piece.lines for piece in later[taken:]), number < first)


def _cut_off(data: bytes) -> int:
    """Return how many bytes at the end are the beginning of a character in UTF-8 that has more of them."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
    return 0
