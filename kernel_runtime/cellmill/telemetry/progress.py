"""The counters of the default executor, folded into snapshots of the present piece of work.

An executor counts from its start. A reader wants the counts of what runs now: the fold remembers where the
present piece of work began, and a new one begins when tasks are submitted after a cell started with nothing
outstanding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cellmill.telemetry import schema
from cellmill.telemetry.course import Course, Point, RunCourses


@dataclass(frozen=True, slots=True)
class Sample:
    """An executor's counters at one moment; `executor` tells executors apart, `time` is monotonic seconds."""

    executor: int
    time: float
    backend: str
    workers: int
    wanted: int
    paused: bool
    submitted: int
    running: int
    succeeded: int
    failed: int
    cancelled: int
    lost: int = 0  # of the failed ones
    position: int = 0  # in the state map, of the next task
    span: tuple[float, float] = (
        0.0,
        0.0,
    )  # from the work's first submission to its last task's end; 0: unknown

    @property
    def done(self) -> int:
        return self.succeeded + self.failed + self.cancelled

    @property
    def idle(self) -> bool:
        return self.done >= self.submitted


@dataclass(frozen=True, slots=True)
class RunSample:
    """A run's counters at one moment; `expected` is None where its length is not known."""

    id: int
    name: str
    expected: int | None
    submitted: int
    done: int
    failed: int
    cancelled: int = 0
    priority: int = 0
    running: int = 0
    lost: int = 0  # of the failed ones


@dataclass(frozen=True, slots=True)
class _Start:
    """The counters at which a piece of work began."""

    executor: int
    submitted: int = 0
    done: int = 0
    failed: int = 0
    cancelled: int = 0
    lost: int = 0
    position: int = 0

    @classmethod
    def at(cls, sample: Sample) -> _Start:
        return cls(
            sample.executor,
            sample.submitted,
            sample.done,
            sample.failed,
            sample.cancelled,
            sample.lost,
            sample.position,
        )


class ProgressFold:
    """Samples in, snapshots out. Not thread-safe: its owner serialises the calls."""

    def __init__(self) -> None:
        self._start = _Start(executor=0)
        self._next: _Start | None = None
        self._work = 0
        self._since = 0.0  # tasks submitted before are of earlier work
        self._began = 0.0  # the last moment at which none of this work's tasks had been submitted
        self._next_began = 0.0
        self._changed = 0.0  # the last moment at which its counts changed
        self._seen: tuple[int, ...] = ()
        self._course = Course()
        self._runs = RunCourses()
        self._total = 0

    @property
    def bounds(self) -> tuple[int, int, int]:
        """The present piece of work: its number, the position of its first task in the state map, its tasks so far."""
        return self._work, self._start.position, self._total

    @property
    def work(self) -> tuple[int, float]:
        """The number of the present piece of work, and a moment before its first task and after the last one's of
        the work before: monotonic seconds, 0 for an executor's first.
        """
        return self._work, self._since

    def cell_started(self, sample: Sample) -> None:
        """Let a new piece of work begin with the next task, unless one is under way."""
        if sample.idle:
            self._next = _Start.at(sample)
            self._next_began = sample.time

    def snapshot(self, sample: Sample, runs: Sequence[RunSample]) -> schema.Snapshot:
        """The frame that describes `sample`, and the runs in progress, to a view."""
        self._settle_start(sample)
        start = self._start
        submitted = sample.submitted - start.submitted
        done = sample.done - start.done
        expected = sum(max(0, run.expected - run.submitted) for run in runs if run.expected is not None)
        running = min(sample.running, max(0, submitted - done))
        self._total = submitted + expected
        queued = max(0, submitted - done - running)
        self._course.push(Point(sample.time, done - (sample.cancelled - start.cancelled), queued, running))
        for run in runs:
            waiting = max(0, run.submitted - run.done - run.running)
            self._runs.push(run.id, Point(sample.time, run.done - run.cancelled, waiting, run.running))
        return {
            "cellmill": schema.VERSION,
            "kind": "snapshot",
            "run": None,
            "time": sample.time,
            "work": self._work,
            "began": self._began,
            "elapsed": self._elapsed(sample),
            "backend": sample.backend,
            "workers": sample.workers,
            "wanted": sample.wanted,
            "paused": sample.paused,
            "left": None,
            "counts": {
                "total": self._total,
                "done": done,
                "failed": sample.failed - start.failed,
                "lost": sample.lost - start.lost,
                "cancelled": sample.cancelled - start.cancelled,
                "running": running,
                "queued": queued,
            },
            "runs": [
                {
                    "id": run.id,
                    "name": run.name,
                    "total": run.expected,
                    "done": run.done,
                    "failed": run.failed,
                    "lost": run.lost,
                    "cancelled": run.cancelled,
                    "priority": run.priority,
                }
                for run in runs
            ],
        }

    def course(self) -> schema.Course | None:
        """The frame with the counters of this work so far; None where there are none."""
        points = self._course.points
        if len(points) < 2 or not self._total:
            return None
        return _course(None, self._work, self._began, points)

    def course_of(self, run: int, began: float) -> schema.Course | None:
        """The frame with the counters of one run so far, which began at that time; None where there are none."""
        points = self._runs.points(run)
        return _course(run, run, began, points) if points else None

    def _settle_start(self, sample: Sample) -> None:
        if sample.executor != self._start.executor or sample.submitted < self._start.submitted:
            self._begin(_Start(sample.executor), sample.time)
            self._since = 0.0
        elif self._next is not None and sample.submitted > self._next.submitted:
            since = self._next_began
            self._begin(self._next, since)
            self._since = since
        elif self._next is not None:
            self._next_began = sample.time
        if sample.submitted == self._start.submitted:
            self._began = sample.time
        elif self._began <= sample.span[0] <= sample.time:
            self._began = sample.span[0]  # which is exact, and not between two looks

    def _begin(self, start: _Start, time: float) -> None:
        self._start, self._next = start, None
        self._work += 1
        self._began, self._changed, self._seen = time, time, ()
        self._course.clear()

    def _elapsed(self, sample: Sample) -> float:
        """Seconds from the start of the work to the last change of its counts."""
        counts = (sample.submitted, sample.running, sample.succeeded, sample.failed, sample.cancelled)
        if counts != self._seen:
            self._seen, self._changed = counts, sample.time
            if sample.idle and self._began == sample.span[0] < sample.span[1] <= sample.time:
                self._changed = sample.span[1]
        return max(0.0, self._changed - self._began)


def _course(run: int | None, work: int, began: float, points: Sequence[Point]) -> schema.Course:
    times, ran, queued, running = (list(column) for column in zip(*points, strict=True))
    return {
        "cellmill": schema.VERSION,
        "kind": "course",
        "run": run,
        "work": work,
        "began": began,
        "time": times,
        "ran": ran,
        "queued": queued,
        "running": running,
    }
