"""A record: one run with all that was kept of it, from a file or from the memory of this kernel."""

from __future__ import annotations

import itertools
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from ..backends.scheduled import packed_rows
from ..backends.scheduled.figures import STATUSES
from ..backends.scheduled.scheduler import JOURNEY, NO_WORKER
from ..diagnostics.failure_counts import FailureCount
from ..diagnostics.short_text import counted, duration_text, one_line
from ..errors import DependencyError, UsageError
from ..history import Moved, RunFigures, RunRecord, Stages, TimeSpent
from ..telemetry.schema import STAGES
from . import form, machine

__all__ = ["Record", "Sample", "read", "summary"]

_numbers = itertools.count(1)
_RAN = frozenset(("done", "failed", "lost", "timeout"))  # rows of tasks that ran to an end
_STATUS = 22  # its place in a row
GOING, CUT, EARLY, WHOLE = "goes on", "cut off", "stopped early", "whole"


class Sample(NamedTuple):
    """Counts at one moment, in monotonic nanoseconds, and the bytes that all workers had; None: not known."""

    at: int
    submitted: int
    succeeded: int
    failed: int
    cancelled: int
    running: int
    memory: int | None


@dataclass
class Record:
    """One run with its journeys. ``run`` has its figures, as `cellmill.runs` shows them; ``state`` tells whether it is
    whole; ``notes`` say what a reader has to know.

    ``rows`` are journeys as the scheduler has them, 96 bytes each, in the order in which tasks ended; `journeys` gives
    them as dicts, `cellmill.journeys` as a table.
    """

    path: Path | None
    head: dict[str, Any]
    run: RunRecord
    state: str
    rows: bytes = field(default=b"", repr=False)
    names: dict[int, str] = field(default_factory=dict, repr=False)
    samples: list[Sample] = field(default_factory=list, repr=False)
    failures: list[FailureCount] = field(default_factory=list)
    account: dict[str, Any] = field(default_factory=dict, repr=False)
    missing: int = 0  # journeys that were overwritten before they could be read

    @property
    def label(self) -> str:
        """The name that it was given; "" without one."""
        return self.run.label

    @property
    def began_ns(self) -> int:
        """When the run began, on the monotonic clock of its machine."""
        return int(self.head.get("began_ns", 0))

    def __len__(self) -> int:
        return len(self.rows) // JOURNEY.size

    def tuples(self) -> Iterator[tuple[int, ...]]:
        """The rows: ticket, run, function, element, worker, status, attempt, the eight stamps, nanoseconds of
        pickling, position.
        """
        return JOURNEY.iter_unpack(self.rows)

    def journeys(self) -> Iterator[dict[str, Any]]:
        """The same as dicts, see `cellmill.journey_rows`."""
        for row in self.tuples():
            ticket, run, function, element, worker, status, attempt, *stamps, pack_ns, position = row
            yield {
                "task": ticket,
                "run": run,
                "function": self.names.get(function, "?"),
                "element": element,
                "worker": worker if worker != NO_WORKER else None,
                "status": STATUSES[status] if status < len(STATUSES) else "?",
                "attempt": attempt,
                "pack_ns": int(pack_ns),
                "position": position,
                **{stage: stamp or None for stage, stamp in zip(STAGES, stamps, strict=True)},
            }

    def rename(self, label: str) -> None:
        """Give it a name, which is kept in its file."""
        if not isinstance(label, str) or not label.strip() or len(label) > 200 or not label.isprintable():
            raise UsageError(f"a record's name is a line of text of at most 200 characters, not {label!r}")
        if self.path is None:
            raise UsageError("only a record in a file can be named: cellmill.record(folder) makes those")
        form.append_label(self.path, label.strip(), mend=self.state != GOING)
        object.__setattr__(self.run, "label", label.strip())

    @property
    def ran(self) -> int:
        """How many tasks ran to an end: neither cancelled nor left out because an input had failed."""
        left_out = sum(each.count for each in self.failures if each.kind == DependencyError.__name__)
        return max(0, self.run.succeeded + self.run.failed - left_out)

    @property
    def without_journey(self) -> int:
        """How many of these have no row."""
        statuses = memoryview(self.rows)[_STATUS :: JOURNEY.size]
        return max(0, self.ran - sum(STATUSES[status] in _RAN for status in statuses))

    @property
    def notes(self) -> list[str]:
        """What has to be known of it."""
        found = []
        if self.state == CUT:
            found.append(
                "It is cut off: its process ended, or its disk was full, before the run did. What was written "
                "by then is here."
            )
        if self.state == GOING:
            said = "The run goes on, and its record is still written"
            if self.path is None:
                said = "The run goes on" if self.run.outstanding else "The run may still get calls"
            elif not self.run.outstanding:
                said = "What the run has got is over, and its record is open until the next cell begins"
            found.append(f"{said}: this is what there is by now.")
        if self.state == EARLY:
            found.append(
                "Recording was switched off before the run was over: this is what there was by then."
                if self.run.outstanding
                else "Recording was switched off while the run could still get calls; those that it had got are over."
            )
        earlier = self.without_journey if self.head.get("late") and self.rows else 0
        if earlier:
            found.append(
                f"Recording began after the run did: {counted(earlier, 'task')} that ended before have no journeys."
            )
        if self.missing:
            why = "came too fast to be read" if self.path is not None else "are not kept any more"
            found.append(f"{counted(self.missing, 'journey')} of tasks {why}, and are missing.")
        if self.path is not None and self.head.get("boot") != machine.boot():
            where = f"on {self.head.get('host', '?')}, before that machine or this one was started"
            found.append(
                f"It was recorded {where}: its times are by the clock of that machine, and differ from those of other "
                "machines by what their clocks do."
            )
        if not self.rows and self.ran:
            found.append(
                "It has no journeys of single tasks: the inline backend keeps none, and old ones are overwritten."
            )
        return found

    def __repr__(self) -> str:
        run = self.run
        name = f" {run.label!r}" if run.label else ""
        return (
            f"<cellmill.Record{name} {run.name}, {counted(run.submitted, 'task')}, {duration_text(run.wall)}, "
            f"{run.began:%Y-%m-%d %H:%M:%S}, {self.state}>"
        )


