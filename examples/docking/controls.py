"""What a screen claims, each claim beside its control and with an interval.

A claim whose interval includes what chance alone gives says so. None of them says that a molecule binds: they are about
docking scores, and the intervals tell the luck of which molecules were docked, not the error of a score.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from docking.features import heavy_atoms
from docking.intervals import (
    UNKNOWN,
    Floats,
    Interval,
    grouped,
    mean_difference,
    paired,
    spearman,
    spearman_difference,
)
from docking.records import Entry, Search
from docking.screen import Hit, Screen
from docking.searches import best_of
from docking.surrogate import Validation

BEST_PART = 0.1
"""Of the random start: what reaches its score counts as found."""
LOOKED_AT = 5000
"""Random molecules among which one of the same size is looked for."""
NOTE = (
    "Brackets: 95 % bootstrap intervals over the molecules docked. All of it is about docking scores, which are rough "
    "estimates and no affinities."
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A figure about ``n`` molecules with its interval; ``chance``: the figure where there is no effect (nan: the
    figure is a control, and claims nothing); ``beyond``: what it is more than then. ``form`` and ``unit`` are how it is
    written."""

    what: str
    n: int
    figure: Interval
    chance: float = 0.0
    form: str = "+.2f"
    unit: str = ""
    beyond: str = "chance"

    @property
    def may_be_chance(self) -> bool:
        """Whether the interval includes what chance gives."""
        return not math.isnan(self.chance) and self.figure.includes(self.chance)

    @property
    def reading(self) -> str:
        """What the interval says in words; empty for a control."""
        if math.isnan(self.chance):
            return ""
        if not self.figure.known:
            return "too few molecules to tell from chance"
        if self.may_be_chance:
            name = "zero" if self.chance == 0 else f"{self.chance:g}"
            return f"includes {name}: may be chance"
        return f"{'more' if self.good else 'less'} than {self.beyond}"

    @property
    def good(self) -> bool:
        """Whether the figure lies on the side of chance that is wanted: low differences of scores, all else high."""
        return (self.figure.value < self.chance) == (self.unit == "kcal/mol")

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        told = f"{self.what}: {self.figure.told(self.form)}{unit} (n = {self.n})"
        return f"{told}; {self.reading}" if self.reading else told


def dock_same_size(screen: Screen, count: int) -> str:
    """Dock a random molecule of the same number of heavy atoms for each of ``count`` molecules that were chosen, and
    say so in a line; these are controls, and no hits."""
    draw = random.Random(screen.seed)
    chosen = _chosen(screen)
    asked = draw.sample(chosen, min(count, len(chosen)))
    taken = {hit.entry.smiles for hit in screen.hits}
    others = [entry for entry in screen.library if entry.usable and entry.smiles not in taken]
    draw.shuffle(others)
    pairs = _matched(asked, others[:LOOKED_AT])
    with screen.clock.stage("dock molecules of the same size", len(pairs) * screen.searches):
        searches = [Search(number) for number in range(screen.searches)]
        rows = best_of(screen.dock, [entry.smiles for _hit, entry in pairs], searches)
    screen.same_size = [
        (hit, Hit(entry, row, hit.round)) for (hit, entry), row in zip(pairs, rows, strict=True)
    ]
    good = sum(other.docked.ok for _hit, other in screen.same_size)
    lacking = f"; {len(asked) - len(pairs)} have no match" if len(pairs) < len(asked) else ""
    return f"controls: {good} random molecules of the size of chosen ones docked{lacking}"


def _matched(asked: Sequence[Hit], others: Sequence[Entry]) -> list[tuple[Hit, Entry]]:
    """Each of ``asked`` with the first of ``others`` of its size, none of which is taken twice."""
    waiting: dict[int, list[Hit]] = {}
    for hit in asked:
        waiting.setdefault(int(heavy_atoms([hit.entry.smiles])[0]), []).append(hit)
    pairs = []
    for entry in others:
        if not any(waiting.values()):
            break
        if same := waiting.get(int(heavy_atoms([entry.smiles])[0])):
            pairs.append((same.pop(0), entry))
    return pairs


def claims(screen: Screen) -> list[Claim]:
    """All that ``screen`` claims so far, each after its control or beside it."""
    return [*_of_validation(screen), *_of_rounds(screen), *_of_chosen(screen)]


def sentences(screen: Screen) -> list[str]:
    """The claims of ``screen`` and why some could not be made, a line each; the doubt about the scores beside them."""
    told = [screen.verdict.on(str(claim)) for claim in claims(screen)]
    return told + missing(screen)


def missing(screen: Screen) -> list[str]:
    """Splits that could not be made, and why."""
    return [str(split) for split in screen.splits if split.reason]


def facts(screen: Screen) -> list[dict[str, Any]]:
    """The claims for ``summary.json``."""

    def number(value: float) -> float | None:
        return None if math.isnan(value) else round(value, 3)

    return [
        {
            "claim": claim.what,
            "n": claim.n,
            "value": number(claim.figure.value),
            "low": number(claim.figure.low),
            "high": number(claim.figure.high),
            "reading": claim.reading,
        }
        for claim in claims(screen)
    ]


def table(screen: Screen) -> Any:
    """The claims as a pandas DataFrame to look at."""
    import pandas

    rows = [
        {
            "claim, or its control": claim.what,
            "molecules": claim.n,
            "value [95 % interval]": f"{claim.figure.told(claim.form)} {claim.unit}".strip(),
            "reading": claim.reading,
        }
        for claim in claims(screen)
    ]
    columns = ["claim, or its control", "molecules", "value [95 % interval]", "reading"]
    return pandas.DataFrame(rows, columns=columns).set_index("claim, or its control")


