"""A screen replayed against a completely docked library: how many of the true best it finds, and how many chance does.

Nothing is docked: each score is looked up in the table (:mod:`docking.complete`). The truth is the table's, one score a
molecule by one protocol; another protocol has another truth.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from docking.acquisition import Acquisition, SizeLine
from docking.complete import Table
from docking.intervals import Floats, Interval, mean_difference, paired
from docking.records import Docked, DockingInputError, Search
from docking.screen import Screen, random_start
from docking.surrogate import Surrogate

SHIPPED = Path(__file__).with_name("data") / "complete.csv.gz"
"""A completely docked library that comes with the package; its first lines tell how it was made."""
BEST_PART = 0.01
"""Of the table: the molecules to find."""
MORE_RANDOM = 20
"""Times as many seeds for choosing at random, which costs nothing: of a few, none may find any."""
TRUTHS = ("score", "beyond-size")
"""By what the molecules to find are the best: their score, or how much better it is than their size alone makes one
expect, by a line through the table."""
STRATEGIES = ("surrogate", "size alone", "random")


class Lookup:
    """Answers like the parallel function ``dock``, with the scores of a table."""

    def __init__(self, table: Table) -> None:
        self._scores = {row.smiles: row.score for row in table.docked}

    def __call__(self, smiles: str, search: Search) -> Future[Docked]:
        """The score of a molecule, whichever search is asked for."""
        del search
        found: Future[Docked] = Future()
        found.set_result(Docked(smiles, self._scores[smiles]))
        return found


@dataclass(frozen=True, slots=True)
class Plan:
    """What a screen docks: ``start`` random molecules, then in each of ``rounds`` so many ``per_round``, chosen without
    the scores of the last ``overlap`` molecules begun before."""

    start: int = 40
    rounds: int = 2
    per_round: int = 6
    overlap: int = 0
    acquisition: Acquisition = Acquisition()  # noqa: RUF009  (frozen)

    @property
    def docked(self) -> int:
        """Molecules docked in all."""
        return self.start + self.rounds * self.per_round


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a way of choosing found, over several seeds, with the ``recalls`` of each.

    ``recall``: the part of the best of the table that was docked. ``enrichment``: how many times as often as in the
    table the best are among those docked, and ``chosen`` the same among those docked after the start. 1 is chance; the
    most there is, is one over the part that counts as best.
    """

    strategy: str
    recalls: tuple[float, ...]
    recall: Interval
    enrichment: Interval
    chosen: Interval


def replay(table: Table, plan: Plan, seeds: int = 10, truth: str = TRUTHS[0]) -> list[Outcome]:
    """Screen the ``table`` by ``plan`` with each of so many ``seeds``, by each of :data:`STRATEGIES`.

    All start from the same random molecules. Size alone chooses the molecules with most heavy atoms; random, any.
    """
    if plan.docked >= len(table.docked):
        raise DockingInputError(
            f"The table has {len(table.docked):,} molecules with a score: a screen of {plan.docked:,} docks them all."
        )
    best = best_of_table(table, truth)
    several = {"random": MORE_RANDOM * seeds}
    return [_outcome(name, table, plan, best, range(1, several.get(name, seeds) + 1)) for name in STRATEGIES]


def best_of_table(table: Table, truth: str = TRUTHS[0]) -> set[str]:
    """The best hundredth of the table (one molecule at least) by one of :data:`TRUTHS`, ties by SMILES."""
    smiles, scores = [row.smiles for row in table.docked], [row.score for row in table.docked]
    values = scores if truth == TRUTHS[0] else SizeLine.through(smiles, scores).beyond(smiles, scores)
    ranked = sorted(zip(values, smiles, strict=True))
    return {text for _value, text in ranked[: max(1, round(BEST_PART * len(ranked)))]}