def read(path: str | os.PathLike[str]) -> Record:
    """Read a record with its journeys. Raises `UsageError` for what is none, or one of another version."""
    return _read(Path(path).expanduser(), whole=True)


def summary(path: Path) -> RunRecord:
    """Read what a list of records shows."""
    return _read(path, whole=False).run


def _read(path: Path, *, whole: bool) -> Record:
    form.check(path)
    head: dict[str, Any] = {}
    end: dict[str, Any] | None = None
    names: dict[int, str] = {}
    samples: list[Sample] = []
    failures: list[FailureCount] = []
    label, missing, parts = "", 0, []
    with path.open("rb") as file:
        for frame in form.frames(file):
            if frame.kind == form.ROWS:
                count, missed, packed = frame.rows()
                missing += missed
                parts.append((count, packed))
            elif frame.kind == form.HEAD:
                head = frame.json()
            elif frame.kind == form.NAMES:
                names.update({int(key): str(name) for key, name in frame.json()["names"].items()})
            elif frame.kind == form.SAMPLE:
                data = frame.json()
                samples.append(Sample(data["at"], *data["counts"]))
            elif frame.kind == form.FAILURES:
                failures = [FailureCount(**each) for each in frame.json()["failures"]]
            elif frame.kind == form.END:
                end = frame.json()
            elif frame.kind == form.LABEL:
                label = frame.json().get("label", "")
    if not head:
        raise UsageError(f"{path} was cut off before anything was written")
    if end is not None:
        state = EARLY if end.get("early") else WHOLE
    else:
        state = GOING if machine.is_alive(head) else CUT
    rows = b"".join(packed_rows.unpack(*part) for part in parts) if whole or end is None else b""
    if end is None:
        end = _end_of(head, rows, samples)
    run = _run_of(head, end, label, path, state)
    return Record(path, head, run, state, rows, names, samples, failures, end.get("account") or {}, missing)


