"""A record as frames of views: counters, timeline and journeys, folded by the code that does so live."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, cast

from cellmill.backends.scheduled import packed_rows
from cellmill.backends.scheduled.scheduler import JOURNEY, NO_WORKER, Scheduler
from cellmill.backends.scheduled.timeline import Timeline
from cellmill.history import RunRecord, TimeSpent
from cellmill.records.catalogue import open_record
from cellmill.records.moments import Counts, Moments, final
from cellmill.records.record import Record
from cellmill.telemetry import schema
from cellmill.telemetry.journal import JournalWriter
from cellmill.telemetry.progress import ProgressFold, RunSample, Sample
from cellmill.views import publisher
from cellmill.views.replay import write_page
from cellmill.views.sections.runs import told
from cellmill.views.sections.timeline import TimelineSection
from cellmill.views.sections.work_fold import Folded, fold_all, journeys_of

_FRAME = 'style="width:100%;height:640px;border:0" sandbox="allow-scripts"'
PICTURES = 120  # moments of a record that are drawn
_EVERY = 10  # of them have the figures of functions
_LIMIT = 256 << 20
_SLICE = 65_536  # rows put into the fold at a time: it reads them before they are overwritten


class Replay:
    """A record that a notebook plays: the dashboard as it was, with a slider for the time and three speeds."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it as one page that any browser opens, without a kernel or a network; where it is."""
        return page_of(self._record, Path(path).expanduser())

    def __repr__(self) -> str:
        return f"<cellmill.Replay of {self._record!r}: a notebook shows it, save('page.html') keeps it>"

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory(prefix="cellmill-") as folder:
            page = page_of(self._record, Path(folder) / "page.html").read_text()
        return f'<iframe title="Replay" {_FRAME} srcdoc="{escape(page)}"></iframe>'


def replay(what: Any) -> Replay:
    """Play a run again: a record, its file, or a run of this kernel as far as it is kept; see `open_record`."""
    return Replay(open_record(what))


def page_of(record: Record, page: Path) -> Path:
    """Write the page that plays a record; where it is."""
    with tempfile.TemporaryDirectory(prefix="cellmill-") as folder:
        journal = Path(folder) / (record.path.name if record.path is not None else f"run-{record.run.id}")
        write_journal(record, journal)
        return write_page(journal, page)


def write_journal(record: Record, path: Path) -> None:
    """Write the frames, in the form in which what views show is recorded."""
    started = record.run.began.isoformat(timespec="seconds")
    writer = JournalWriter(path, {"release": publisher.release(), "started": started}, _LIMIT)
    try:
        for at, frame in frames_of(record):
            writer.add(at, frame)
    finally:
        writer.close()


def frames_of(record: Record) -> Iterator[tuple[float, schema.Frame]]:
    """The frames, each with its time in seconds since the first task was submitted."""
    moments = Moments(record)
    fold, folded = ProgressFold(), _Folds(record)
    yield 0.0, publisher.hello()
    times = moments.evenly(PICTURES)
    for number, time_ns in enumerate(times):
        at, counts, last = (time_ns - moments.first) / 1e9, moments.at(time_ns), number == PICTURES - 1
        if last:  # also tasks without journeys of their own
            counts = final(record.run, counts)
        yield at, fold.snapshot(_sample(record, moments, time_ns, counts), [_run_sample(record.run, counts)])
        yield at, folded.timeline(time_ns, last)
        if last or number % _EVERY == 0:
            yield at, folded.journey(last)
    course = fold.course()
    if course is not None:
        yield at, course
    yield at, {"cellmill": schema.VERSION, "kind": "runs", "runs": [_listed(record.run)]}


class _Folds:
    """The journeys of a record up to a moment, in csched's own fold."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._scheduler = Scheduler()
        self._timeline = Timeline(self._scheduler)
        self._timeline.begin(0)
        self._section = TimelineSection()
        self._ends = memoryview(record.rows).cast("Q")[9 :: JOURNEY.size // 8] if record.rows else ()
        self._workers = sorted({row[4] for row in record.tuples()} - {NO_WORKER})
        self._next = 0

    def timeline(self, time_ns: int, last: bool) -> schema.Timeline:
        """What each worker has done by then."""
        self._advance(time_ns, last)
        folded = Folded(0, fold_all(self._timeline), self._timeline, self._record.names)
        frame = self._section.changes(folded, b"", self._record.names)
        frame["workers"] = self._workers
        frame["now"] = time_ns / 1e9
        return frame

    def journey(self, last: bool) -> schema.Journey:
        """The figures of the functions so far."""
        state = fold_all(self._timeline)
        functions, run = journeys_of(self._timeline.figures(), self._record.names, {}, {}), self._record.run
        return {
            "cellmill": schema.VERSION,
            "kind": "journey",
            "run": None,
            "known": True,
            "work": 0,
            "tasks": int(state.tasks),
            "sampled": int(state.sampled),
            "dropped": int(state.dropped),
            "hidden": 0,
            "functions": functions,
            "hits": [{"name": run.name, "count": run.hits}] if last and run.hits else [],
            "slowest": [],
            "account": _account(self._record) if last else None,
        }

    def _advance(self, time_ns: int, last: bool) -> None:
        end = self._next
        while end < len(self._ends) and (last or self._ends[end] <= time_ns):
            end += 1
        while self._next < end:
            upto = min(end, self._next + _SLICE)
            packed_rows.restore(
                self._scheduler, self._record.rows[self._next * JOURNEY.size : upto * JOURNEY.size]
            )
            fold_all(self._timeline)
            self._next = upto


def _account(record: Record) -> schema.Account | None:
    """Where the time went, as it was told at the end of the run; None where that is not in the record."""
    kept, spent = record.account, record.run.spent
    if not kept.get("tasks"):
        return None
    names = ("wall", "workers", "busy", "overhead", "idle", "span", "tasks", "sentence")
    found = {name: kept[name] for name in names}
    more: dict[str, Any] = {
        "reasons": None if spent is None or not spent.reasons else _idle_times(spent, kept["idle"]),
        "nothing": "",
        "sent": kept.get("sent"),
        "received": kept.get("received"),
        "advice": [],
    }
    return cast(schema.Account, found | more)


def _idle_times(spent: TimeSpent, idle: float) -> list[schema.IdleTime]:
    scale = idle / spent.idle
    return [
        {"reason": reason, "what": what, "seconds": scale * share} for reason, what, share in spent.reasons
    ]


def _sample(record: Record, moments: Moments, time_ns: int, counts: Counts) -> Sample:
    workers = int(record.head.get("workers") or 0)
    return Sample(
        executor=1,
        time=time_ns / 1e9,
        backend=str(record.head.get("backend", "")),
        workers=workers,
        wanted=workers,
        paused=False,
        submitted=counts.submitted,
        running=counts.running,
        succeeded=counts.succeeded,
        failed=counts.failed,
        cancelled=counts.cancelled,
        lost=counts.lost,
        span=(moments.first / 1e9, moments.last / 1e9),
    )


def _run_sample(run: RunRecord, counts: Counts) -> RunSample:
    return RunSample(
        abs(run.id),
        run.name,
        run.submitted,
        counts.submitted,
        counts.over,
        counts.failed,
        counts.cancelled,
        running=counts.running,
        lost=counts.lost,
    )


def _listed(run: RunRecord) -> schema.RunRecord:
    return cast(schema.RunRecord, {**told(run, kept=False), "id": abs(run.id)})