def _outcome(name: str, table: Table, plan: Plan, best: set[str], seeds: Sequence[int]) -> Outcome:
    part = len(best) / len(table.docked)
    recall, enrichment, chosen = [], [], []
    for seed in seeds:
        docked = _docked(name, table, plan, seed)
        found = [smiles in best for smiles in docked]
        recall.append(sum(found) / len(best))
        enrichment.append(sum(found) / len(found) / part)
        later = found[plan.start :]
        chosen.append(sum(later) / len(later) / part if later else math.nan)
    return Outcome(name, tuple(recall), _mean(recall), _mean(enrichment), _mean(chosen))


def _docked(name: str, table: Table, plan: Plan, seed: int) -> list[str]:
    """SMILES of what is docked, in order."""
    library = table.library()
    if name == "surrogate":
        return _screened(table, plan, seed)
    start = [entry.smiles for entry in random_start(library, seed, plan.start)]
    taken = set(start)
    others = [row for row in table.docked if row.smiles not in taken]
    random.Random(-seed).shuffle(others)
    if name == "size alone":
        others.sort(key=lambda row: -row.heavy_atoms)
    return start + [row.smiles for row in others[: plan.docked - plan.start]]


def _screened(table: Table, plan: Plan, seed: int) -> list[str]:
    screen = Screen(table.library(), Lookup(table), seed, acquisition=plan.acquisition, overlap=plan.overlap)
    screen.dock_start(plan.start)
    for _ in range(plan.rounds):
        screen.infer(_Here(screen.train(check=False)))
        screen.dock_best(plan.per_round)
    screen.finish()
    return [hit.entry.smiles for hit in screen.hits]


class _Here:
    """Inference in this process: a table is small."""

    def __init__(self, model: Surrogate) -> None:
        self._model = model

    def map(self, smiles: list[str]) -> Iterator[tuple[float, float, bool]]:
        return iter(self._model.beliefs(smiles))


def _mean(values: Sequence[float]) -> Interval:
    def mean(rows: Floats) -> Floats:
        result: Floats = np.mean(rows, axis=1)
        return result

    return paired(mean, values)


def told(
    outcomes: Sequence[Outcome], table: Table, plan: Plan, seeds: int, truth: str = TRUTHS[0]
) -> list[str]:
    """The outcomes as lines for a terminal."""
    best = best_of_table(table, truth)
    total = len(table.docked)
    rounds = f"{plan.rounds} rounds of {plan.per_round}" if plan.rounds else "no rounds"
    rounds += f" (overlap {plan.overlap})" if plan.overlap else ""
    by = plan.acquisition
    quota = f"at most {by.per_scaffold} of a scaffold" if by.per_scaffold else "any number of a scaffold"
    lines = [
        *table.made,
        "",
        f"{total:,} molecules with a score, {len(best)} of them the best {BEST_PART:.0%}".replace("%", " %"),
        f"{plan.docked} docked ({plan.docked / total:.1%}): {plan.start} at random, {rounds}, {by.name}, {quota}; "
        f"{seeds} seeds".replace("%", " %"),
        "",
        f"{'chosen by':<12} {'screens':<8} {'recall of the best':<24} {'enrichment, docked':<24} enrichment, chosen",
    ]
    for one in outcomes:
        lines.append(
            f"{one.strategy:<12} {len(one.recalls):<8} {one.recall.told('.2f'):<24} "
            f"{one.enrichment.told('.1f'):<24} {one.chosen.told('.1f')}"
        )
    surrogate, size = outcomes[0], outcomes[1]
    better = paired(mean_difference, surrogate.recalls, size.recalls)
    includes = "; the interval includes zero: this may be chance" if better.includes(0) else ""
    by_size = "" if truth == TRUTHS[0] else " beyond what size makes one expect"
    brackets = "Brackets: 95 % bootstrap intervals over the screens, of this one library."
    return [
        *lines,
        "",
        f"recall of the surrogate less that of size alone, from the same starts: {better}{includes}",
        f"Enrichment: 1 is chance, {total / len(best):.0f} the most there is. {brackets}",
        f"The best are so by docking scores{by_size} of one protocol, which are rough estimates and no affinities.",
    ]