def _run_of(
    head: dict[str, Any], end: dict[str, Any], label: str, path: Path | None, state: str
) -> RunRecord:
    figures = end.get("figures")
    return RunRecord(
        id=-next(_numbers),
        name=one_line(head["name"]),
        cell=head["cell"],
        began=datetime.fromisoformat(head["began"]),
        wall=end["wall"],
        finished=state == WHOLE,
        ends=state if state in (CUT, EARLY) else "",
        submitted=end["submitted"],
        succeeded=end["succeeded"],
        failed=end["failed"],
        cancelled=end["cancelled"],
        lost=end.get("lost", 0),
        hits=end.get("hits", 0),
        busy=end.get("busy"),
        memory=end.get("memory"),
        moved=Moved(*end["moved"]) if end.get("moved") else None,
        figures=None
        if figures is None
        else RunFigures(
            **{**figures, "stages": Stages(*figures["stages"]), "steps": array("Q", figures["steps"])}
        ),
        label=label,
        path=path,
        spent=_spent_of(end),
    )


def _spent_of(end: dict[str, Any]) -> TimeSpent | None:
    if not end.get("spent"):
        return None
    sentence, idle, reasons = end["spent"]
    return TimeSpent(sentence, idle, tuple((reason, what, share) for reason, what, share in reasons))


def _end_of(head: dict[str, Any], rows: bytes, samples: list[Sample]) -> dict[str, Any]:
    """What is known of a run whose end is not in its record, from what was written."""
    final = {"done": 0, "failed": 0, "cancelled": 0}
    lost = 0
    steps: dict[tuple[int, int], int] = {}
    last, work, tasks = 0, 0, 0
    for _, group in itertools.groupby(JOURNEY.iter_unpack(rows), itemgetter(0, 6, 11, 12)):
        together = list(group)  # the items of a batch, or one task
        *_, returned, _, _, _ = together[0]
        begin, end = together[0][11:13]
        last = max(last, end, returned)
        if begin and end:
            work += end - begin
        for row in together:
            kind = STATUSES[row[5]]
            if begin and end and kind in ("done", "failed"):
                tasks += 1
                step = step_of((end - begin) // len(together))
                steps[step] = steps.get(step, 0) + 1
            lost += kind == "lost"
            if kind != "retried":
                final["done" if kind == "done" else "cancelled" if kind == "cancelled" else "failed"] += 1
    latest = samples[-1] if samples else None
    done = max(final["done"], latest.succeeded if latest else 0)
    failed = max(final["failed"], latest.failed if latest else 0)
    cancelled = max(final["cancelled"], latest.cancelled if latest else 0)
    if latest and (
        not last or latest.submitted > done + failed + cancelled
    ):  # else it ended with its last task
        last = max(last, latest.at)
    numbers = [number for step in sorted(steps) for number in (*step, steps[step])]
    return {
        "wall": max(0.0, (last - head["began_ns"]) / 1e9),
        "submitted": max(done + failed + cancelled, latest.submitted if latest else 0),
        "succeeded": done,
        "failed": failed,
        "cancelled": cancelled,
        "lost": lost,
        "figures": {
            "backend": head["backend"],
            "size": head["workers"],
            "workers": float(head["workers"]),
            "work": work / 1e9,
            "tasks": tasks,
            "stages": [0.0] * len(Stages._fields),
            "steps": numbers,
        },
    }


def step_of(nanoseconds: int) -> tuple[int, int]:
    """The step of a sixteenth of an octave in which a time is, as the scheduler counts them."""
    shift = max(0, nanoseconds.bit_length() - 5)
    start = nanoseconds >> shift << shift
    return start, start + (1 << shift)