def _of_validation(screen: Screen) -> list[Claim]:
    """Of the random start: the surrogate, size alone, and how much better it is, by each split."""
    known: Validation | None = screen.validation
    if known is None:
        return []
    told = [
        Claim("surrogate, held out at random: rank correlation with the score", known.n, known.surrogate),
        Claim("size alone (heavy atoms): rank correlation with the score", known.n, known.size, math.nan),
        Claim(
            "surrogate less size alone: difference of rank correlations",
            known.n,
            known.difference,
            beyond="size",
        ),
    ]
    for split in screen.splits:
        if not split.reason:
            name = f"held out by {split.name} ({split.groups} groups)"
            told.append(Claim(f"surrogate, {name}: rank correlation", split.n, split.surrogate))
            told.append(Claim(f"surrogate less size alone, {name}", split.n, split.difference, beyond="size"))
    return told


def _of_rounds(screen: Screen) -> list[Claim]:
    """Predictions made before the docking against the score after it: of each round, and of all together."""
    chosen = [hit for hit in _chosen(screen) if not math.isnan(hit.predicted)]
    told = []
    for number in sorted({hit.round for hit in chosen}):
        hits = [hit for hit in chosen if hit.round == number]
        name = f"round {number}: rank correlation of prediction and score"
        told.append(Claim(name, len(hits), paired(spearman, _predicted(hits), _scores(hits))))
    if len({hit.round for hit in chosen}) > 1:
        sizes = -heavy_atoms([hit.entry.smiles for hit in chosen])
        both = _predicted(chosen), _scores(chosen)
        name = "all rounds: rank correlation of prediction and score"
        told.append(Claim(name, len(chosen), paired(spearman, *both)))
        name = "all rounds: prediction less size alone, difference of rank correlations"
        difference = paired(spearman_difference, both[0], sizes, both[1])
        told.append(Claim(name, len(chosen), difference, beyond="size"))
    return told


def _of_chosen(screen: Screen) -> list[Claim]:
    """Scores of the molecules that were chosen against random ones, and against random ones of the same size."""
    chosen, start = _chosen(screen), _start(screen)
    if not chosen or not start:
        return []
    n = len(chosen)
    difference = grouped(mean_difference, _scores(chosen), _scores(start))
    told = [
        Claim("chosen less random: difference of mean scores", n, difference, unit="kcal/mol"),
        Claim(
            "chosen less random of the same size (line through the random start)",
            n,
            grouped(_beyond_size, _with_size(chosen), _with_size(start)),
            unit="kcal/mol",
            beyond="size",
        ),
    ]
    if screen.same_size:
        pairs = [(hit, other) for hit, other in screen.same_size if hit.docked.ok and other.docked.ok]
        first, second = (_scores([pair[side] for pair in pairs]) for side in (0, 1))
        name = "chosen less random of the same size, docked in pairs"
        told.append(
            Claim(name, len(pairs), paired(mean_difference, first, second), unit="kcal/mol", beyond="size")
        )
    best = f"{BEST_PART:.0%}".replace("%", " %")
    name = f"reaching the best {best} of the random start: chosen against random, ratio"
    told.append(Claim(name, n, enrichment(screen), chance=1.0, form=".1f"))
    return told


def enrichment(screen: Screen) -> Interval:
    """How many times as often as random molecules the chosen ones reach the best tenth of the random start.

    1 means no better than chance.
    """
    chosen, start = _chosen(screen), _start(screen)
    if not chosen or not start:
        return UNKNOWN
    return grouped(_ratio, _scores(chosen), _scores(start))


def _ratio(chosen: Floats, start: Floats) -> Floats:
    threshold = np.quantile(start, BEST_PART, axis=1, keepdims=True)
    result: Floats = (chosen <= threshold).mean(axis=1) / (start <= threshold).mean(axis=1)
    return result


def _beyond_size(chosen: Floats, start: Floats) -> Floats:
    """Mean of the scores of ``chosen`` less what a line through ``start`` gives for their sizes; the last axis is
    (score, heavy atoms)."""
    scores, sizes = start[..., 0], start[..., 1]
    mean_score, mean_size = scores.mean(axis=1), sizes.mean(axis=1)
    from_mean = sizes - mean_size[:, None]
    spread = (from_mean**2).sum(axis=1)
    slope = np.divide(
        (from_mean * scores).sum(axis=1), spread, out=np.full(len(start), math.nan), where=spread > 0
    )
    expected = mean_score + slope * (chosen[..., 1].mean(axis=1) - mean_size)
    result: Floats = chosen[..., 0].mean(axis=1) - expected
    return result


def _chosen(screen: Screen) -> list[Hit]:
    return [hit for hit in screen.hits if hit.docked.ok and hit.round > 0]


def _start(screen: Screen) -> list[Hit]:
    return [hit for hit in screen.hits if hit.docked.ok and hit.round == 0]


def _scores(hits: Sequence[Hit]) -> Floats:
    return np.array([hit.docked.score for hit in hits], dtype=np.float64)


def _predicted(hits: Sequence[Hit]) -> Floats:
    return np.array([hit.predicted for hit in hits], dtype=np.float64)


def _with_size(hits: Sequence[Hit]) -> Floats:
    return np.stack([_scores(hits), heavy_atoms([hit.entry.smiles for hit in hits])], axis=1)
