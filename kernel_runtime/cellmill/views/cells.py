"""The runs of each of the last cells, summed for the views that show them at the cell."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cellmill import run_registry
from cellmill.cell_output import present_cell
from cellmill.cell_output.request import present_request
from cellmill.telemetry import schema

if TYPE_CHECKING:
    from cellmill.diagnostics.failing_lines import FailingLine
    from cellmill.run_registry import Run
    from cellmill.task import RunCounts

INTERVAL = 0.3  # seconds between frames
PULSE = 2.0  # between those of a cell that runs and does not change, for the page that was just reloaded
REMEMBERED = 256  # cells
MOST_RUNS = 64  # of one cell, by their ids
MOST_LINES = 8  # of one cell


@dataclass(frozen=True, slots=True)
class _Sums:
    """Counts of several runs."""

    total: int | None = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    lost: int = 0  # of the failed ones
    hits: int = 0  # beside the tasks

    def plus(self, counts: RunCounts, total: int | None) -> _Sums:
        """Add a run, of which ``total`` tasks are expected; None: unknown."""
        both = None if self.total is None or total is None else self.total + max(total, counts.done)
        return _Sums(
            both,
            self.done + counts.done,
            self.failed + counts.failed,
            self.cancelled + counts.cancelled,
            self.lost + counts.lost,
            self.hits + counts.hits,
        )


class _Cell:
    """The runs that one execution of a cell began."""

    def __init__(self, request: str, name: str, request_of: Mapping[str, str]) -> None:
        """``request_of``: the latest request by the name of the cell, such as In[3]."""
        self._request = request
        self._name = name
        self._request_of = request_of
        self._lines: list[FailingLine] = []  # of runs that are over
        self._ids: list[int] = []
        self._open: list[Run] = []
        self._closed = _Sums()
        self._began, self._ended = 0, 0
        self._over = False

    @property
    def settled(self) -> bool:
        """Nothing of it changes any more."""
        return self._over and not self._open

    @property
    def over(self) -> bool:
        """When it was last looked at, the cell had ended, and all its tasks."""
        return self._over

    def add(self, run: Run) -> None:
        self._began = self._began or run.started_ns
        self._ids = [*self._ids, run.id][-MOST_RUNS:]
        self._open.append(run)
        self._over = False

    def state(self, running: bool) -> schema.CellRuns:
        """Return its sums; ``running``: the cell itself has not ended, and may begin more."""
        still: list[Run] = []
        sums, over, ended, lines = self._closed, not running, self._ended, [*self._lines]
        for run in self._open:
            closed = run.finished_ns is not None  # read before its counts, which are final then
            counts = run.counts()
            lines += run.lines()
            sums = sums.plus(counts, counts.done if closed else run.total)
            if closed:
                self._closed = self._closed.plus(counts, counts.done)
                self._lines = [*self._lines, *run.lines()]
                self._ended = max(self._ended, run.finished_ns or 0)
            else:
                still.append(run)
                # Single calls stay open until the next cell begins, although a thread at most still makes some.
                over = over and run.open_ended and counts.done == counts.submitted
        self._open = still
        if over and not self._over:
            self._ended = time.monotonic_ns() if still else self._ended
        elif self._over:
            self._ended = ended  # of single calls, whose run is closed when the next cell begins
        self._over = over
        return {
            "request": self._request,
            "cell": self._name,
            "runs": self._ids,
            "total": sums.total,
            "done": sums.done,
            "failed": sums.failed,
            "lost": sums.lost,
            "cancelled": sums.cancelled,
            "hits": sums.hits,
            "over": over,
            "seconds": round((self._ended - self._began) / 1e9, 3) if over else None,
            "lines": self._told_lines(lines),
        }

    def _told_lines(self, lines: list[FailingLine]) -> list[schema.FailedLine]:
        """Sum equal lines of several runs; leave those out whose cell is not known."""
        told: dict[tuple[str, int, str], schema.FailedLine] = {}
        for line in lines:
            request, key = self._request_of.get(line.cell), (line.cell, line.line, line.kind)
            if key in told:
                told[key]["count"] += line.count
            elif request is not None and len(told) < MOST_LINES:
                told[key] = {
                    "request": request,
                    "line": line.line,
                    "text": line.text,
                    "error": line.kind,
                    "message": line.message,
                    "count": line.count,
                }
        return list(told.values())


class CellFold:
    """Sums the runs of all cells from now on; used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cells: dict[str, _Cell] = {}
        self._told: dict[str, schema.CellRuns] = {}
        self._present: str | None = None  # the request of the cell that runs; None between cells
        self._request_of: dict[str, str] = {}  # of the last cells, by their names
        self._told_at = 0.0
        self._forget = run_registry.on_run_started(self._begin)
        self.cell_started()

    def close(self) -> None:
        """Hear of no more runs."""
        self._forget()

    def cell_started(self) -> None:
        """Call it on the main thread."""
        self._present, name = present_request(), present_cell.now().name
        if self._present is None or not name:
            return
        with self._lock:
            self._request_of[name] = self._present
            if len(self._request_of) > REMEMBERED:
                del self._request_of[next(iter(self._request_of))]

    def cell_ended(self) -> None:
        self._present = None

    def all(self) -> schema.Cells | None:
        """Return all cells; None if there are none."""
        with self._lock:
            return _frame([cell.state(request == self._present) for request, cell in self._cells.items()])

    def news(self, send: Callable[[schema.Frame], None]) -> bool:
        """Send what has changed since the last time, at most every `INTERVAL` seconds; whether more is to come."""
        with self._lock:
            open_cells = {name: cell for name, cell in self._cells.items() if self._unsettled(name, cell)}
            if time.monotonic() - self._told_at < INTERVAL:
                return bool(open_cells)
            late = time.monotonic() - self._told_at >= PULSE
            states = {name: cell.state(name == self._present) for name, cell in open_cells.items()}
            news = [
                state
                for name, state in states.items()
                if self._told.get(name) != state or (late and not state["over"])
            ]
            frame = _frame(news)
            self._told.update(states)
        if frame is not None:
            self._told_at = time.monotonic()
            send(frame)
        return not all(cell.over for cell in open_cells.values())

    def _unsettled(self, name: str, cell: _Cell) -> bool:
        """Whether it may change, or its end has not been told."""
        return not cell.settled or not self._told.get(name, {"over": False})["over"]

    def _begin(self, run: Run) -> None:
        if run.request is None:
            return
        with self._lock:
            name = run.request
            if name not in self._cells:
                self._cells[name] = _Cell(name, run.cell, self._request_of)
                if len(self._cells) > REMEMBERED:
                    oldest = next(iter(self._cells))
                    del self._cells[oldest]
                    self._told.pop(oldest, None)
            self._told.pop(name, None)
            self._cells[name].add(run)


def _frame(cells: list[schema.CellRuns]) -> schema.Cells | None:
    return {"cellmill": schema.VERSION, "kind": "cells", "cells": cells} if cells else None
