"""The inference workload by itself, for benchmarks: no docking, no Vina, the same work in parallel and in
series.

Source: the ParslDock inference experiment, 100,000 SMILES in batches of 1 to 1,000.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from docking.surrogate import CANDIDATES, Surrogate

TRAINING = Path(__file__).with_name("data") / "scores.csv"
"""Docking scores (kcal/mol) of molecules of the generated library on the tutorial receptor; its first lines tell how
they were made."""

BATCHES = (1, 10, 100, 1000)


def model(kind: str = "ridge on counts and descriptors") -> Surrogate:
    """A surrogate of the given ``kind`` (a key of :data:`docking.surrogate.CANDIDATES`) trained on
    recorded scores."""
    import numpy as np

    from docking.features import features

    with TRAINING.open(newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    smiles = [row["smiles"] for row in rows]
    scores = np.array([float(row["score"]) for row in rows])
    return Surrogate(kind, CANDIDATES[kind](features(smiles), scores), len(smiles))


def molecules(count: int = 100_000, seed: int = 1) -> list[str]:
    """SMILES of ``count`` generated molecules, made in parallel."""
    from docking.library import generate

    return [entry.smiles for entry in generate(count, seed)]


def score(surrogate: Surrogate, smiles: Sequence[str]) -> list[float]:
    """Predicted scores of ``smiles``: what one batch of the parallel function does."""
    return surrogate.scores(smiles)


def serial(surrogate: Surrogate, smiles: Sequence[str], batch: int) -> list[float]:
    """The same work in a plain loop, ``batch`` molecules a call."""
    values: list[float] = []
    for start in range(0, len(smiles), batch):
        values.extend(score(surrogate, smiles[start : start + batch]))
    return values
