"""Claims and their controls: intervals that are right, splits that leak nothing, and words that follow the numbers."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from docking import controls, outputs
from docking.blocks import acids, amines
from docking.features import heavy_atoms
from docking.intervals import Interval, grouped, mean_difference, paired, spearman, spearman_difference
from docking.library import couple, pairs
from docking.records import Docked, Entry
from docking.screen import Hit, Screen
from docking.splits import SPLITS, blocks_of, groups, validate_by
from docking.surrogate import validate
from tests.docking.quick_screen import QuickDock


def test_an_interval_is_the_percentile_bootstrap() -> None:
    draw = np.random.default_rng(3)
    first = draw.normal(size=40)
    second = np.round(first + draw.normal(size=40), 1)  # with ties
    found = paired(spearman, first, second)
    assert found.value == pytest.approx(stats.spearmanr(first, second).statistic)
    other = stats.bootstrap(
        (first, second),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=2000,
        method="percentile",
        rng=5,
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((other.low, other.high), abs=0.05)
    assert paired(spearman, first, second) == found, "the same numbers, the same interval"


def test_an_interval_covers_the_truth_as_often_as_it_says() -> None:
    draw = np.random.default_rng(0)
    covered = sum(
        grouped(mean_difference, draw.normal(1, 1, 30), draw.normal(0, 1, 40), draws=400).includes(1.0)
        for _ in range(200)
    )
    assert 0.89 <= covered / 200 <= 0.99


def test_too_few_molecules_have_no_interval_and_no_claim() -> None:
    found = paired(spearman, np.arange(5.0), np.arange(5.0))
    assert (found.value, found.known) == (1.0, False)
    claim = controls.Claim("x", 5, found)
    assert claim.reading == "too few molecules to tell from chance"
    assert math.isnan(paired(spearman, [1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 3.0, 4.0]).value)
    assert str(Interval(math.nan)) == "unknown"


def test_a_claim_says_which_side_of_chance_it_is_on() -> None:
    lower = Interval(-1.0, -1.5, -0.5)
    assert controls.Claim("x", 9, lower, unit="kcal/mol").reading == "more than chance"
    assert controls.Claim("x", 9, lower).reading == "less than chance"
    assert controls.Claim("x", 9, lower, math.nan).reading == ""
    both = controls.Claim("x", 9, Interval(1.2, 0.8, 2.0), 1.0, ".1f")
    assert str(both) == "x: 1.2 [0.8, 2.0] (n = 9); includes 1: may be chance"


def test_a_molecule_of_the_library_tells_its_building_blocks() -> None:
    codes = pairs(120, seed=8)
    made = [(acids()[code // len(amines())], amines()[code % len(amines())]) for code in codes]
    assert [blocks_of(smiles) for smiles in couple(codes)] == made
    assert blocks_of("CCO") is None
    assert groups("acid block", ["CCO", "CCN"]) == "not all molecules are made of known building blocks"


def test_a_split_by_block_finds_what_a_random_split_hides() -> None:
    """Scores that are particular to an acid: a model that has seen the acid knows them, one that has not does not."""
    wanted = [acid for acid in acids() if "c2ccccc2" in acid][:2] + [
        acids()[i] for i in (5, 150, 300, 450, 600)
    ]
    library = couple(
        [acids().index(acid) * len(amines()) + amine for acid in wanted for amine in range(0, 80, 10)]
    )
    luck = np.random.default_rng(1)
    value = {acid: luck.normal() for acid in wanted}
    scores = [value[blocks_of(smiles)[0]] + 0.05 * luck.normal() for smiles in library]  # type: ignore[index]
    at_random = validate(library, scores)
    by_acid = validate_by("acid block", library, scores)
    assert at_random.surrogate.low > 0.7
    assert by_acid.surrogate.value < at_random.surrogate.value - 0.3
    assert by_acid.groups == len({SPLITS["acid block"](smiles) for smiles in library})


def test_where_scores_are_size_no_advantage_is_claimed(screen: Screen) -> None:
    told = {claim.what: claim for claim in controls.claims(screen)}
    better = told["surrogate less size alone: difference of rank correlations"]
    assert better.figure.high <= 0.0, "scores are size: nothing can do better"
    assert "more than" not in str(better)
    random = told["chosen less random: difference of mean scores"]
    assert random.reading == "more than chance"
    same = told["chosen less random of the same size (line through the random start)"]
    assert same.figure.value == pytest.approx(0.0, abs=1e-6)
    assert same.may_be_chance
    assert {"round 1", "round 2", "all rounds"} <= {what.partition(":")[0] for what in told}
    assert all(split.reason or split.difference.high <= 1e-9 for split in screen.splits)
    assert [split.name for split in screen.splits] == list(SPLITS)


def test_controls_of_the_same_size_are_docked_and_are_no_hits(library: list[Entry]) -> None:
    chosen = [Hit(entry, Docked(entry.smiles, -9.0), 1, -9.0) for entry in library[:6]]
    start = [Hit(entry, Docked(entry.smiles, -7.0), 0) for entry in library[6:20]]
    screen = Screen(library, QuickDock(), hits=[*start, *chosen])
    line = controls.dock_same_size(screen, 4)
    assert line == "controls: 4 random molecules of the size of chosen ones docked"
    assert screen.hits == [*start, *chosen]
    taken = {hit.entry.smiles for hit in screen.hits}
    for hit, other in screen.same_size:
        assert heavy_atoms([other.entry.smiles])[0] == heavy_atoms([hit.entry.smiles])[0]
        assert other.entry.smiles not in taken
        taken.add(other.entry.smiles)
    claim = next(claim for claim in controls.claims(screen) if "in pairs" in claim.what)
    differences = [hit.docked.score - other.docked.score for hit, other in screen.same_size]
    assert (claim.n, claim.figure.value) == (4, pytest.approx(np.mean(differences)))


def test_the_summary_has_each_claim_with_its_interval(screen: Screen, tmp_path: Path) -> None:
    path = tmp_path / "summary.json"
    outputs.write_summary(screen, path, redock_rmsd=None, warnings=(), tasks=0, seconds=0.0)
    facts = json.loads(path.read_text())["claims"]
    assert [fact["claim"] for fact in facts] == [claim.what for claim in controls.claims(screen)]
    assert all(fact["low"] <= fact["value"] <= fact["high"] for fact in facts if fact["low"] is not None)


def test_the_doubt_about_the_scores_stands_beside_each_sentence(screen: Screen) -> None:
    doubted = replace(screen.verdict, doubt="distrust: no")
    screen.verdict, kept = doubted, screen.verdict
    told = controls.sentences(screen)[: len(controls.claims(screen))]
    screen.verdict = kept
    assert told
    assert all(line.endswith("(distrust: no)") for line in told)


def test_a_difference_of_correlations_takes_one_that_is_constant_as_none() -> None:
    target = np.arange(5.0)[None]
    assert spearman_difference(target, np.ones((1, 5)), target)[0] == pytest.approx(1.0)
