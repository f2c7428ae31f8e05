"""Following what tasks do, for those who keep it or tell others: a thread that reads journeys as tasks end."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from typing import NamedTuple, cast

from .. import registry, run_registry
from ..backends._observing import RowReader
from ..backends._protocol import Backend
from ..diagnostics import notices
from ..diagnostics.failure_counts import FailureCount
from ..errors import in_words
from ..history import RunCounter, RunRecord
from ..run_registry import Run
from ..telemetry.account import Account

INTERVAL = 0.1  # seconds between looks while runs go on
SETTLE = 0.05  # seconds that a run has its processors to itself, when it begins
REST = 5.0  # seconds after which a backend without runs is let go
JOIN = 5.0  # seconds that the end of the thread is waited for
PATIENCE = 2.0  # seconds that the last journeys of a run may take after its end


class Ended(NamedTuple):
    """A run that is over."""

    run: Run
    record: RunRecord
    failures: list[FailureCount]
    account: Account | None
    rows: int  # of its backend by then
    until: float  # the time to wait for these, at most


class Followed:
    """One backend: its journeys, and its runs that are not seen to their end."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        observer = backend.observer
        self.reader: RowReader | None = None if observer is None else observer.row_reader()
        self.runs: list[Run] = []
        self.free_since = time.monotonic()

    def run_of(self, key: int, submitted: int) -> tuple[Run | None, int]:
        """Return the run of a journey, and when the next run of that number began: numbers are used again."""
        found, until = None, 2**64 - 1
        for run in reversed(self.runs):
            if run.key == key:
                if run.started_ns <= submitted:
                    found = run
                    break
                until = run.started_ns
        return found, until


