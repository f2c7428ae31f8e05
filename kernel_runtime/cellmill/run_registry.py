"""Runs under way: the calls a person would point at (a map, a cell's calls of one function, a ``%%task``)."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from .cell_output import present_cell
from .cell_output.printed import Printed
from .cell_output.request import present_request
from .cell_output.tail import Tail
from .diagnostics import notices
from .diagnostics.blame import cancelling
from .diagnostics.failing_lines import FailingLine, FailingLines
from .diagnostics.failure_counts import FailureCount, FailureCounts
from .errors import DependencyError, in_words, is_a
from .history import RunCounter, RunRecord, Runs, code_of
from .process_context.interrupts import uninterrupted
from .process_context.settings import context_now
from .serialization.exceptions import remote_traceback
from .task import HitCount, RunCounts

__all__ = [
    "Run",
    "active_runs",
    "bump_epoch",
    "numbered",
    "on_run_ended",
    "on_run_started",
    "records",
    "stop_cell",
]

REMEMBERED = 256  # runs that are over, and can still be asked about
STOP = "Stop, which interrupted its cell"

_numbers = itertools.count(1)
_callbacks: list[Callable[[Run], None]] = []
_end_callbacks: list[EndCallback] = []
_active: dict[int, Run] = {}
_recent: deque[Known] = deque(maxlen=REMEMBERED)
_records: deque[RunRecord] = deque(maxlen=REMEMBERED)  # of runs that are over
_ended: deque[tuple[Run, weakref.ref[RunCounter]]] = deque(maxlen=32)  # what they printed may be heard late
_lock = threading.RLock()  # a collected map may end its run while this thread holds it
_own: ContextVar[bool] = ContextVar("cellmill_own_runs", default=False)


EndCallback = Callable[["Run", RunRecord, RunCounter], None]


class Known(NamedTuple):
    """A run as it is remembered when it is over."""

    id: int
    key: int  # the backend's number for it, which others get long after
    name: str
    backend: weakref.ref[RunCounter]
    started_ns: int  # on the monotonic clock
    expected: int | None  # tasks that it was to have; None: not known, or single calls


class Run:
    """One call and the tasks it made. ``key`` is the backend's number for it."""

    def __init__(
        self,
        backend: RunCounter,
        key: int,
        name: str,
        expected: int | None,
        function: Any,
        hits: HitCount | None = None,
    ) -> None:
        self.id = next(_numbers)
        self.name = name
        self.expected = expected
        self.listed = not _own.get()  # it is the user's
        self.priority = 0  # that its tasks were given, or that was set last
        cell = present_cell.now()
        self.cell = cell.name
        self.source = cell.source
        self.request = present_request()  # msg_id; None where no cell of a notebook is known to have begun it
        self.epoch = cell.epoch  # number of the cell execution in which it began
        self.began = datetime.now()
        self.started_ns = time.monotonic_ns()
        self.finished_ns: int | None = None
        self.context = context_now()
        self.key = key
        self.open_ended = False
        self.failure_counts: FailureCounts | None = None  # made with the first failure
        self.failing_lines: FailingLines | None = None  # made with it
        self.said: Tail | None = None  # the end of what its tasks printed
        self.printed: Printed | None = None  # where it is shown: the lines of its cell, by task
        self.tell_folded: Callable[[], None] | None = None  # what of it was not shown
        self._code = code_of(function)
        self._backend: RunCounter | None = backend
        self._last = RunCounts()
        self.hits = hits or HitCount()
        self._final: RunRecord | None = None  # when it is over
        self._finishing = False

    def record(self, *, whole: bool = False) -> RunRecord:
        """Return what is known of it now; ``whole``: with the figures of its tasks and where its time went, also while
        it goes on.
        """
        if self._final is not None:
            return self._final
        counts, backend = self.counts(), self._backend
        end = self.finished_ns if self.finished_ns is not None else time.monotonic_ns()
        if self.open_ended and counts.submitted == counts.done:  # it is closed by a later cell
            ran = backend.last_end(self.key) if backend is not None else None
            end = max(ran or 0, self.hits.last_ns) or end
        wall = (end - self.started_ns) / 1e9
        return RunRecord(
            self.id,
            self.name,
            self.cell,
            self.began,
            wall,
            self.finished,
            counts.submitted,
            counts.succeeded,
            counts.failed,
            counts.cancelled,
            backend.busy_share(self.key) if backend is not None else None,
            backend.peak_memory(self.key) if backend is not None else None,
            backend.moved(self.key) if backend is not None else None,
            backend.run_figures(self.key) if backend is not None and whole else None,
            self._code,
            lost=counts.lost,
            hits=counts.hits,
            spent=backend.time_spent(self.key, wall) if backend is not None and whole else None,
            source=self.source,
        )

    @property
    def finished(self) -> bool:
        """All its tasks are over and it will get no more."""
        if self.finished_ns is None and self.open_ended:
            counts = self.counts()
            begun = counts.submitted > 0 or counts.hits > 0
            return begun and counts.submitted == counts.done and present_cell.epoch() != self.epoch
        return self.finished_ns is not None

    @property
    def output(self) -> str:
        """What its tasks printed, stdout and stderr, in the order it came: the last megabyte of it."""
        return self.said.text if self.said is not None else ""

    def failures(self) -> list[FailureCount]:
        """The errors its tasks ended with, folded by type, the most frequent first."""
        return self.failure_counts.folded() if self.failure_counts is not None else []

    def lines(self) -> list[FailingLine]:
        """The lines of cells at which its tasks failed."""
        return self.failing_lines.found() if self.failing_lines is not None else []

    def counts(self) -> RunCounts:
        """Current counts, read from the scheduler's own counters: cheap, from any thread."""
        backend = self._backend
        if backend is not None:
            counts = backend.run_counts(self.key)
            self._last = replace(counts, hits=self.hits.count) if self.hits.count else counts
        return self._last

    def outstanding(self) -> int:
        """Tasks that are not over."""
        counts = self.counts()
        return max(0, counts.submitted - counts.done)

    def running(self) -> int:
        """Tasks in user code now."""
        backend = self._backend
        return backend.running_in_run(self.key) if backend is not None else 0

    @property
    def total(self) -> int | None:
        """The number of tasks that it will have, None where that is unknown; for single calls: those so far."""
        return self.counts().submitted if self.open_ended else self.expected

    def cancel(self) -> int:
        """Cancel what has not started; returns how many tasks that were."""
        backend = self._backend
        return backend.cancel_run(self.key) if backend is not None else 0

    def stop(self) -> int:
        """Cancel what has not started and interrupt what runs; returns how many tasks that were."""
        backend = self._backend
        return backend.stop_run(self.key) if backend is not None else 0

    def set_priority(self, priority: int) -> int:
        """Set the priority, from -100 to 100, larger first, of tasks that have not begun or that come later; return
        how many waited.
        """
        backend = self._backend
        changed = backend.set_run_priority(self.key, priority) if backend is not None else None
        if changed is None:
            return 0
        self.priority = priority
        return changed

    def finish(self) -> None:
        """No task of it is left: keep the last counts and give its number back."""
        with uninterrupted():  # half finished it would go on for ever
            self._finish()

    def _finish(self) -> None:
        with _lock:
            backend = self._backend
            if backend is None or self._finishing:
                return
            self._finishing = True
            self.finished_ns = time.monotonic_ns()
        # Without the lock: it takes those of the backend, under which a collected map may be what ends a run.
        final = self.record(whole=True)
        with _lock:
            self._final = final
            self._backend = None
            _active.pop(self.id, None)
            if self.listed:
                _records.append(self._final)
            _ended.append((self, weakref.ref(backend)))
            callbacks = list(_end_callbacks) if self.listed else []
        for callback in callbacks:  # before its number is given back: they may ask the backend about it
            callback(self, self._final, backend)
        backend.close_run(self.key)
        if self.tell_folded is not None:
            self.tell_folded()


