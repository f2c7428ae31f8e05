"""The lines of cells at which the tasks of a run failed, from the tracebacks of their errors."""

from __future__ import annotations

import linecache
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from ..errors import class_name, text_of
from .tracebacks import cell_of

LINES = 8
"""Lines of one run that are told apart; failures at others are not noted."""
CHARACTERS = 200
"""Characters kept of a message, and of a line."""
_HEAD = "Traceback (most recent call last):"
_FILE = '  File "'


@dataclass(frozen=True, slots=True)
class FailingLine:
    """A line of a cell at which tasks raised the same type of error."""

    cell: str  # such as "In[3]"
    line: int  # from 1, as the interpreter counts
    text: str  # of the line, without its indentation
    kind: str  # of the error
    message: str  # of the first error
    count: int


class FailingLines:
    """Counts failures by line and type of error. Any thread may add and read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, int, str], FailingLine] = {}

    def add(self, error: BaseException, traceback: str) -> None:
        """Note a failure: it counts for the innermost line that is of a cell."""
        place = next(_places(traceback), None)
        if place is None:
            return
        cell, file, line = place
        kind = class_name(type(error))
        with self._lock:
            known = self._found.get((cell, line, kind))
            if known is None and len(self._found) >= LINES:
                return
            if known is None:
                text = linecache.getline(file, line).strip()
                known = FailingLine(cell, line, text[:CHARACTERS], kind, text_of(error)[:CHARACTERS], 0)
            self._found[cell, line, kind] = FailingLine(
                cell, line, known.text, kind, known.message, known.count + 1
            )

    def found(self) -> list[FailingLine]:
        """The lines, in the order of their first failures."""
        with self._lock:
            return list(self._found.values())


def _places(traceback: str) -> Iterator[tuple[str, str, int]]:
    """The frames of cells in the traceback of an error itself, not of its causes: cell, file, line; innermost first."""
    begin = max(traceback.rfind(_HEAD), 0)
    at = len(traceback)
    while (at := traceback.rfind(_FILE, begin, at)) >= 0:
        file, _, rest = traceback[at + len(_FILE) :].partition('", line ')
        number = rest.partition(",")[0]
        if number.isdecimal() and (cell := cell_of(file)):
            yield cell, file, int(number)
