"""What a report tells of a record, as arrays: curves over time, run times by function, what each worker did."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..backends.scheduled.figures import STATUSES
from ..backends.scheduled.scheduler import NO_WORKER
from .record import Record
from .tables import functions_of, native

POINTS = 240  # of a curve
BARS = 40  # of a histogram
BUCKETS = 400  # of a worker's row, where tasks are too many to be drawn one by one
MOST_FUNCTIONS = 8
MOST_BARS = 2500  # tasks that a timeline draws one by one
_RETRIED = STATUSES.index("retried")
_NOT_RUN = [STATUSES.index("cancelled"), STATUSES.index("dependency")]
_DONE = [number for number, name in enumerate(STATUSES) if name == "done"]


@dataclass(frozen=True, slots=True)
class FunctionTimes:
    """The tasks of one function that ran to an end of their own or were lost."""

    name: str
    tasks: int
    failed: int
    # run times of all attempts of which the begin and the end are known, sorted; of an item of a batch its part of that
    seconds: np.ndarray

    def quantile(self, share: float) -> float:
        """The time below which this share of them ran."""
        return float(np.quantile(self.seconds, share)) if len(self.seconds) else 0.0


class Figures:
    """The arrays of one record; times are seconds since its first task was submitted."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._rows = native(record)
        self._stamps = self._rows["stamps"]
        submitted = self._stamps[:, 0]
        self.origin = int(submitted[submitted > 0].min()) if len(submitted) and submitted.any() else 0
        self._ran = (self._stamps[:, 4] > 0) & (self._stamps[:, 5] > 0) & (self._rows["worker"] != NO_WORKER)
        first, self._together = _batches(self._rows)
        self._once = self._ran & first
        self._functions, self.names = (
            functions_of(record, self._rows) if len(self._rows) else (np.zeros(0, "i4"), [])
        )

    def _times(self, stage: int, where: Any) -> np.ndarray:
        return np.sort(self._stamps[where, stage] - np.uint64(self.origin)) / 1e9

    def _over(self, where: Any) -> np.ndarray:
        """When these tasks were over: at the end of their run, or with their result where that is not known."""
        return np.sort(
            np.concatenate([self._times(5, self._ran & where), self._times(7, ~self._ran & where)])
        )

    @cached_property
    def length(self) -> float:
        """From the first submission to the last end."""
        ends = self._times(5, self._ran)
        return float(ends[-1]) if len(ends) else self.record.run.wall

    @cached_property
    def curves(self) -> dict[str, np.ndarray]:
        """Tasks a second, waiting and running tasks, at even moments."""
        at = np.linspace(0, max(self.length, 1e-9), POINTS)
        submitted = self._times(0, (self._stamps[:, 0] > 0) & (self._rows["attempt"] == 0))
        started, ended = self._times(4, self._once), self._times(5, self._once)
        final = self._rows["status"] != _RETRIED
        over, done = self._over(final), self._over(final & ~np.isin(self._rows["status"], _NOT_RUN))
        counts = [np.searchsorted(each, at, side="right") for each in (submitted, started, ended, over)]
        running = np.maximum(0, counts[1] - counts[2])
        rate = np.diff(np.searchsorted(done, at, side="right"), prepend=0) / (at[1] - at[0])
        rate[0] = 0
        return {
            "at": at,
            "rate": rate,
            "running": running,
            "waiting": np.maximum(0, counts[0] - counts[3] - running),
        }

    @cached_property
    def functions(self) -> list[FunctionTimes]:
        """Those that took the most time first."""
        lengths = (self._stamps[:, 5] - self._stamps[:, 4]) / 1e9 / self._together
        found = []
        for number, name in enumerate(self.names):
            mine = self._functions == number
            over = self._rows["status"][mine & ~np.isin(self._rows["status"], [_RETRIED, *_NOT_RUN])]
            failed = int(np.sum(~np.isin(over, _DONE)))
            seconds = np.sort(lengths[mine & self._ran])
            found.append(FunctionTimes(name.rpartition("<locals>.")[2], len(over), failed, seconds))
        return sorted(found, key=lambda each: -float(each.seconds.sum()))

    @property
    def drawn_one_by_one(self) -> bool:
        """Whether a timeline has each task."""
        return int(self._ran.sum()) <= MOST_BARS

    @cached_property
    def bars(self) -> dict[str, Any]:
        """One bar for each task: worker, begin, end, function, status."""
        rows, stamps = self._rows[self._ran], self._stamps[self._ran]
        return {
            "worker": [f"worker {number}" for number in rows["worker"]],
            "begin": (stamps[:, 4] - np.uint64(self.origin)) / 1e9,
            "end": (stamps[:, 5] - np.uint64(self.origin)) / 1e9,
            "function": [
                self.names[number].rpartition("<locals>.")[2] for number in self._functions[self._ran]
            ],
            "status": [STATUSES[number] for number in rows["status"]],
        }

    @property
    def workers(self) -> list[int]:
        """Numbers of the workers that had tasks."""
        return [int(number) for number in np.unique(self._rows["worker"][self._ran])]

    @cached_property
    def shares(self) -> dict[str, Any]:
        """For each worker and each part of the time: the share that it was busy."""
        edges = np.linspace(0, max(self.length, 1e-9), BUCKETS + 1)
        width = edges[1]
        found: dict[str, Any] = {"worker": [], "begin": [], "end": [], "share": []}
        for worker in self.workers:
            mine = self._once & (self._rows["worker"] == worker)
            busy = self._busy_until(edges, mine)
            share = np.clip(np.diff(busy) / width, 0, 1)
            kept = share > 0.005
            found["worker"] += [f"worker {worker}"] * int(kept.sum())
            found["begin"] += edges[:-1][kept].tolist()
            found["end"] += edges[1:][kept].tolist()
            found["share"] += share[kept].round(3).tolist()
        return found

    def _busy_until(self, edges: np.ndarray, mine: Any) -> np.ndarray:
        """Seconds that a worker was busy up to each edge: its tasks follow one another."""
        begins, ends = self._times(4, mine), self._times(5, mine)
        whole = np.concatenate([[0.0], np.cumsum(ends - begins)])
        started = np.searchsorted(begins, edges, side="right")
        inside = np.where(started > 0, np.maximum(0, ends[np.maximum(started, 1) - 1] - edges), 0.0)
        return whole[started] - inside


def _batches(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are the first of those that ran together, as the items of a batch do, and with how many each ran."""
    if not len(rows):
        return np.ones(0, bool), np.ones(0, "i8")
    stamps = rows["stamps"]
    first = np.ones(len(rows), bool)
    first[1:] = (
        (rows["task"][1:] != rows["task"][:-1])
        | (rows["attempt"][1:] != rows["attempt"][:-1])
        | (stamps[1:, 4:6] != stamps[:-1, 4:6]).any(axis=1)
    )
    group = np.cumsum(first) - 1
    return first, np.bincount(group)[group]
