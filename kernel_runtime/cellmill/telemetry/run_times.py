"""The run times of the tasks of two runs beside each other: ratio of the medians, and how certain it is.

Of a run the counts by steps of a sixteenth of an octave are kept, so a median is known within 6 %. The interval of the
ratio covers that, and the chance of which tasks a run had: the rank of the median among them is drawn many times from
its distribution, as a bootstrap would find it.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate

LEAST_TASKS = 5
"""With fewer on either side nothing is said about their times."""
LEAST_ALIKE = 3
"""So many runs alike tell how much runs differ by chance."""
_DRAWS = 1000
_TAIL = 0.025
_NS = 1e-9
# Quantiles of Student's distribution, 97.5 %, by degrees of freedom from 1 on; then that of the normal one.
_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)
_NORMAL = 1.96


class TaskTimes:
    """How many tasks of one function ran how long: steps as (least nanoseconds, end, count), the shortest first."""

    def __init__(self, steps: Sequence[int]) -> None:
        """``steps``: the three numbers of each step one after another."""
        self._starts, self._ends, self._counts = steps[0::3], steps[1::3], steps[2::3]
        self._up_to = list(accumulate(self._counts))

    @property
    def count(self) -> int:
        """Number of tasks."""
        return self._up_to[-1] if self._up_to else 0

    def quantile(self, share: float) -> float:
        """Return the seconds below which this share of the tasks ran, even within a step."""
        at, low, high = self._step(share)
        inside = (share * self.count - (self._up_to[at] - self._counts[at])) / self._counts[at]
        return low + (high - low) * min(1.0, max(0.0, inside))

    def bounds(self, share: float) -> tuple[float, float]:
        """Return the least and the most seconds that this quantile can be."""
        _, low, high = self._step(share)
        return low, high

    def _step(self, share: float) -> tuple[int, float, float]:
        at = min(bisect_left(self._up_to, share * self.count), len(self._up_to) - 1)
        return at, self._starts[at] * _NS, self._ends[at] * _NS

    @cached_property
    def median(self) -> float:
        """The median in seconds; 0 without tasks."""
        return self.quantile(0.5) if self.count else 0.0

    def together(self, other: TaskTimes) -> TaskTimes:
        """Return the times of both."""
        merged: dict[tuple[int, int], int] = {}
        for each in (self, other):
            for start, end, count in zip(each._starts, each._ends, each._counts, strict=True):
                merged[start, end] = merged.get((start, end), 0) + count
        return TaskTimes([number for step in sorted(merged) for number in (*step, merged[step])])


@dataclass(frozen=True, slots=True)
class Ratio:
    """The median time after, by that before, with its 95 % interval: of these tasks, not of other runs."""

    value: float
    low: float
    high: float

    def exceeds(self, noise: float) -> bool:
        """Whether the whole interval is beyond what chance gives: a factor of ``noise`` (1 or more) either way."""
        return self.low > noise or self.high < 1 / noise


def ratio_of(before: TaskTimes, after: TaskTimes) -> Ratio | None:
    """Return the ratio of the medians; None with too few tasks, or with some that took no measurable time."""
    if min(before.count, after.count) < LEAST_TASKS or before.median <= 0 or after.median <= 0:
        return None
    lows, highs = [], []
    for first, second in zip(_ranks(before.count, 0), _ranks(after.count, 1), strict=True):
        (low, high), (least, most) = before.bounds(first), after.bounds(second)
        lows.append(least / high)
        highs.append(most / max(low, _NS))
    lows.sort()
    highs.sort()
    value = after.median / before.median
    cut = int(_DRAWS * _TAIL)
    return Ratio(value, min(value, lows[cut]), max(value, highs[-1 - cut]))


@lru_cache(maxsize=16)
def _ranks(count: int, seed: int) -> tuple[float, ...]:
    """Draw where, as a share, the median of all tasks that could have been is among so many. The same each time: equal
    tasks give equal intervals. Its spread is that of the number of tasks on one side of it.
    """
    chance = random.Random(seed)
    return tuple(chance.betavariate((count - 1) / 2, (count - 1) / 2) for _ in range(_DRAWS))


def noise_of(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the factor that two single runs differ by through chance, 19 times of 20 at most, from values (times) of
    runs that are alike within each group; None where no group has enough of them.
    """
    squares, freedom = 0.0, 0
    for group in groups:
        logs = [math.log(value) for value in group if value > 0]
        if len(logs) >= LEAST_ALIKE:
            mean = sum(logs) / len(logs)
            squares += sum((each - mean) ** 2 for each in logs)
            freedom += len(logs) - 1
    if not freedom:
        return None
    student = _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL
    return math.exp(student * math.sqrt(2 * squares / freedom))
