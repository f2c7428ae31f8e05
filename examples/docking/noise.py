"""How much single searches of one molecule differ, and how many of them a score needs.

The reference and a few molecules of the library are searched several times. What the best of n searches differs by
follows from drawing n of the scores of a molecule again and again, each put back (B. Efron, Ann. Stat. 7, 1 (1979)).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from docking.records import Docked, DockingInputError, Entry, Search
from docking.reference import Reference
from docking.searches import search_each

TOLERANCE = 0.2
"""kcal/mol: a spread of scores that more searches need not lessen."""
MOST = 16
"""Searches of a molecule that are chosen at most: where these do not do, a higher exhaustiveness is the better way."""
EACH = 3
"""Searches of each of the random molecules."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A molecule that was searched several times: the ``scores`` of single searches (kcal/mol), lowest first, and the
    mean ``seconds`` of one."""

    name: str
    scores: tuple[float, ...]
    seconds: float

    def spread(self, n: int = 1) -> float:
        """The standard deviation of the best of ``n`` searches, kcal/mol."""
        count = len(self.scores)
        behind = [
            ((count - place) / count) ** n for place in range(count + 1)
        ]  # all of n draws at place or behind
        weights = [before - after for before, after in pairwise(behind)]
        weighted = list(zip(weights, self.scores, strict=True))
        mean = sum(weight * score for weight, score in weighted)
        variance = sum(weight * (score - mean) ** 2 for weight, score in weighted)
        return math.sqrt(variance * count / (count - 1))


@dataclass(frozen=True, slots=True)
class Noise:
    """What single searches differ by: of the ``reference``, where there is one, and of random ``molecules``."""

    reference: Probe | None
    molecules: tuple[Probe, ...]

    @property
    def probes(self) -> tuple[Probe, ...]:
        """All molecules that were searched."""
        return (*(() if self.reference is None else (self.reference,)), *self.molecules)

    def spread(self, n: int = 1) -> float:
        """The standard deviation of the best of ``n`` searches of a molecule (kcal/mol), over all probes; nan without
        any."""
        if not self.probes:
            return math.nan
        return math.sqrt(statistics.fmean(probe.spread(n) ** 2 for probe in self.probes))

    @property
    def seconds(self) -> float:
        """Of a search of a molecule of the library, on one worker; nan without any."""
        probes = self.molecules or self.probes
        return statistics.fmean(probe.seconds for probe in probes) if probes else math.nan

    def wanted(self) -> int:
        """The least number of searches whose best one has a spread within the tolerance; the most, where none has."""
        return next((n for n in range(1, MOST) if self.spread(n) <= TOLERANCE), MOST)

    def __str__(self) -> str:
        if not self.probes:
            return "the noise of a score was not measured"
        count = sum(len(probe.scores) for probe in self.probes)
        told = f"single searches of one molecule differ by {self.spread():.2f} kcal/mol (standard deviation"
        return f"{told}; {count} searches of {len(self.probes)} molecules)"


@dataclass(frozen=True, slots=True)
class Effort:
    """How many ``searches`` each molecule of a screen has, and ``why``, in a sentence."""

    searches: int
    why: str
    noise: Noise

    @property
    def sentence(self) -> str:
        """The noise, and what follows from it."""
        told = f"{str(self.noise)[:1].upper()}{str(self.noise)[1:]}"
        spread = self.noise.spread(self.searches)
        best = (
            ""
            if self.searches == 1 or math.isnan(spread)
            else f", the best of {self.searches} by {spread:.2f}"
        )
        score = "of one search" if self.searches == 1 else f"the best of {self.searches} independent searches"
        return f"{told}{best}. The score of a molecule is {score}: {self.why}."


def measure(
    dock: Any,
    reference: Reference | None,
    molecules: Sequence[Entry],
    *,
    conformers: int = 6,
    each: int = EACH,
    exhaustiveness: int = 0,
) -> Noise:
    """Search ``reference`` so many times from as many ``conformers``, and each of ``molecules`` ``each`` times, at
    this ``exhaustiveness`` (0: that of the settings).

    A screen that comes later has these searches already.
    """
    wanted = [(entry.smiles, entry.name or entry.smiles, each) for entry in molecules]
    known = reference is not None and conformers > 0
    if reference is not None and known:
        wanted.insert(0, (reference.smiles, reference.name, conformers))
    rows = search_each(
        dock,
        [
            (smiles, [Search(number, exhaustiveness) for number in range(count)])
            for smiles, _name, count in wanted
        ],
    )
    probes = [_probe(name, found) for (_smiles, name, _count), found in zip(wanted, rows, strict=True)]
    first = probes.pop(0) if known else None
    return Noise(first, tuple(probe for probe in probes if probe is not None))


def choose_effort(noise: Noise, molecules: int, budget: float, *, given: int = 0, found: int = 0) -> Effort:
    """How many searches each of so many ``molecules`` has: as many as ``given``, or as were ``found`` on disk, or as
    the ``noise`` asks for and a ``budget`` of minutes on one worker pays for."""
    if given:
        return Effort(given, "as asked for", noise)
    if found:
        return Effort(found, "as this screen was begun", noise)
    if not noise.probes:
        return Effort(1, "without a measured noise there is no better number", noise)
    wanted = noise.wanted()
    minutes = molecules * noise.seconds / 60
    paid = max(1, int(budget / minutes)) if minutes else wanted
    cost = f"{minutes:.1f} minutes of a worker for one search of each of {molecules} molecules"
    if minutes > budget:
        return Effort(1, f"even one takes longer than the budget of {budget:g} minutes ({cost})", noise)
    if paid < wanted:
        within = f"{wanted} would be needed for a spread of {TOLERANCE:g} kcal/mol"
        if noise.spread(wanted) > TOLERANCE:
            within = f"even {wanted} would not bring the spread to {TOLERANCE:g} kcal/mol"
        return Effort(paid, f"{within}, the budget of {budget:g} minutes pays for {paid} ({cost})", noise)
    if noise.spread(wanted) > TOLERANCE:
        return Effort(wanted, f"the most, which leaves a spread above {TOLERANCE:g} kcal/mol ({cost})", noise)
    return Effort(wanted, f"which brings the spread to {TOLERANCE:g} kcal/mol or less ({cost})", noise)


def table_of_levels(noises: Mapping[int, Noise]) -> list[str]:
    """For the noise measured at each exhaustiveness: what one search takes and differs by (standard deviation,
    kcal/mol), and what the best of several at the lowest one, which together take as long, differs by.

    Raises `DockingInputError` where nothing was measured.
    """
    first = min(noises)
    lowest = noises[first]
    if any(not noise.probes for noise in noises.values()):
        raise DockingInputError(
            "No molecule had two searches that ended with a score. Give more of --probes."
        )
    lines = []
    for level, noise in sorted(noises.items()):
        count = max(1, round(noise.seconds / lowest.seconds))
        line = f"exhaustiveness {level}: a search takes {noise.seconds:.2f} s"
        line += f" and differs by {noise.spread():.2f} kcal/mol"
        if level != first:
            line += f"; the best of {count} at {first}, as long together, by {lowest.spread(count):.2f}"
        lines.append(line)
    return lines


def _probe(name: str, rows: Sequence[Docked]) -> Probe | None:
    """What the searches of a molecule tell; None where less than two ended with a score."""
    good = [row for row in rows if row.ok]
    if len(good) < 2:
        return None
    return Probe(
        name, tuple(sorted(row.score for row in good)), statistics.fmean(row.seconds for row in good)
    )