def begin(
    backend: RunCounter,
    key: int,
    name: str,
    expected: int | None,
    *,
    open_ended: bool = False,
    priority: int = 0,
    function: Any = None,
    hits: HitCount | None = None,
) -> Run:
    """Open a run and notify the watchers. ``open_ended``: single calls of a cell, which may still get more."""
    run = Run(backend, key, name, expected, function, hits)
    run.open_ended = open_ended
    run.priority = priority
    with _lock:
        _active[run.id] = run
        if run.listed:
            _recent.append(Known(run.id, key, name, weakref.ref(backend), run.started_ns, expected))
        callbacks = list(_callbacks) if run.listed else []
    for callback in callbacks:
        try:
            callback(run)
        except Exception as error:
            with _lock:
                if callback in _callbacks:
                    _callbacks.remove(callback)
            notices.warn(f"a callback for runs was dropped: it raised {in_words(error)}")
    return run


@contextlib.contextmanager
def unlisted() -> Iterator[None]:
    """Runs that this thread begins meanwhile are Cellmill's own: neither listed nor shown."""
    before = _own.set(True)
    try:
        yield
    finally:
        _own.reset(before)


def records(*, whole: bool = False) -> Runs:
    """Return the records of the last runs, oldest first, also of those that go on. ``whole``: see `Run.record`."""
    with _lock:
        over, going = list(_records), [run for run in _active.values() if run.listed]
    found = {record.id: record for record in [*over, *(run.record(whole=whole) for run in going)]}
    return Runs(found[number] for number in sorted(found))