class Follower:
    """Reads the journeys of the runs that begin from now on, in a thread; a subclass does something with them.

    Never raises into user code: what goes wrong ends the following, and is said once.
    """

    what = "following the runs"
    always = False  # also tasks outside of runs are followed
    catches_up = False  # runs that go on are taken in, with what is kept of them if tasks are outstanding

    def __init__(self, name: str) -> None:
        self._begun: deque[tuple[Run, Followed]] = deque()
        self._ended: deque[Ended] = deque()
        self._waiting: list[Ended] = []
        self._followed: dict[int, Followed] = {}
        self._late: dict[
            int, bool
        ] = {}  # runs that had begun before, and whether tasks of theirs were outstanding
        self._lock = threading.Lock()
        self._look_lock = threading.Lock()
        self._wake = threading.Event()
        self._over, self._idle, self._started = False, True, False
        self._process = os.getpid()
        for executor in registry.open_executors():
            self._follow(executor._backend)
        self._started = True
        self._undo = (run_registry.on_run_started(self._on_begin), run_registry.on_run_ended(self._on_end))
        if self.catches_up:
            self._catch_up()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _open.add(self)

    # -- for the subclass, in the thread

    def begin(self, run: Run, backend: Backend) -> None:
        """A run has begun."""

    def take(self, followed: Followed, dropped: int) -> None:
        """Journeys have been read: `followed.reader` has them; so many before them were overwritten."""

    def look(self) -> None:
        """Some time has passed while runs go on."""

    def end(self, ended: Ended) -> None:
        """A run is over, and all its journeys have been taken."""

    def closed(self) -> None:
        """Nothing more will come."""

    # -- from any thread

    def close(self) -> None:
        """Take what there is, and end."""
        for undo in self._undo:
            undo()
        if self._process == os.getpid():
            self._settle()
        self._over = True
        self._wake.set()
        if threading.current_thread() is not self._thread and self._process == os.getpid():
            self._thread.join(JOIN)
        _open.discard(self)

    def _settle(self) -> None:
        """A future is told of its result a moment before its journey is complete: these are, of what is over."""
        for executor in registry.open_executors():
            if executor._backend in [each.backend for each in list(self._followed.values())]:
                executor._backend.settle(0)

    def flush(self) -> None:
        """What has ended by now has been taken when this returns."""
        until = time.monotonic() + PATIENCE
        while self._process == os.getpid() and not self._over:
            self._look()
            if not (self._waiting or self._ended) or time.monotonic() > until:
                break
            time.sleep(0.01)

    def _on_begin(self, run: Run) -> None:
        backend = cast("Backend | None", run._backend)
        if backend is not None and not self._over:
            self._begun.append((run, self._follow(backend)))
            if self._idle:
                self._wake.set()

    def _catch_up(self) -> None:
        for run in run_registry.active_runs():
            backend = cast("Backend | None", run._backend)
            if backend is None or not run.listed or run in [each for each, _ in self._begun]:
                continue
            followed = self._follow(backend)
            self._late[run.id] = run.outstanding() > 0
            if followed.reader is not None and self._late[run.id]:
                followed.reader.from_the_oldest()
            self._begun.append((run, followed))

    def _on_end(self, run: Run, record: RunRecord, counter: RunCounter) -> None:
        try:
            backend = cast("Backend", counter)
            followed = self._followed.get(id(backend))
            reader = followed.reader if followed is not None else None
            observer = backend.observer
            account = observer.account(run.key) if observer is not None else None
            rows = reader.written() if reader is not None else 0
            until = time.monotonic() + PATIENCE
            self._ended.append(Ended(run, record, run.failures(), account, rows, until))
        except Exception as error:  # the run's end is the user's
            notices.warn(f"the end of run {run.id} is not in its record: {in_words(error)}")

    def _follow(self, backend: Backend) -> Followed:
        with self._lock:
            found = self._followed.get(id(backend))
            if found is None or found.backend is not backend:
                found = self._followed[id(backend)] = Followed(backend)
                if (
                    self.always and self._started and found.reader is not None
                ):  # it is new: all that it has done is news
                    found.reader.from_the_oldest()
            return found

    # -- the thread

    def _run(self) -> None:
        try:
            while not self._over:
                self._idle = True  # first: a run that begins from now on wakes
                going = self._begun or any(each.runs for each in list(self._followed.values()))
                self._idle = not going
                woken = self._wake.wait(
                    INTERVAL if going or self.always else REST if self._followed else None
                )
                self._wake.clear()
                if woken and not self._over:
                    self._wake.wait(SETTLE)
                self._look()
            self._look(last=True)
        except Exception as error:
            self._over = True
            notices.warn(f"{self.what} ends here: {in_words(error)}")
        for undo in self._undo:
            undo()
        self.closed()

    def _look(self, last: bool = False) -> None:
        with self._look_lock:
            # first: what ends from now on may have begun after the last `_drain`
            self._waiting.extend(self._ended.popleft() for _ in range(len(self._ended)))
            for followed in list(self._followed.values()):
                self._read(followed)
            self._drain()
            self.look()
            due = [each for each in self._waiting if last or self._complete(each)]
            for ended in due:
                self._waiting.remove(ended)
                self.end(ended)
                self._forget(ended.run)
            self._let_go()

    def _read(self, followed: Followed) -> None:
        reader = followed.reader
        while reader is not None:
            dropped = reader.look()
            self._drain()  # a run begins before its first journey
            if dropped or reader.count:
                self.take(followed, dropped)
            if not reader.count:
                break

    def _drain(self) -> None:
        while self._begun:
            run, followed = self._begun.popleft()
            with self._lock:
                self._followed[id(followed.backend)] = followed  # it may have been let go meanwhile
            followed.runs.append(run)
            self.begin(run, followed.backend)

    def _complete(self, ended: Ended) -> bool:
        """Whether all journeys of a run that is over have been read."""
        home = next((each for each in self._followed.values() if ended.run in each.runs), None)
        if home is None or home.reader is None or home.reader.at >= ended.rows:
            return True
        return time.monotonic() > ended.until

    def _forget(self, run: Run) -> None:
        for followed in list(self._followed.values()):
            if run in followed.runs:
                followed.runs.remove(run)
                followed.free_since = time.monotonic()

    def _let_go(self) -> None:
        """Backends without runs for a while: they may be gone for good."""
        kept = {id(each._backend) for each in registry.open_executors()} if self.always else set[int]()
        for key, followed in self._followed.copy().items():
            if key not in kept and not followed.runs and time.monotonic() - followed.free_since > REST:
                with self._lock:
                    self._followed.pop(key, None)


_open: weakref.WeakSet[Follower] = weakref.WeakSet()


def close_all() -> None:
    """The program ends: what is there is written."""
    for follower in list(_open):
        follower.close()
