"""The surrogate: the same bits alone and in company, and honest figures of merit."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from docking.features import FINGERPRINT_SIZE, WIDTH, features, heavy_atoms
from docking.inference import BATCHES, model, score, serial
from docking.library import couple, pairs
from docking.records import DockingInputError
from docking.surrogate import CANDIDATES, Surrogate, rho, train, validate


@pytest.fixture(scope="module")
def smiles() -> list[str]:
    return couple(pairs(60, seed=11))


@pytest.fixture(scope="module")
def sized(smiles: list[str]) -> list[float]:
    """Scores that are size and a little noise."""
    noise = np.random.default_rng(0).normal(0, 0.3, len(smiles))
    return [round(float(v), 4) for v in -0.3 * heavy_atoms(smiles) + noise]


def test_feature_rows_hold_counts_then_descriptors() -> None:
    rows = features(["CCO", "nonsense", "c1ccccc1"])
    assert rows.shape == (3, WIDTH)
    assert np.isnan(rows[1]).all()
    assert rows[0, FINGERPRINT_SIZE] == 3, "heavy atoms come first"
    assert rows[2, :FINGERPRINT_SIZE].max() >= 6, "counts, not bits"


@pytest.mark.parametrize("kind", list(CANDIDATES))
def test_a_prediction_is_the_same_bits_whatever_the_batch(
    kind: str, smiles: list[str], sized: list[float]
) -> None:
    surrogate = Surrogate(kind, CANDIDATES[kind](features(smiles), np.array(sized)), len(smiles))
    together = surrogate.model.predict(features(smiles))
    alone = [surrogate.model.predict(features([text]))[0] for text in smiles]
    assert together.tolist() == alone


def test_serial_inference_agrees_for_every_batch_size(smiles: list[str]) -> None:
    surrogate = model()
    reference = score(surrogate, smiles)
    assert len(set(reference)) > 30
    for batch in BATCHES:
        assert serial(surrogate, smiles, batch) == reference


def test_a_molecule_that_does_not_parse_is_predicted_as_nan(smiles: list[str], sized: list[float]) -> None:
    values = train(smiles, sized).scores([smiles[0], "nonsense"])
    assert not math.isnan(values[0])
    assert math.isnan(values[1])


def test_training_is_deterministic_and_travels_by_value(smiles: list[str], sized: list[float]) -> None:
    first, second = train(smiles, sized), train(smiles, sized)
    assert first.name == second.name
    assert first.scores(smiles) == second.scores(smiles)
    assert pickle.loads(pickle.dumps(first)).scores(smiles[:3]) == first.scores(smiles[:3])


def test_validation_is_held_out_and_shows_size(smiles: list[str], sized: list[float]) -> None:
    report = validate(smiles, sized)
    assert report.n == 60
    assert report.baseline > 0.9, "these scores are size"
    assert report.spearman > 0.7
    shuffled = [sized[i] for i in np.random.default_rng(1).permutation(len(sized))]
    assert abs(validate(smiles, shuffled).spearman) < 0.45, "nothing to learn, nothing claimed"


def test_few_molecules_train_the_simplest_model_and_none_are_refused(
    smiles: list[str], sized: list[float]
) -> None:
    few = train(smiles[:5], sized[:5])
    assert few.name == next(iter(CANDIDATES))
    assert rho(few.scores(smiles), sized) > 0.5
    assert set(train(smiles[:1], sized[:1], spread=True).scores(smiles)) == {sized[0]}
    with pytest.raises(DockingInputError, match="no molecule has docked"):
        train([], [])


@pytest.mark.parametrize("kind", list(CANDIDATES))
def test_what_lies_far_outside_is_predicted_at_the_edge(
    kind: str, smiles: list[str], sized: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docking.surrogate.CANDIDATES", {kind: CANDIDATES[kind]})
    surrogate = train(smiles, sized, spread=True)
    coronene = "c1cc2ccc3ccc4ccc5ccc6ccc1c1c2c3c4c5c61"
    chain = "C" * 75
    (flat, _, inside), (long, _, also) = surrogate.beliefs([coronene, chain])
    assert not inside
    assert not also
    assert min(flat, long) > 1.5 * min(sized), "75 carbons by the slope of size would be at -22"
    assert all(belief[2] for belief in surrogate.beliefs(smiles))


@pytest.mark.parametrize("kind", list(CANDIDATES))
def test_beliefs_are_the_same_bits_whatever_the_batch(
    kind: str, smiles: list[str], sized: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docking.surrogate.CANDIDATES", {kind: CANDIDATES[kind]})
    surrogate = train(smiles[:40], sized[:40], spread=True)
    together = surrogate.beliefs(smiles)
    assert together == [surrogate.beliefs([text])[0] for text in smiles]
    assert any(spread > 0.01 for _score, spread, _inside in together)


def test_rho_of_a_constant_is_zero() -> None:
    assert rho([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) == 0.0
    assert rho([1.0, 2.0, 3.0], [2.0, 4.0, 9.0]) == pytest.approx(1.0)