def record_of(number: int, *, whole: bool = False) -> RunRecord | None:
    """Return the record of a run by its id; None where it is not among the last runs. ``whole``: see `Run.record`."""
    with _lock:
        run = _active.get(number)
        found = next((record for record in reversed(_records) if record.id == number), None)
    return found if run is None else run.record(whole=whole)


def known(number: int) -> Known | None:
    """Return one of the last runs by its id."""
    with _lock:
        return next((run for run in reversed(_recent) if run.id == number), None)


def recent_runs() -> list[Known]:
    """The last runs, oldest first, also those that are over."""
    with _lock:
        return list(_recent)


def hits_of(backend: object, since_ns: int = 0, run: int | None = None) -> dict[str, int]:
    """Return how many results came from the cache, by function: of one run, or of the backend's last runs that began
    since then.
    """
    found: dict[str, int] = {}
    with _lock:
        hits = {record.id: record.hits for record in _records}
        hits |= {run.id: run.hits.count for run in _active.values()}
    for known in recent_runs():
        asked = known.id == run if run is not None else known.started_ns >= since_ns
        if asked and known.backend() is backend and hits.get(known.id):
            found[known.name] = found.get(known.name, 0) + hits[known.id]
    return found


def on_run_started(callback: Callable[[Run], None]) -> Callable[[], None]:
    """Call ``callback(run)`` in the caller's thread whenever a run begins; returns what undoes it."""
    with _lock:
        _callbacks.append(callback)

    def undo() -> None:
        with _lock:
            if callback in _callbacks:
                _callbacks.remove(callback)

    return undo


def on_run_ended(callback: EndCallback) -> Callable[[], None]:
    """Call ``callback(run, record, backend)``, which must not raise, in the thread that ends a run, while the backend
    still knows it; returns what undoes it.
    """
    with _lock:
        _end_callbacks.append(callback)

    def undo() -> None:
        with _lock:
            if callback in _end_callbacks:
                _end_callbacks.remove(callback)

    return undo


def active_runs() -> list[Run]:
    """Runs that are not finished, oldest first."""
    with _lock:
        runs = list(_active.values())
    return [run for run in runs if not run.finished]


def runs_of(backend: object) -> list[Run]:
    """Return the runs of a backend that are not over, oldest first."""
    return [run for run in active_runs() if run._backend is backend]


def numbered(backend: object) -> list[Run]:
    """Return the runs that have a number of this backend, oldest first: also single calls of an earlier cell that are
    over, which the next cell closes.
    """
    with _lock:
        return [run for run in _active.values() if run._backend is backend and run.finished_ns is None]


def find(key: int, backend: object) -> Run | None:
    """The open run with this backend number."""
    with _lock:
        for run in _active.values():
            if run.key == key and run._backend is backend:
                return run
    return None


def find_ended(key: int, backend: object) -> Run | None:
    """The latest of those that have just ended with this backend number."""
    with _lock:
        return next((run for run, home in reversed(_ended) if run.key == key and home() is backend), None)


def note_failure(key: int, backend: object, error: BaseException) -> None:
    """A task of the open run with this backend number failed for good."""
    run = find(key, backend)
    if run is not None:
        if run.failure_counts is None:
            run.failure_counts = FailureCounts()
        run.failure_counts.add(error)
        traceback = None if is_a(error, DependencyError) else remote_traceback(error)
        if traceback is not None:
            if run.failing_lines is None:
                run.failing_lines = FailingLines()
            run.failing_lines.add(error, traceback)


def finish_all(backend: object) -> None:
    """A backend has ended: no run of it gets another task, and none refers to it any more."""
    with _lock:
        over = [run for run in _active.values() if run._backend is backend]
    for run in over:
        run.finish()


def stop_cell() -> int:
    """The present cell was interrupted: stop the runs it began; how many tasks that were."""
    with _lock:
        runs = [run for run in _active.values() if run.epoch >= present_cell.now().stopped_from]
    with cancelling(STOP):
        return sum(run.stop() for run in runs) + present_cell.stop_single_tasks()


def _leave_to_parent() -> None:  # runs and watchers are the parent's
    _lock._at_fork_reinit()  # type: ignore[attr-defined]
    for run in _active.values():
        run._backend = None
    _active.clear()
    _ended.clear()
    _callbacks.clear()
    _end_callbacks.clear()


os.register_at_fork(after_in_child=_leave_to_parent)


def bump_epoch(cell: str = "", text: str = "", within: bool = False) -> None:
    """A new cell execution begins: functions are looked at anew and single calls get a new run.

    ``cell`` is its name for records, ``text`` its code. ``within``: it is a part of the cell that runs, which
    Stop ends as a whole.

    Runs of single calls from earlier cells are closed once all their tasks are over.
    """
    present_cell.begin(cell, text, within)
    with _lock:
        stale = [run for run in _active.values() if run.open_ended]
    for run in stale:
        if run.finished:
            run.finish()
