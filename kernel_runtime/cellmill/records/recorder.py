"""Recording: a file for each run that begins, written while it goes on."""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from ..backends._observing import Part
from ..backends._protocol import Backend
from ..diagnostics import notices
from ..diagnostics.failure_counts import FailureCount
from ..diagnostics.short_text import counted
from ..errors import in_words
from ..history import RunRecord
from ..run_registry import Run
from ..task import size_text
from ..telemetry.account import Account
from . import folders, form, machine
from .following import Ended, Followed, Follower
from .trimming import Bound

__all__ = ["RunRecorder", "current", "start", "start_by_setting", "stop"]

SAMPLE_INTERVAL = (
    0.25  # seconds between two looks at counts and memory, of the first `MANY`; then four times that
)
MANY = 240
USUAL_LIMIT = 2 * 10**9  # bytes of records in the folder that is taken where none is named


class _File:
    """The record of one run, while it is written."""

    def __init__(self, folder: Path, run: Run, backend: Backend, *, late: bool) -> None:
        self.run, self._backend, self._late = run, backend, late
        self._writer = form.FrameWriter(folders.file_for(folder, run.began, run.name, run.id))
        self.path = self._writer.path
        self._names: set[int] = set()
        self._sampled: tuple[Any, ...] = ()
        self._next_sample, self._samples = 0.0, 0
        self._failures = 0
        self._writer.add_json(
            form.HEAD,
            record=form.VERSION,
            release=_release(),
            id=run.id,
            name=run.name,
            cell=run.cell,
            began=run.began.isoformat(),
            began_ns=run.started_ns,
            wall_clock_ns=machine.wall_clock_ns(run.started_ns),
            expected=run.expected,
            late=late,
            backend=backend.name,
            cluster=backend.cluster,
            workers=backend.max_workers,
            **machine.here(),
        )

    def rows(self, part: Part, missed: int) -> None:
        observer = self._backend.observer
        known = observer.function_names if observer is not None else {}
        fresh = set(known if part.functions is None else part.functions) - self._names
        if fresh:
            self._names |= fresh
            self._writer.add_json(
                form.NAMES, names={str(each): known.get(each, "?") for each in sorted(fresh)}
            )
        self._writer.add_rows(part.count, 0 if self._late else missed, part.data)

    def look(self) -> None:
        """Note counts and memory, where they have changed."""
        now = time.monotonic()
        if now < self._next_sample:
            return
        self._samples += 1
        self._next_sample = now + SAMPLE_INTERVAL * (1 if self._samples < MANY else 4)
        self._sample(now)
        failures = self.run.failures()
        if sum(each.count for each in failures) != self._failures:
            self._failures = sum(each.count for each in failures)
            self._writer.add_json(form.FAILURES, failures=[dataclasses.asdict(each) for each in failures])

    def _sample(self, now: float) -> None:
        counts, use = self.run.counts(), self._backend.use
        points = use.points(now - 2) if use is not None else []
        memory = points[-1].memory if points and points[-1].memory == points[-1].memory else None
        sample = (
            *(counts.submitted, counts.succeeded, counts.failed, counts.cancelled),
            self.run.running(),
            None if memory is None else int(memory),
        )
        if sample != self._sampled:
            self._sampled = sample
            self._writer.add_json(form.SAMPLE, at=time.monotonic_ns(), counts=sample)

    def end(
        self, record: RunRecord, failures: list[FailureCount], account: Account | None, early: bool
    ) -> None:
        """The last frame; ``early``: the run goes on, and its recording does not."""
        self._sample(time.monotonic())
        self._writer.add_json(form.FAILURES, failures=[dataclasses.asdict(each) for each in failures])
        figures = record.figures
        self._writer.add_json(
            form.END,
            wall=record.wall,
            submitted=record.submitted,
            succeeded=record.succeeded,
            failed=record.failed,
            cancelled=record.cancelled,
            lost=record.lost,
            hits=record.hits,
            busy=record.busy,
            memory=record.memory,
            moved=record.moved,
            figures=None
            if figures is None
            else {**dataclasses.asdict(figures), "steps": list(figures.steps)},
            account=None if account is None else _told(account),
            spent=record.spent if account is None else account.spent(),
            early=early,
        )

    def close(self) -> None:
        self._writer.close()


def _release() -> str:
    from .. import __version__

    return __version__


def _told(account: Any) -> dict[str, Any]:
    """Its figures, and what it says."""
    fields = {field.name: getattr(account, field.name) for field in dataclasses.fields(account)}
    numbers = {name: value for name, value in fields.items() if isinstance(value, (int, float, bool))}
    return {**numbers, "sentence": account.where}


