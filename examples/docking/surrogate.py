"""The surrogate: a small regression from molecule to docking score, chosen and judged by
cross-validation.

Much of a docking score is size, so every figure of merit is given beside the one of the number of heavy
atoms alone, and beside the published surrogate (4 nearest neighbours, Jaccard distance, 256 Morgan bits
of radius 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from docking.features import FINGERPRINT_SIZE, WIDTH, Domain, features, heavy_atoms, published_bits
from docking.intervals import Floats, Interval, paired, spearman, spearman_difference
from docking.records import DockingInputError

FEW = 10
"""Fewer molecules than this are too few to choose a model by: the simplest is taken."""
MEMBERS = 16
"""Models trained on draws of the docked molecules, whose spread tells how sure a prediction is."""
OUTER_FOLDS, INNER_FOLDS = 5, 4
BLOCK = 256
"""Molecules per block of a prediction: bounds memory (2 MB of features) whatever the batch."""

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]
"""Indices of a training and of a test part."""


@dataclass(frozen=True, slots=True)
class Linear:
    """``score = features . weights + intercept``; ``weights`` is (WIDTH,)."""

    weights: Floats
    intercept: float

    def predict(self, rows: NDArray[np.float32]) -> Floats:
        """Scores of feature ``rows`` (n, WIDTH): (n,), the same bits for a row whatever is beside it."""
        # A matrix product would round differently for different n; a sum along each row does not.
        result = np.empty(len(rows), dtype=np.float64)
        for start in range(0, len(rows), 16):
            result[start : start + 16] = (rows[start : start + 16] * self.weights).sum(axis=1)
        return result + self.intercept


@dataclass(frozen=True, slots=True)
class Surrogate:
    """A trained model with its ``name``; ``predict`` takes feature rows, ``scores`` takes SMILES.

    It takes molecules outside of ``domain`` for ones at its edge. The spread of its ``members`` is its doubt.
    """

    name: str
    model: Any
    trained_on: int
    domain: Domain | None = None
    members: tuple[Any, ...] = ()

    def scores(self, smiles: Sequence[str]) -> list[float]:
        """Predicted docking scores of ``smiles``, kcal/mol rounded to 1e-4; nan where a SMILES does not
        parse."""
        return [score for score, _spread, _inside in self.beliefs(smiles)]

    def beliefs(self, smiles: Sequence[str]) -> list[tuple[float, float, bool]]:
        """For each of ``smiles`` its predicted score (as :meth:`scores`), the standard deviation of the members'
        predictions (0 without members), and whether it is in the domain."""
        told: list[tuple[float, float, bool]] = []
        for start in range(0, len(smiles), BLOCK):
            rows = features(smiles[start : start + BLOCK])
            bad = np.isnan(rows[:, 0])
            if bad.any():
                rows[bad] = 0.0
            inside, spread = ~bad, np.zeros(len(rows))
            if self.domain is not None:
                inside &= self.domain.inside(rows)
                rows = self.domain.clip(rows)
            values = np.round(self.model.predict(rows), 4)
            values[bad] = math.nan
            if self.members:
                # The last axis is summed the same whatever the number of rows.
                spread = (
                    np.stack([member.predict(rows) for member in self.members], axis=1).std(axis=1).round(4)
                )
            told.extend(zip(values.tolist(), spread.tolist(), inside.tolist(), strict=True))
        return told


@dataclass(frozen=True, slots=True)
class Validation:
    """Held-out Spearman correlations on ``n`` docked molecules, and the held-out ``predictions`` (n,): of the
    ``surrogate``, of ``size`` alone, and the ``difference`` of both, each with its interval."""

    n: int
    surrogate: Interval
    size: Interval
    difference: Interval
    published: float
    predictions: tuple[float, ...]
    chosen: str

    @property
    def spearman(self) -> float:
        """Of the surrogate."""
        return self.surrogate.value

    @property
    def baseline(self) -> float:
        """Of the number of heavy atoms alone."""
        return self.size.value

    def __str__(self) -> str:
        better = ", which includes zero" if self.difference.includes(0) else ""
        return (
            f"held-out Spearman {self.surrogate} ({self.chosen}); heavy atoms alone {self.size}; "
            f"difference {self.difference}{better}; published KNN {self.published:+.2f} (n = {self.n})"
        )


def train(smiles: Sequence[str], scores: Sequence[float], *, spread: bool = False) -> Surrogate:
    """The best of the candidate models by cross-validation, trained on all of ``smiles`` and ``scores``.

    Of fewer than :data:`FEW` molecules it is the simplest one, and of one molecule a constant. With ``spread`` it can
    tell how sure it is.
    """
    target = np.asarray(scores, dtype=np.float64)
    if not len(smiles):
        raise DockingInputError("Nothing to train on: no molecule has docked.")
    rows = features(smiles)
    with threadpool_limits(1):
        name = _choose(rows, target)
        model = CANDIDATES[name](rows, target)
        members = _members(name, model, rows, target) if spread else ()
        return Surrogate(name, model, len(smiles), Domain.of(rows), members)


def validate(smiles: Sequence[str], scores: Sequence[float]) -> Validation:
    """Nested cross-validation of at least two molecules: the model is chosen inside each training part, so the
    held-out rho is honest."""
    target = np.asarray(scores, dtype=np.float64)
    predictions, chosen = held_out(features(smiles), target, _folds(len(target), OUTER_FOLDS))
    with threadpool_limits(1):
        published = _published(smiles, target)
    size = -heavy_atoms(smiles)
    return Validation(
        n=len(target),
        surrogate=replace(paired(spearman, predictions, target), value=rho(predictions, target)),
        size=replace(paired(spearman, size, target), value=rho(size, target)),
        difference=paired(spearman_difference, predictions, size, target),
        published=rho(published, target),
        predictions=tuple(predictions.round(4).tolist()),
        chosen=max(sorted(set(chosen)), key=chosen.count),
    )


def held_out(rows: NDArray[np.float32], target: Floats, folds: Sequence[Fold]) -> tuple[Floats, list[str]]:
    """Predictions (n,) of feature ``rows``, each by a model trained without its fold, and the kinds of these models."""
    predictions = np.empty_like(target)
    chosen = []
    with threadpool_limits(1):
        for train_part, test_part in folds:
            name = _choose(rows[train_part], target[train_part])
            chosen.append(name)
            fitted = CANDIDATES[name](rows[train_part], target[train_part])
            predictions[test_part] = fitted.predict(Domain.of(rows[train_part]).clip(rows[test_part]))
    return predictions, chosen


def rho(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> float:
    """Spearman's rank correlation, 0 where it is undefined (a constant, or fewer than three values)."""
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(spearmanr(first, second).statistic)


