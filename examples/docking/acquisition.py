"""Which molecules the next round docks: the best predicted, or those that may be better than predicted; no scaffold too
often.

Source: Graff, Shakhnovich and Coley, Chem. Sci. 12, 7866 (2021), for greedy, upper confidence bound and Thompson
sampling in docking; Bemis and Murcko, J. Med. Chem. 39, 2887 (1996), for scaffolds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from rdkit import DataStructs
from rdkit.Chem import MolFromSmiles, rdFingerprintGenerator
from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

from docking.features import heavy_count
from docking.records import ACQUISITIONS, DockingInputError

CONFIDENCE = 2.0
"""Standard deviations by which the upper confidence bound looks past the prediction."""
MAX_SIMILARITY = 0.8
"""Tanimoto similarity above which two molecules are not docked in the same round: analogues teach little."""
LOOKED_AT = 20_000
"""Candidates that are looked at before those passed over are taken: a bound on time, met where nearly all are alike."""


@dataclass(frozen=True, slots=True)
class Acquisition:
    """How a round is chosen: by ``method`` (one of :data:`ACQUISITIONS`), with at most ``per_scaffold`` molecules of
    one Bemis-Murcko scaffold over all rounds (0: as many as come).

    With ``beyond_size`` it is by how much better a score is than a line through the random start gives for that many
    heavy atoms. Ligand efficiency, the score by heavy atom, would not do: scores grow more slowly than size, so that it
    is best for the smallest molecules, and a list by it is a list by size again.
    """

    method: str = "greedy"
    per_scaffold: int = 3
    beyond_size: bool = False

    def __post_init__(self) -> None:
        if self.method not in ACQUISITIONS:
            raise DockingInputError(
                f"No acquisition '{self.method}': there are {', '.join(ACQUISITIONS[:-1])} and {ACQUISITIONS[-1]}."
            )
        if self.per_scaffold < 0:
            raise DockingInputError("A scaffold may be chosen 0 times (no bound) or more, not fewer.")

    @property
    def name(self) -> str:
        """The method in words."""
        return f"{self.method} beyond size" if self.beyond_size else self.method

    @property
    def needs_spread(self) -> bool:
        """Whether it asks how sure a prediction is."""
        return self.method != "greedy"

    def values(self, scores: Sequence[float], spreads: Sequence[float], seed: int) -> list[float]:
        """What to rank by, lowest first, in the order of ``scores`` (kcal/mol) and their ``spreads``."""
        predicted, spread = np.asarray(scores, dtype=float), np.asarray(spreads, dtype=float)
        if self.method == "ucb":
            predicted = predicted - CONFIDENCE * spread
        elif self.method == "thompson":
            predicted = predicted + spread * np.random.default_rng(seed).standard_normal(len(predicted))
        return [round(value, 4) for value in predicted.tolist()]


@dataclass(frozen=True, slots=True)
class SizeLine:
    """What a molecule is expected to score by its size: ``slope`` kcal/mol for each heavy atom, and ``at_zero``."""

    slope: float
    at_zero: float

    @classmethod
    def through(cls, smiles: Sequence[str], scores: Sequence[float]) -> SizeLine:
        """The least squares line; level where all molecules have one size."""
        sizes = np.array([heavy_count(text) for text in smiles], dtype=float)
        target = np.asarray(scores, dtype=float)
        from_mean = sizes - sizes.mean()
        slope = float(from_mean @ target / (from_mean @ from_mean)) if from_mean.any() else 0.0
        return cls(slope, float(target.mean() - slope * sizes.mean()))

    def beyond(self, smiles: Sequence[str], scores: Sequence[float]) -> list[float]:
        """The scores less what is expected: negative ones are better."""
        return [
            round(score - self.at_zero - self.slope * heavy_count(text), 4)
            for text, score in zip(smiles, scores, strict=True)
        ]


@dataclass(slots=True)
class Candidates:
    """The molecules that may be chosen, ``smiles`` with ``values`` to rank by (nan: not to be chosen), which of them
    lie ``inside`` of what the surrogate knows, and a ``seed`` for what is equal."""

    smiles: Sequence[str]
    values: Sequence[float]
    inside: Sequence[bool]
    seed: int

    def order(self, done: Collection[str]) -> list[int]:
        """Indices of those not ``done``, best first: what is inside before what is not. Equal ones come in an order
        drawn by the seed, and not by their names."""
        open_ones = (
            i for i, value in enumerate(self.values) if not math.isnan(value) and self.smiles[i] not in done
        )
        return sorted(
            open_ones, key=lambda i: (not self.inside[i], self.values[i], self._lot(self.smiles[i]))
        )

    def _lot(self, smiles: str) -> bytes:
        return blake2b(f"{self.seed} {smiles}".encode(), digest_size=8).digest()


def scaffold(smiles: str) -> str:
    """The Bemis-Murcko scaffold of a molecule; a molecule without rings is its own."""
    return MurckoScaffoldSmiles(smiles) or smiles


def choose(
    candidates: Candidates, count: int, acquisition: Acquisition, done: Collection[str], chosen: Iterable[str]
) -> list[int]:
    """Indices of ``count`` candidates that are not ``done``: no two nearly the same, no scaffold too often.

    ``chosen`` are the molecules of earlier rounds, whose scaffolds count. What is passed over is taken where nothing
    else is left.
    """
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
    quota = acquisition.per_scaffold or math.inf
    used = Counter(scaffold(smiles) for smiles in chosen) if acquisition.per_scaffold else Counter[str]()
    taken: list[int] = []
    prints: list[Any] = []
    passed_over: list[int] = []
    order = candidates.order(done)
    for looked, index in enumerate(order):
        if len(taken) == count or looked == LOOKED_AT:
            passed_over += order[looked:] if len(taken) < count else []
            break
        smiles = candidates.smiles[index]
        frame = scaffold(smiles) if acquisition.per_scaffold else ""
        fingerprint = generator.GetFingerprint(MolFromSmiles(smiles))
        alike = max(DataStructs.BulkTanimotoSimilarity(fingerprint, prints), default=0.0) > MAX_SIMILARITY
        if alike or used[frame] >= quota:
            passed_over.append(index)
            continue
        taken.append(index)
        prints.append(fingerprint)
        used[frame] += 1
    return taken + passed_over[: count - len(taken)]
