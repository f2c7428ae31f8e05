"""The counters of a piece of work over time, for views that come late or come again: bounded, however long it runs."""

from __future__ import annotations

from typing import NamedTuple

MOST = 400  # points
MOST_RUNS, MOST_OF_RUN = 256, 120
SETTLED = 0.05  # seconds; more points than this apart are merged only for want of room


class Point(NamedTuple):
    """Counters at one moment, in monotonic seconds; ``ran``: tasks that ran, failed ones too."""

    time: float
    ran: int
    queued: int
    running: int


class Course:
    """Points in the order of time.

    Where they become too many, every second one is dropped, and later ones are farther apart.

    A stretch in which nothing changed keeps its first and its last point, so that it is drawn level.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._points: list[Point] = []
        self._gap = SETTLED

    @property
    def points(self) -> list[Point]:
        """The points that are kept."""
        return list(self._points)

    def clear(self) -> None:
        """A new piece of work begins."""
        self._points, self._gap = [], SETTLED

    def push(self, point: Point) -> None:
        """Take the counters of one moment; those before the last one's are ignored."""
        kept = self._points
        if kept and point.time < kept[-1].time:
            return
        if len(kept) > 1 and (
            kept[-2][1:] == kept[-1][1:] == point[1:] or point.time - kept[-2].time < self._gap
        ):
            kept[-1] = point  # the newest one is always there
            return
        kept.append(point)
        if len(kept) > self._most:
            self._gap = max(2 * self._gap, 2 * (kept[-1].time - kept[0].time) / self._most)
            self._points = [*kept[:-1:2], kept[-1]]


class RunCourses:
    """The courses of the latest runs, by their ids."""

    def __init__(self) -> None:
        self._of: dict[int, Course] = {}

    def push(self, run: int, point: Point) -> None:
        """Take a run's counters of one moment; the run that came first makes room for another one."""
        course = self._of.get(run)
        if course is None:
            while len(self._of) >= MOST_RUNS:
                del self._of[next(iter(self._of))]
            course = self._of[run] = Course(MOST_OF_RUN)
        course.push(point)

    def points(self, run: int) -> list[Point]:
        """The points that are kept of a run."""
        course = self._of.get(run)
        return course.points if course is not None else []