def _ridge(columns: slice, alpha: float) -> Callable[[NDArray[np.float32], Floats], Linear]:
    """Ridge regression on ``columns``, descriptors standardised and counts as they are, as raw-space
    weights."""

    def fit(rows: NDArray[np.float32], target: Floats) -> Linear:
        from sklearn.linear_model import Ridge

        part = rows[:, columns].astype(np.float64)
        scale = np.ones(part.shape[1])
        described = part.shape[1] - (WIDTH - FINGERPRINT_SIZE)
        scale[described:] = np.maximum(part[:, described:].std(axis=0), 1e-9)
        center = part.mean(axis=0)
        model = Ridge(alpha=alpha).fit((part - center) / scale, target)
        weights = np.zeros(WIDTH)
        weights[columns] = model.coef_ / scale
        return Linear(weights, float(model.intercept_ - weights[columns] @ center))

    return fit


def _forest(rows: NDArray[np.float32], target: Floats) -> Any:
    """A random forest of 50 trees (Breiman, Machine Learning 45, 5 (2001)), one thread."""
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(50, max_features=0.3, min_samples_leaf=2, random_state=0, n_jobs=1)
    return forest.fit(rows, target)


CANDIDATES: dict[str, Callable[[NDArray[np.float32], Floats], Any]] = {
    "ridge on descriptors": _ridge(slice(FINGERPRINT_SIZE, WIDTH), 3.0),
    "ridge on counts and descriptors": _ridge(slice(0, WIDTH), 30.0),
    "forest on counts and descriptors": _forest,
}
"""Name to fit(rows, target): models with ``predict``, from the simplest on."""


def _choose(rows: NDArray[np.float32], target: Floats) -> str:
    """The candidate with the smallest cross-validated squared error, or the simplest for few molecules."""
    if len(target) < FEW:
        return next(iter(CANDIDATES))
    errors = {}
    folds = _folds(len(target), INNER_FOLDS)
    for name, fit in CANDIDATES.items():
        wrong = [
            fit(rows[a], target[a]).predict(Domain.of(rows[a]).clip(rows[b])) - target[b] for a, b in folds
        ]
        errors[name] = round(float(np.mean(np.concatenate(wrong) ** 2)), 9)
    return min(errors, key=lambda name: errors[name])


def _members(name: str, model: Any, rows: NDArray[np.float32], target: Floats) -> tuple[Any, ...]:
    """Models of the same kind, each trained on as many molecules drawn with replacement: a forest has them already."""
    if hasattr(model, "estimators_"):
        return tuple(model.estimators_)
    draw = np.random.default_rng(0)
    parts = [draw.integers(0, len(target), len(target)) for _ in range(MEMBERS)]
    return tuple(CANDIDATES[name](rows[part], target[part]) for part in parts)


def _published(smiles: Sequence[str], target: Floats) -> Floats:
    """Held-out predictions of the published surrogate."""
    from sklearn.neighbors import KNeighborsRegressor

    bits = published_bits(smiles)
    predictions = np.empty_like(target)
    for train_part, test_part in _folds(len(target), OUTER_FOLDS):
        model = KNeighborsRegressor(min(4, len(train_part)), weights="distance", metric="jaccard")
        predictions[test_part] = model.fit(bits[train_part], target[train_part]).predict(bits[test_part])
    return predictions


def _folds(n: int, parts: int) -> list[Fold]:
    """(training, test) indices of ``parts`` folds, shuffled by a fixed seed."""
    order = np.random.default_rng(0).permutation(n)
    pieces = np.array_split(order, min(parts, n))
    return [(np.setdiff1d(order, piece), piece) for piece in pieces]