class RunRecorder(Follower):
    """Writes a file for each run that begins; `stop` ends it, and so does the end of a ``with`` block.

    ``folder`` is where they are, ``limit`` how many bytes of them are kept there, None without a bound, ``problem``
    why one could not be written, "" without one.
    """

    what = "recording the runs"
    catches_up = True

    def __init__(self, folder: Path, limit: int | None) -> None:
        self.folder = folders.prepared(folder)
        self.limit = limit
        self._bound = None if limit is None else Bound(self.folder, limit)
        self.problem = ""
        self._opened = 0
        self._files: dict[int, _File] = {}
        self._quiet: set[int] = (
            set()
        )  # runs of before, all of whose calls are over: recorded from the next call on
        self._since = time.monotonic_ns()
        super().__init__("cellmill-records")

    def stop(self) -> Path:
        """End it: runs that go on are recorded up to now. Returns the folder."""
        global _current
        self.close()
        with _lock:
            if _current is self:
                _current = None
        return self.folder

    @property
    def count(self) -> int:
        """How many runs are recorded, also those whose file the thread has yet to make."""
        return self._opened + sum(self._late.get(run.id) is not False for run, _ in self._begun.copy())

    # -- see `Follower`

    def begin(self, run: Run, backend: Backend) -> None:
        if self._late.get(run.id) is False:
            self._quiet.add(run.id)
        else:
            self._open(run, backend)

    def _open(self, run: Run, backend: Backend) -> None:
        try:
            self._files[run.id] = _File(self.folder, run, backend, late=run.id in self._late)
            self._opened += 1
        except OSError as error:
            self._broken(run, error)

    def take(self, followed: Followed, dropped: int) -> None:
        reader = followed.reader
        while reader is not None and (first := reader.first()) is not None:
            key, submitted = first
            run, until = followed.run_of(key, submitted)
            if run is not None and run.id in self._quiet:
                if submitted < self._since:
                    reader.leave(key, run.started_ns, min(until, self._since))
                    continue
                self._quiet.discard(run.id)
                self._open(run, followed.backend)
            file = self._files.get(run.id) if run is not None else None
            if run is None or file is None:
                reader.leave(key, 0 if run is None else run.started_ns, until)
                continue
            part = reader.take(key, run.started_ns, until)
            self._write(file, partial(file.rows, part, dropped))
            dropped = 0

    def look(self) -> None:
        for file in list(self._files.values()):
            self._write(file, file.look)

    def end(self, ended: Ended) -> None:
        file = self._files.get(ended.run.id)
        if file is not None:
            self._write(file, partial(file.end, ended.record, ended.failures, ended.account, early=False))
            file.close()
            self._files.pop(ended.run.id, None)
            self._keep_within(file.path.stat().st_size)

    def _keep_within(self, size: int) -> None:
        if self._bound is not None and self._bound.recorded(size):
            notices.give(
                ("record", self.folder, "trimmed"),
                f"the oldest records in {self.folder} go, as there are more than {size_text(self._bound.limit)}: "
                "those with a name stay (rename), and limit= of cellmill.record sets how much is kept. This note is "
                "shown once.",
            )

    def closed(self) -> None:
        for file in list(self._files.values()):
            run = file.run
            self._write(file, partial(file.end, run.record(whole=True), run.failures(), None, early=True))
            file.close()
        self._files.clear()

    def _write(self, file: _File, what: Callable[[], None]) -> None:
        try:
            what()
        except OSError as error:
            file.close()
            self._files.pop(file.run.id, None)
            self._broken(file.run, error)

    def _broken(self, run: Run, error: OSError) -> None:
        self.problem = in_words(error)
        notices.give(
            ("record", self.folder, error.errno),
            f"the record of run {run.id} ({run.name}) in {self.folder} ends here: {self.problem}. The run goes on, and "
            "what was written can be read.",
        )

    def __enter__(self) -> RunRecorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "ended" if self._over else "recording"
        return f"<cellmill.RunRecorder {self.folder}, {counted(self.count, 'run')}, {state}>"


_current: RunRecorder | None = None
_lock = threading.Lock()
_by_setting = False


def current() -> RunRecorder | None:
    """The one that records now."""
    return _current


def start(folder: str | os.PathLike[str] | None, limit: int | None = None) -> RunRecorder:
    """Record every run from now on into a folder, which is made for its owner alone. One that does so already ends.

    ``limit``: bytes that are kept there. Without one all are, but of the folder that is taken where none is named.
    """
    global _current
    stop()
    if folder is None:
        folder = folders.usual()
        if limit is None and not os.environ.get(folders.SETTING):
            limit = USUAL_LIMIT
    made = RunRecorder(Path(folder).expanduser(), limit)
    with _lock:
        _current = made
    return made


def stop() -> RunRecorder | None:
    """End what `start` began; None where nothing is recorded."""
    found = _current
    if found is not None:
        found.stop()
    return found


def start_by_setting() -> None:
    """Record where the environment says so, once; a folder that cannot be used is said, and the program goes on."""
    global _by_setting
    if _by_setting or not os.environ.get(folders.SETTING):
        return
    _by_setting = True
    try:
        start(os.environ[folders.SETTING])
    except (OSError, ValueError) as error:
        notices.warn(f"runs are not recorded, as {folders.SETTING} asks: {in_words(error)}")


def _leave_to_parent() -> None:
    global _current, _by_setting, _lock
    _current, _by_setting, _lock = None, True, threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)
