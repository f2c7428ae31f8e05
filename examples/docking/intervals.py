"""Bootstrap intervals: what a figure of a few molecules might have been with other molecules.

Molecules are drawn with replacement, as many as there are, and the figure is computed of each draw; the interval leaves
out as many of the lowest and the highest of these (B. Efron and R. Tibshirani, An Introduction to the Bootstrap, 1993,
chapter 13). It tells the luck of the draw and nothing else: not whether the score is right. Of a few molecules it is a
little too narrow: that of a difference of means misses the truth in 9 of 100 cases with 12 molecules, and in 5 with 40.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

Floats = NDArray[np.float64]
Statistic = Callable[..., Floats]
"""A figure of each row of arrays (draws, molecules): (draws,), nan where there is none."""

DRAWS = 2000
LEVEL = 0.95
FEWEST = 6
"""Fewer molecules than this have no interval: their draws are too much alike, and miss the truth too often."""
BLOCK = 200
"""Draws that are computed at once: bounds memory whatever the number of molecules."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, and the ends of its interval; nan where there are too few molecules for one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low + self.high)

    def includes(self, value: float) -> bool:
        """Whether ``value`` may be the truth, as far as the interval tells; without one it may."""
        return not self.known or self.low <= value <= self.high

    def told(self, form: str = "+.2f") -> str:
        """The figure and its interval as text, each number formatted by ``form``."""
        if math.isnan(self.value):
            return "unknown"
        if not self.known:
            return f"{self.value:{form}} [no interval: too few]"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"

    def __str__(self) -> str:
        return self.told()


UNKNOWN = Interval(math.nan)
"""No figure at all."""


def paired(statistic: Statistic, *columns: Sequence[float] | Floats, draws: int = DRAWS) -> Interval:
    """``statistic`` of ``columns`` (one value a molecule each), molecules drawn with all of their values."""
    data = [np.asarray(column, dtype=np.float64) for column in columns]
    count = len(data[0])

    def drawn(rng: np.random.Generator, size: int) -> Floats:
        places = rng.integers(0, count, (size, count))
        return statistic(*(column[places] for column in data))

    whole = statistic(*(column[None, :] for column in data)) if count else np.array([math.nan])
    return _interval(float(whole[0]), drawn, count, draws)


def grouped(statistic: Statistic, *groups: Sequence[float] | Floats, draws: int = DRAWS) -> Interval:
    """``statistic`` of ``groups`` of molecules, each group drawn by itself.

    A group is (molecules,), or (molecules, values) where a molecule has several values.
    """
    data = [np.asarray(group, dtype=np.float64) for group in groups]
    least = min(len(group) for group in data)

    def drawn(rng: np.random.Generator, size: int) -> Floats:
        return statistic(*(group[rng.integers(0, len(group), (size, len(group)))] for group in data))

    whole = statistic(*(group[None] for group in data)) if least else np.array([math.nan])
    return _interval(float(whole[0]), drawn, least, draws)


def _interval(
    value: float, drawn: Callable[[np.random.Generator, int], Floats], count: int, draws: int
) -> Interval:
    if count < FEWEST or math.isnan(value):
        return Interval(value)
    rng = np.random.default_rng(0)
    found = np.concatenate([drawn(rng, min(BLOCK, draws - at)) for at in range(0, draws, BLOCK)])
    found = found[~np.isnan(found)]
    if len(found) < draws / 2:  # most draws have no such figure: neither has the truth an interval
        return Interval(value)
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(value, float(low), float(high))


def spearman(first: Floats, second: Floats) -> Floats:
    """Spearman's rank correlation of each pair of rows, nan where one of them is constant."""
    if first.shape[1] < 3:
        return np.full(len(first), math.nan)
    a, b = (rankdata(rows, axis=1) - (rows.shape[1] + 1) / 2 for rows in (first, second))
    below = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    result: Floats = np.divide((a * b).sum(axis=1), below, out=np.full(len(a), math.nan), where=below > 0)
    return result


def spearman_difference(first: Floats, other: Floats, target: Floats) -> Floats:
    """How much better ``first`` ranks ``target`` than ``other`` does: the difference of Spearman's correlations; one
    that is constant ranks nothing."""
    return np.nan_to_num(spearman(first, target)) - np.nan_to_num(spearman(other, target))


def mean_difference(first: Floats, second: Floats) -> Floats:
    """Mean of each row of ``first`` less that of ``second``."""
    result: Floats = first.mean(axis=1) - second.mean(axis=1)
    return result
