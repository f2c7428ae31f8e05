"""A progress bar for every running call, without being asked for.

`enable()` watches the runs that begin. One daemon thread polls their counters, at most five times
a second and only while something runs; a run shorter than half a second leaves no trace.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from cellmill.cell_output import present_cell
from cellmill.cell_output.printed import Printed
from cellmill.run_registry import Run, on_run_started, runs_of
from cellmill_widgets.bars import View, time_left, total
from cellmill_widgets.notebook import CellOutput, parent_of
from cellmill_widgets.terminal import Terminal

INTERVAL = 0.2
SHOWN_AFTER = 0.5
_RATE_OVER = 5.0
_KEPT = 32


@dataclass(slots=True)
class _Track:
    """A run that is watched; samples are (time, done) of the last seconds."""

    run: Run
    started: float
    samples: deque[tuple[float, int]] = field(default_factory=deque)
    changed: float = 0.0

    def view(self, now: float, *, closing: bool) -> tuple[View, bool]:
        """The current state of the run, and whether it has anything to do."""
        finished = self.run.finished
        counts = self.run.counts()
        done = counts.succeeded + counts.failed
        idle = finished or (self.run.open_ended and done + counts.cancelled == counts.submitted)
        if not self.samples or self.samples[-1][1] != done:
            self.changed = now
        self.samples.append((now, done))
        while len(self.samples) > 2 and now - self.samples[0][0] > _RATE_OVER:
            self.samples.popleft()
        since, before = self.samples[0] if len(self.samples) > 1 else (self.started, 0)
        ended = finished or (idle and closing)
        view = View(
            name=self.run.name,
            done=done,
            total=counts.submitted if ended else self.run.total,
            failed=counts.failed,
            lost=counts.lost,
            cancelled=counts.cancelled,
            hits=counts.hits,
            elapsed=self._end(now, ended) - self.started,
            rate=(done - before) / (now - since) if now > since else 0.0,
            finished=ended,
            running=0 if ended else self.run.running(),
            began=self.started,
            failures=tuple(self.run.failures()),
        )
        return view, not idle

    def _end(self, now: float, ended: bool) -> float:
        if not ended:
            return now
        return self.run.finished_ns / 1e9 if self.run.finished_ns is not None else self.changed


class _Cell:
    """The runs of one cell and where they are drawn."""

    def __init__(self, output: CellOutput | Terminal, printed: Printed) -> None:
        self.output = output
        self.printed = printed
        self.tracks: list[_Track] = []
        self.ended: deque[View] = deque()
        self.closed = False
        self.shown = False
        self.epoch = 0
        self.began = math.inf
        self.backends: list[weakref.ref[Any]] = []  # no set: one that is gone may have no hash

    def add(self, run: Run, backend: weakref.ref[Any]) -> None:
        """A run began in this cell, on this backend."""
        self.tracks.append(_Track(run, run.started_ns / 1e9))
        self.epoch = run.epoch
        self.began = min(self.began, run.started_ns / 1e9)
        if backend not in self.backends:
            self.backends.append(backend)

    def account(self) -> str:
        """Return where the time of all its tasks went, in a sentence; "" where that is not known of these alone."""
        (backend, *others) = [reference() for reference in self.backends] or [None]
        if others or backend is None or backend.observer is None or present_cell.epoch() != self.epoch:
            return ""
        found = backend.observer.account(None, advice=True)
        return found.sentence if found.began >= self.began and found.wall >= SHOWN_AFTER else ""

    def left(self, views: list[View]) -> str:
        """Return what all tasks still take together, where several runs go on; "" where that is not known."""
        (backend, *others) = [reference() for reference in self.backends] or [None]
        if others or backend is None or backend.observer is None:
            return ""
        if sum(not view.finished for view in views) < 2:
            return ""  # its own line tells it
        found = backend.observer.time_left(runs_of(backend), backend.max_workers)
        return "" if found is None or found.seconds is None else f"In all {time_left(found)}."

    def poll(self, now: float) -> list[View]:
        """The runs worth showing, in the order in which they began."""
        going: list[_Track] = []
        views: list[View] = []
        for track in self.tracks:
            view, busy = track.view(now, closing=self.closed)
            late = view.elapsed >= SHOWN_AFTER or self.printed.count > 0
            if not view.finished:
                going.append(track)
                if late and (busy or self.shown):
                    views.append(view)
            elif late:
                self._keep(view)
        self.tracks = going
        if len(going) > 1 or self._paused():
            views = [replace(view, shared=True) for view in views]
        return sorted([*self.ended, *views], key=lambda view: view.began)

    def _paused(self) -> bool:
        found = [reference() for reference in self.backends]
        return any(each is not None and each.observer is not None and each.observer.paused for each in found)

    def _keep(self, view: View) -> None:
        self.ended.append(view)
        if isinstance(self.output, Terminal):
            self.output.ended(view)
            self.ended.clear()
        elif len(self.ended) > _KEPT:
            first = total([self.ended.popleft() for _ in range(2)])
            self.ended.appendleft(first)


class Board:
    """All runs under way, by the cell that started them."""

    def __init__(self, ip: Any = None) -> None:
        self._ip = ip
        self._cells: dict[str, _Cell] = {}
        self._new: deque[tuple[Run, weakref.ref[Any], dict[str, Any] | None]] = deque()
        self._printed: dict[str, Printed] = {}  # by cell
        self._wake = threading.Event()
        self._lock = threading.RLock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._terminal = Terminal()
        self._pid = os.getpid()
        self._unsubscribe = on_run_started(self._begun)
        self._hooks: list[tuple[str, Callable[..., None]]] = []
        self._running: set[str] = set()
        if ip is not None:
            self._running.add(_key(parent_of(ip)))
            self._hooks = [("pre_run_cell", self._cell_begins), ("post_run_cell", self._cell_ends)]
            for event, hook in self._hooks:
                ip.events.register(event, hook)
        if not hasattr(ip, "kernel"):
            self._terminal.attend()
        atexit.register(self._at_exit)

    def close(self) -> None:
        """Settle what is shown and watch no more."""
        self._unsubscribe()
        atexit.unregister(self._at_exit)
        for event, hook in self._hooks:
            self._ip.events.unregister(event, hook)
        self._stopped = True
        self._wake.set()
        with self._lock:
            for cell in self._cells.values():
                cell.closed = True
            self._tick(time.monotonic())
            for cell in self._cells.values():
                views = cell.poll(time.monotonic())
                cell.printed.close()
                if (views or cell.printed.count) and isinstance(cell.output, CellOutput):
                    cell.output.settle(views, cell.printed, cell.account())
            self._cells.clear()
            self._terminal.settle()
            self._terminal.leave()

    def _begun(self, run: Run) -> None:
        """A run begins, in the caller's thread: note it and its cell, and no more."""
        parent = parent_of(self._ip) if self._ip is not None else None
        if parent is None and hasattr(self._ip, "kernel"):
            return
        if parent is not None:
            found = self._printed.get(_key(parent))
            if found is None or found.closed:
                found = self._printed[_key(parent)] = Printed(partial(self._printing, _key(parent)))
            run.printed = found
        self._new.append((run, weakref.ref(run._backend), parent))
        if self._thread is None:
            self._start()
        if not self._wake.is_set():
            self._wake.set()

    def _printing(self, key: str) -> None:
        """The first line of a cell's tasks is about to be shown: its bars come above it."""
        with self._lock:
            now = time.monotonic()
            self._take_new()
            cell = self._cells.get(key)
            if cell is not None and not self._stopped and not cell.shown:
                self._draw(cell, cell.poll(now), False)

    def _take_new(self) -> None:
        while self._new:
            run, backend, parent = self._new.popleft()
            self._cell_of(parent).add(run, backend)

    def _start(self) -> None:
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="cellmill-progress", daemon=True)
                self._thread.start()

    def _watch(self) -> None:
        while not self._stopped:
            self._wake.wait()
            self._wake.clear()
            delay: float | None = INTERVAL
            while delay is not None and not self._stopped:
                time.sleep(delay)
                with self._lock:
                    if not self._stopped:
                        self._tick(time.monotonic())
                    delay = (
                        INTERVAL if self._new or any(cell.tracks for cell in self._cells.values()) else None
                    )

    def _tick(self, now: float) -> None:
        self._take_new()
        for key, cell in list(self._cells.items()):
            views = cell.poll(now)
            ended = not cell.tracks and (cell.closed or isinstance(cell.output, Terminal))
            if ended:
                del self._cells[key]
                self._printed.pop(key, None)
            self._draw(cell, views, ended)

    def _draw(self, cell: _Cell, views: list[View], ended: bool) -> None:
        output = cell.output
        if isinstance(output, Terminal):
            if not cell.closed:
                output.draw(views)
            return
        told = views or cell.printed.count
        if ended:
            note = cell.account() if told else ""
            cell.printed.close(partial(output.settle, views, cell.printed, note))
            if told:
                output.settle(views, cell.printed, note)
        elif told:
            cell.shown = True
            output.draw(views, cell.printed, cell.left(views))

    def _cell_of(self, parent: dict[str, Any] | None) -> _Cell:
        key = _key(parent)
        cell = self._cells.get(key)
        if cell is None:
            output = CellOutput(self._ip, parent) if parent else self._terminal
            cell = self._cells[key] = _Cell(output, self._printed.setdefault(key, Printed()))
            cell.closed = self._ip is not None and key not in self._running
        return cell

    def _cell_begins(self, info: object = None) -> None:
        """A cell begins (pre_run_cell)."""
        key = _key(parent_of(self._ip))
        self._running.add(key)
        if not key:
            self._terminal.fresh_line()
        if key in self._cells:
            self._cells[key].closed = False

    def _cell_ends(self, result: object = None) -> None:
        """A cell ends (post_run_cell): what it left running goes on, what is done becomes text now."""
        key = _key(parent_of(self._ip))
        self._running.discard(key)
        if not self._cells and not self._new:
            return
        with self._lock:
            self._take_new()
            cell = self._cells.get(key)
            if cell is None:
                return
            cell.closed = True
            self._tick(time.monotonic())
            if not key:
                self._terminal.settle()

    def _at_exit(self) -> None:
        if os.getpid() == self._pid:
            self._stopped = True
            with self._lock:
                self._tick(time.monotonic())
                self._terminal.settle()
                self._terminal.leave()


def _key(parent: dict[str, Any] | None) -> str:
    return str(parent["header"]["msg_id"]) if parent else ""


_board: Board | None = None


def enable(ip: Any = None) -> None:
    """Show bars from now on: in the notebook of that shell, or in the terminal. Twice is once."""
    global _board
    if _board is None:
        _board = Board(ip)


def disable() -> None:
    """Show no more bars; what is shown becomes text."""
    global _board
    if _board is not None:
        board, _board = _board, None
        board.close()
