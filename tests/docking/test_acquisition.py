"""What the next round docks: by prediction, doubt or draw; scaffolds by quota; nothing from outside first."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from rdkit import Chem

from docking.acquisition import Acquisition, Candidates, SizeLine, choose, scaffold
from docking.features import heavy_atoms, heavy_count
from docking.records import DockingInputError, Entry
from docking.screen import Screen
from tests.docking.quick_screen import Inline, QuickDock
from tests.docking.test_hostile import FULLERENE

BENZENES = [f"c1ccc({group})cc1" for group in ("C", "N", "O", "F", "Cl", "C#N", "S", "CO")]
OTHERS = ["c1ccncc1", "C1CCCCC1", "c1ccoc1", "CCO", "CCN"]


def chosen(
    smiles: list[str],
    values: list[float],
    count: int,
    acquisition: Acquisition,
    earlier: tuple[str, ...] = (),
) -> list[str]:
    candidates = Candidates(smiles, values, [True] * len(smiles), seed=1)
    return [smiles[i] for i in choose(candidates, count, acquisition, set(earlier), earlier)]


def test_a_scaffold_is_chosen_no_more_often_than_its_quota_over_all_rounds() -> None:
    smiles, values = [*BENZENES, *OTHERS], [-9.0 - i for i in range(len(BENZENES))] + [-1.0] * len(OTHERS)
    picks = chosen(smiles, values, 5, Acquisition("greedy", 2))
    assert Counter(map(scaffold, picks))["c1ccccc1"] == 2
    assert picks[:2] == [BENZENES[-1], BENZENES[-2]]
    later = chosen(smiles, values, 3, Acquisition("greedy", 2), tuple(picks))
    assert "c1ccccc1" not in {scaffold(pick) for pick in later[:-1]}
    assert Counter(map(scaffold, chosen(smiles, values, 5, Acquisition("greedy", 0))))["c1ccccc1"] == 5
    assert len(chosen(BENZENES, values[: len(BENZENES)], 6, Acquisition("greedy", 2))) == 6, (
        "nothing else is left"
    )
    assert scaffold("CCO") != scaffold("CCN"), "molecules without rings share none"


def test_doubt_counts_for_ucb_and_is_drawn_by_thompson() -> None:
    scores, spreads = [-5.0, -4.5, math.nan], [0.0, 1.0, 0.0]
    assert Acquisition("greedy").values(scores, spreads, 1)[:2] == [-5.0, -4.5]
    assert Acquisition("ucb").values(scores, spreads, 1)[:2] == [-5.0, -6.5]
    draws = [Acquisition("thompson").values(scores, spreads, seed) for seed in range(50)]
    assert {draw[0] for draw in draws} == {-5.0}
    assert 5 < sum(draw[1] < -5.0 for draw in draws) < 45
    assert draws[3][:2] == Acquisition("thompson").values(scores, spreads, 3)[:2]
    assert all(math.isnan(draw[2]) for draw in draws)
    with pytest.raises(DockingInputError, match="No acquisition 'best': there are greedy, ucb and thompson"):
        Acquisition("best")


def test_beyond_size_a_small_molecule_may_come_before_a_larger_one_that_scores_better(
    library: list[Entry],
) -> None:
    screen = Screen(library, QuickDock(), seed=4, acquisition=Acquisition(beyond_size=True, per_scaffold=0))
    screen.dock_start(30)  # the score is -0.3 for each heavy atom
    sizes = [int(heavy_atoms([entry.smiles])[0]) for entry in library]
    screen.predictions = [-0.3 * size - (1.0 if size < 22 else 0.0) for size in sizes]
    small = screen.choose(3)
    assert all(sizes[index] < 22 for index in small)
    screen.acquisition = Acquisition(per_scaffold=0)
    by_score = screen.choose(3)
    assert min(sizes[index] for index in by_score) > max(sizes[index] for index in small)
    assert screen.acquisition.name == "greedy"
    assert Acquisition("ucb", beyond_size=True).name == "ucb beyond size"


def test_the_line_of_size_is_that_of_least_squares(library: list[Entry]) -> None:
    smiles = [entry.smiles for entry in library]
    scores = [-0.2 * heavy_count(text) - len(text) % 5 for text in smiles]
    line = SizeLine.through(smiles, scores)
    assert (line.slope, line.at_zero) == pytest.approx(np.polyfit(heavy_atoms(smiles), scores, 1).tolist())
    assert sum(line.beyond(smiles, scores)) == pytest.approx(0.0, abs=0.01)
    assert SizeLine.through(["CC", "CO"], [-1.0, -2.0]) == SizeLine(0.0, -1.5), "one size has no slope"
    assert SizeLine.through(["CC"], [-1.0]).beyond(["CCC"], [-1.0]) == [0.0]


def test_heavy_atoms_are_counted_in_the_text_of_a_smiles(library: list[Entry]) -> None:
    strange = [
        "[2H]C([2H])Cl",
        "C[N+](C)(C)C",
        "[Na+].[Cl-]",
        "c1cc[nH]c1Br",
        "[SiH4]",
        "C/C=C\\[C@@H](F)[O-]",
        "[H+].C%10CC%10",
    ]
    for text in [*strange, *(entry.smiles for entry in library)]:
        assert heavy_count(text) == Chem.MolFromSmiles(text).GetNumHeavyAtoms(), text


def test_equal_predictions_are_drawn_by_the_seed() -> None:
    orders = [Candidates(BENZENES, [-1.0] * 8, [True] * 8, seed).order(()) for seed in range(4)]
    assert len({tuple(order) for order in orders}) == 4
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert sorted(range(8), key=lambda i: BENZENES[i]) not in orders


@pytest.mark.parametrize("method", ["greedy", "ucb", "thompson"])
def test_a_large_strange_molecule_is_not_chosen_first(library: list[Entry], method: str) -> None:
    strange = Entry(999, "c1cc2ccc3ccc4ccc5ccc6ccc1c1c2c3c4c5c61", "coronene")
    longest = Entry(1000, "C" * 75, "a long chain")
    fullerene = Entry(1001, FULLERENE, "C60")
    odd = {strange, longest, fullerene}
    screen = Screen(
        [strange, longest, fullerene, *library], QuickDock(), seed=4, acquisition=Acquisition(method)
    )
    screen.dock_start(9)
    assert not odd & {hit.entry for hit in screen.hits}
    model = screen.train(check=False)
    screen.infer(Inline(model.beliefs))
    assert screen.inside[:3] == [False] * 3
    assert not odd & {hit.entry for hit in screen.dock_best(10)}
    everything = screen.dock_best(len(screen.library))
    assert odd <= {hit.entry for hit in everything}, "last, and not never"
