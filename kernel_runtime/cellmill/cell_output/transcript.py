"""The output of tasks as a person reads it: whole lines in the cell that submitted them, capped, folded, counted.

A `TaskOutput` is one task (or one element of a map). Its bytes become lines; its `Transcript`, which all tasks of a run
share, shows them until a cap, folds repeated lines into a count, and keeps the end of everything for `cellmill.output`.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from ..diagnostics.lasting_ids import lasting_id
from ..errors import UsageError
from ..run_registry import Run
from .origin import STREAMS, Origin, is_notebooks
from .printed import Printed
from .recent import Speaker
from .tail import Tail

TASK_TAIL, RUN_TAIL = 1 << 16, 1 << 20  # bytes kept of each
TASK_BYTES, RUN_BYTES = 1 << 20, 8 << 20  # shown of each
MOST_ALIKE = 20  # lines in a row that are shown; of more it is told how many, a moment later
RUN_LINES = 10  # times the lines of one task
NOTES = 1 << 20  # lines of our own have room in any case
PIECE = 1 << 16  # of a line that does not end
OUTPUT_LINES = 1000  # shown of a task, unless set otherwise
QUIET_SECONDS = 0.5  # before it is told what was folded so far
TASKS_KEPT, RUNS_KEPT = 1000, 100


@dataclass
class Settings:
    """How the output of an executor's tasks is shown; may be changed at any time."""

    label: bool = False
    lines: int = OUTPUT_LINES  # of a task; ten times as many of a run


def whole_lines(most: object) -> int:
    """A number of lines, checked."""
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise UsageError(f"output_lines must be a whole number of at least 1, not {most!r}")
    return most


