"""Does docking rank known actives before decoys? The question whose answer is known, asked before a screen is believed.

Figures by RDKit: the area under the ROC curve, BEDROC (Truchon and Bayly, J. Chem. Inf. Model. 47, 488 (2007)) and the
enrichment among the best. Beside each stands what size alone gives: actives are often larger than decoys, and then
a docking score, which grows with size, seems to know more than it does.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit.ML.Scoring.Scoring import CalcAUC, CalcBEDROC, CalcEnrichment

from docking.features import heavy_atoms
from docking.folder import replace_file
from docking.intervals import Floats, Interval, grouped
from docking.records import Docked, DockingInputError, Entry

ALPHA = 20.0
"""Of BEDROC: the best 8 % of the list make 80 % of it."""
EARLY = 0.01
"""Of the list: the part whose enrichment is told."""
DRAWS = 500
FEWEST = 6
"""Fewer actives, or decoys, than this tell nothing."""
ORDERS = 20
"""Of molecules that are equal: orders over which a figure is averaged."""
COLUMNS = ("rank", "name", "smiles", "active", "score", "heavy_atoms", "reason")

Figure = Callable[[NDArray[np.bool_]], float]
"""A figure of a list of whether each molecule is an active, best first."""


@dataclass(frozen=True, slots=True)
class Molecule:
    """An active or a decoy, and how it docked."""

    entry: Entry
    active: bool
    docked: Docked

    @property
    def score(self) -> float:
        """Its score; infinite where it did not dock, so that it ranks last."""
        return self.docked.score if self.docked.ok else math.inf


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure by docking score and by size alone, how much better the first is, and what ``chance`` gives."""

    name: str
    docking: Interval
    size: Interval
    difference: Interval
    chance: float

    def __str__(self) -> str:
        told = (
            f"{self.name}: {self.docking.told('.2f')} by docking score, {self.size.told('.2f')} by size alone"
        )
        told += f", difference {self.difference}; chance gives {self.chance:.2f}"
        return f"{told}; {self.reading}"

    @property
    def reading(self) -> str:
        """What the intervals say in words."""
        if not self.docking.known:
            return "too few molecules to tell"
        if self.docking.includes(self.chance):
            return "the interval includes chance: nothing shows that scores tell actives from decoys here"
        if self.docking.value < self.chance:
            return "worse than chance: here decoys score better than actives"
        if self.difference.includes(0):
            return "better than chance, but the interval of the difference includes zero: size may explain it"
        return (
            "better than chance and than size"
            if self.difference.value > 0
            else "better than chance, worse than size"
        )


def together(actives: Sequence[Entry], decoys: Sequence[Entry]) -> tuple[list[Entry], list[Entry], int]:
    """Usable actives and decoys, and how many decoys are left out because they are actives too."""
    known = [entry for entry in actives if entry.usable]
    names = {entry.smiles for entry in known}
    usable = [entry for entry in decoys if entry.usable]
    others = [entry for entry in usable if entry.smiles not in names]
    for name, entries in (("actives", known), ("decoys", others)):
        if len(entries) < FEWEST:
            raise DockingInputError(f"{len(entries)} {name} can be docked: fewer than {FEWEST} tell nothing.")
    return known, others, len(usable) - len(others)


def measures(molecules: Sequence[Molecule]) -> list[Measure]:
    """AUC, BEDROC and early enrichment of ``molecules``, each beside that of size alone.

    Molecules that did not dock rank last. Actives and decoys are drawn by themselves for the intervals.
    """
    sizes = heavy_atoms([each.entry.smiles for each in molecules])
    values = np.stack([[each.score for each in molecules], -sizes], axis=1)
    active = np.array([each.active for each in molecules])
    part = float(active.mean())
    figures: list[tuple[str, Figure, float]] = [
        ("AUC", lambda order: float(CalcAUC(_column(order), 0)), 0.5),
        (
            f"BEDROC (alpha {ALPHA:g})",
            lambda order: float(CalcBEDROC(_column(order), 0, ALPHA)),
            chance_bedroc(part),
        ),
        (
            f"enrichment in the best {EARLY:.0%}".replace("%", " %"),
            lambda order: float(CalcEnrichment(_column(order), 0, [EARLY])[0]),
            1.0,
        ),
    ]
    return [
        _measure(name, figure, chance, values[active], values[~active]) for name, figure, chance in figures
    ]


def _column(order: NDArray[np.bool_]) -> list[tuple[bool]]:
    """The list as RDKit takes it: rows with one column."""
    return [(active,) for active in order.tolist()]


def chance_bedroc(part: float) -> float:
    """What BEDROC gives a random order, on average, where this ``part`` of a long list is active (Truchon and Bayly,
    equations 36 and 37: a robust initial enhancement of 1)."""
    lowest = (1 - math.exp(ALPHA * part)) / (part * (1 - math.exp(ALPHA)))
    highest = (1 - math.exp(-ALPHA * part)) / (part * (1 - math.exp(-ALPHA)))
    return (1 - lowest) / (highest - lowest)


def _measure(name: str, figure: Figure, chance: float, actives: Floats, decoys: Floats) -> Measure:
    """``actives`` and ``decoys``: (n, 2), what to rank by, lowest first: the score, and minus the size."""
    rng = np.random.default_rng(0)

    def one(first: Floats, second: Floats) -> float:
        values = np.concatenate([first, second])
        flags = np.arange(len(values)) < len(first)
        return figure(flags[np.lexsort((rng.random(len(values)), values))])

    def by(column: int) -> Callable[[Floats, Floats], Floats]:
        return lambda a, d: np.array([one(x, y) for x, y in zip(a[..., column], d[..., column], strict=True)])

    def better(a: Floats, d: Floats) -> Floats:
        return by(0)(a, d) - by(1)(a, d)

    def whole(column: int) -> float:
        return float(np.mean([one(actives[:, column], decoys[:, column]) for _ in range(ORDERS)]))

    values = [whole(0), whole(1)]
    return Measure(
        name,
        replace(grouped(by(0), actives, decoys, draws=DRAWS), value=values[0]),
        replace(grouped(by(1), actives, decoys, draws=DRAWS), value=values[1]),
        replace(grouped(better, actives, decoys, draws=DRAWS), value=values[0] - values[1]),
        chance,
    )


def ranked(molecules: Sequence[Molecule]) -> list[Molecule]:
    """Best score first, ties by SMILES; what did not dock last."""
    return sorted(molecules, key=lambda each: (each.score, each.entry.smiles))


def write_ranking(molecules: Sequence[Molecule], path: Path) -> None:
    """Write all molecules, best first, as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for rank, each in enumerate(ranked(molecules), start=1):
        score: Any = f"{each.docked.score:.4f}" if each.docked.ok else ""
        size = int(heavy_atoms([each.entry.smiles])[0])
        active = "yes" if each.active else "no"
        writer.writerow((rank, each.entry.name, each.entry.smiles, active, score, size, each.docked.reason))
    replace_file(path, text.getvalue())


def told(molecules: Sequence[Molecule]) -> list[str]:
    """What the figures are about, as lines for a terminal."""
    actives = sum(each.active for each in molecules)
    failed = sum(not each.docked.ok for each in molecules)
    last = f"; {failed} did not dock and rank last" if failed else ""
    set_of = "decoys are mostly taken not to bind, and a set made by other rules gives other figures."
    return [
        f"{actives} actives and {len(molecules) - actives} decoys{last}",
        "Brackets: 95 % bootstrap intervals, actives and decoys drawn by themselves.",
        f"They tell how docking scores rank this set, and nothing of affinity: {set_of}",
    ]