class Transcript:
    """The output of one run, or of a cell's single calls. Not safe among threads: its listener holds a lock."""

    def __init__(self, origin: Origin, settings: Settings, run: Run | None) -> None:
        self.origin = origin
        self.settings = settings
        self.run = run
        self.tail = Tail(RUN_TAIL)
        if run is not None:
            run.said = self.tail
            kept.keep_run(run.id, self.tail)
        self.last_heard = 0.0
        self._lines = self._bytes = 0  # shown
        self._hidden = {1: 0, 2: 0}  # lines beyond the run's cap, not told yet
        self._last = {1: "", 2: ""}
        self._repeats = {1: 0, 2: 0}  # of the last line, beyond those that were shown
        self._again = {1: 0, 2: 0}
        self._open = {1: False, 2: False}  # the last thing shown was no whole line
        self._speaker: dict[int, TaskOutput] = {}
        self._touched: set[int] = set()

    @property
    def restless(self) -> bool:
        """Something was folded that has not been told."""
        return any(self._repeats.values()) or any(self._hidden.values())

    def show(self, number: int, lines: list[tuple[str, int]], output: TaskOutput) -> None:
        """Show lines, each with its newline (the last may lack it) and how often it comes, as cap and folding let."""
        self.last_heard = time.monotonic()
        folded = self._fold(number, lines, output)
        label = f"[{output.name}] " if self.settings.label else ""
        shown = [] if output is self._speaker.get(number) else self._ended_line(number)
        self._speaker[number] = output
        for line, times in lines:
            fresh = line != self._last[number] or self._open[number] or not line.endswith("\n")
            if fresh:
                shown += self._told_repeats(number)
                self._last[number], self._again[number] = line, 0
            again = self._again[number]
            self._again[number] += times
            repeated = max(0, again + times - MOST_ALIKE) - max(0, again - MOST_ALIKE)
            self._repeats[number] += repeated
            if repeated == times:
                continue
            line = line * (times - repeated)
            if self._lines >= RUN_LINES * self.settings.lines or self._bytes >= RUN_BYTES:
                self._hidden[number] += times - repeated
                continue
            shown.append(line if self._open[number] else _labelled(label, line))
            self._open[number] = not line.endswith("\n")
            self._lines += not self._open[number]
            self._bytes += len(line)
        if folded:
            shown += [*self._told_repeats(number), *self._ended_line(number)]
            shown += ["... the other lines that tasks print are folded under the bar above\n"]
        self._write(number, "".join(shown))

    def _fold(self, number: int, lines: list[tuple[str, int]], output: TaskOutput) -> bool:
        """Take out the lines to be folded under the bar of the cell; whether these are the first."""
        printed = self._printed(number)
        if printed is None:
            return False
        before, first = printed.folded, not printed.count
        plain = printed.take(output.name, number, lines, RUN_LINES * self.settings.lines)
        if self.run is not None:
            printed.where = f"cellmill.output({self.run.id})"
        if first:
            for each in filter(None, map(self.origin.stream, STREAMS)):
                self.origin.do(each.flush)  # what the cell itself has printed comes above the bar
            printed.begin()
        printed.late()
        del lines[plain:]
        return printed.folded and not before

    def _printed(self, number: int) -> Printed | None:
        """Return the cell's record of lines, where they may be folded; None where they are shown unfolded."""
        printed = self.run.printed if self.run is not None else None
        return printed if printed is not None and is_notebooks(self.origin.stream(number)) else None

    def note(self, number: int, text: str) -> None:
        """A line of our own."""
        printed = self._printed(number)
        if printed is not None and printed.folded and not printed.take("", number, [(text + "\n", 1)], NOTES):
            return
        self._write(number, "".join([*self._told_repeats(number), *self._ended_line(number), text, "\n"]))

    def settle(self) -> None:
        """Tell what was folded."""
        for number in STREAMS:
            self._write(number, "".join(self._told_repeats(number)))
            count, self._hidden[number] = self._hidden[number], 0
            if count:
                where = (
                    f"cellmill.output({self.run.id})" if self.run is not None else "cellmill.output(future)"
                )
                self.note(number, f"... {count:,} more lines are not shown; {where} has the last of them")

    def flush(self) -> None:
        """Hand what was written to the listener that shows it."""
        while self._touched:
            stream = self.origin.stream(self._touched.pop())
            if stream is not None:
                self.origin.do(stream.flush)

    def _told_repeats(self, number: int) -> list[str]:
        count, self._repeats[number] = self._repeats[number], 0
        if count == 1:
            return [self._last[number]]
        return [f"... {count:,} more lines like this\n"] if count else []

    def _ended_line(self, number: int) -> list[str]:
        was_open, self._open[number] = self._open[number], False
        return ["\n"] if was_open else []

    def _write(self, number: int, text: str) -> None:
        stream = self.origin.stream(number)
        if text and stream is not None:
            self.origin.do(lambda: stream.write(text))
            self._touched.add(number)


def _labelled(label: str, text: str) -> str:
    return label + text.replace("\n", "\n" + label, text.count("\n") - 1) if label else text


class TaskOutput:
    """The output of one task."""

    def __init__(self, transcript: Transcript, backend: object, name: str, speaker: Speaker) -> None:
        """``backend``: the task's; ``name``: for the cell; ``speaker``: for views."""
        self.transcript = transcript
        self.name = name
        self.speaker = speaker
        self.tail = kept.tail_of(backend, speaker.ticket, speaker.element)
        self._partial = {1: b"", 2: b""}
        self._last = {1: b"", 2: b""}
        self._lines = self._bytes = 0  # shown
        self._hidden = {1: [0, 0], 2: [0, 0]}  # lines, bytes

    def hear(self, number: int, data: bytes) -> None:
        """More of its output."""
        self.tail.add(data)
        self.transcript.tail.add(data)
        if self._full:
            self._hide(number, data)
            return
        data = self._partial[number] + data
        whole, newline, rest = data.rpartition(b"\n")
        cut = rest.rfind(b"\r", 0, -1) + 1  # a progress line that draws over itself: its newest state
        rest = rest[cut:]
        if len(rest) > PIECE:
            end = len(rest)
            while end > len(rest) - 4 and rest[end - 1] & 0xC0 == 0x80:
                end -= 1  # not within a character
            end -= rest[end - 1] >= 0xC0
            whole, newline, rest = whole + newline + rest[:end], b"", rest[end:]
        self._partial[number] = rest
        self._show(number, whole + newline)

    def keep(self, text: str) -> None:
        """Add text that is reported in another way to the kept output."""
        for tail in (self.tail, self.transcript.tail):
            tail.add(text.encode("utf-8", "backslashreplace"))

    def end(self) -> None:
        """The task is over: an unfinished line is shown, and how much was not."""
        for number in STREAMS:
            data, self._partial[number] = self._partial[number], b""
            self._show(number, data)
            (lines, size), self._hidden[number] = self._hidden[number], [0, 0]
            if size:
                what = f"{lines:,} more line{'s' * (lines != 1)}" if lines else "more"
                run = self.transcript.run
                where = f"cellmill.output({run.id})" if run is not None else "cellmill.output(future)"
                self.transcript.note(
                    number, f"... {what} ({size:,} bytes) of {self.name}; {where} has the last of it"
                )

    @property
    def _full(self) -> bool:
        return self._lines >= self.transcript.settings.lines or self._bytes >= TASK_BYTES

    def _hide(self, number: int, data: bytes) -> None:
        hidden = self._hidden[number]
        hidden[0] += data.count(b"\n")
        hidden[1] += len(data)

    def _show(self, number: int, data: bytes) -> None:
        if not data:
            return
        lines = _lines(data)
        room = max(0, self.transcript.settings.lines - self._lines)
        shown: list[tuple[str, int]] = []
        at = 0
        for line, group in itertools.groupby(lines):
            times = sum(1 for _ in group)
            # repeated lines are folded, they take no room
            if line != self._last[number] or not line.endswith(b"\n"):
                if room <= 0 or self._bytes >= TASK_BYTES:
                    self._hide(number, b"".join(lines[at:]))
                    break
                room -= 1
                self._lines += 1
                self._bytes += len(line)
                self._last[number] = line
            at += times
            shown.append((line.decode("utf-8", "backslashreplace"), times))
        self.transcript.show(number, shown, self)


def _lines(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    last = parts.pop()
    lines = [part + b"\n" for part in parts]
    return [*lines, last] if last else lines


class Kept:
    """The ends of what the latest tasks printed."""

    def __init__(self) -> None:
        self._tails: OrderedDict[tuple[int, int, int], Tail] = OrderedDict()
        self._runs: OrderedDict[int, Tail] = OrderedDict()
        self._lock = threading.Lock()

    def keep_run(self, number: int, tail: Tail) -> None:
        """A run has begun to print."""
        with self._lock:
            self._runs[number] = tail
            while len(self._runs) > RUNS_KEPT:
                self._runs.popitem(last=False)

    def of_run(self, number: int | None) -> str | None:
        """Return the kept output of a run, or of the latest; None where there is none."""
        with self._lock:
            last = next(reversed(self._runs), None)
            found = self._runs.get(number if number is not None else last or 0)
        return found.text if found is not None else None

    def runs(self) -> str:
        """Their numbers."""
        return ", ".join(map(str, list(self._runs)[-10:]))

    def tail_of(self, backend: object, ticket: int, element: int) -> Tail:
        """That of a task, or an element of a map; made if there is none."""
        with self._lock:
            key = (lasting_id(backend), ticket, element)
            found = self._tails.get(key)
            if found is None:
                found = self._tails[key] = Tail(TASK_TAIL)
                while len(self._tails) > TASKS_KEPT:
                    self._tails.popitem(last=False)
            return found

    def text(self, backend: object, ticket: int, element: int) -> str:
        """Return the kept output of a task, or an element of a map."""
        with self._lock:
            found = self._tails.get((lasting_id(backend), ticket, element))
        return found.text if found is not None else ""


kept = Kept()
