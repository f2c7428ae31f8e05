"""The loop, with a docking that answers at once: choices, ties, failures, files and pictures."""

from __future__ import annotations

import csv
from concurrent.futures import Future
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import rdMolAlign

from docking import controls, outputs, plots
from docking.records import Docked, DockingInputError, Entry, Final, Search, Verdict, unchecked
from docking.screen import Hit, Screen
from docking.searches import combine
from tests.docking.quick_screen import Inline, QuickDock, screened


def test_the_loop_finds_better_molecules_than_chance(screen: Screen) -> None:
    assert len(screen.hits) == 42
    assert len({hit.entry.smiles for hit in screen.hits}) == 42, "nothing is docked twice"
    assert [hit.round for hit in screen.hits] == [0] * 30 + [1] * 6 + [2] * 6
    assert controls.enrichment(screen).low > 1.5
    assert screen.ranked()[0].docked.score == min(hit.docked.score for hit in screen.hits)


def test_the_same_seed_gives_the_same_hits(library: list[Entry], screen: Screen) -> None:
    again = screened(library, check=False)
    assert [hit.key() for hit in again.ranked()] == [hit.key() for hit in screen.ranked()]


class Late(Future[Docked]):
    """A docking that must not be waited for before it is over."""

    def result(self, timeout: float | None = None) -> Docked:
        assert self.done(), "it docks for as long as nothing else is begun"
        return super().result(timeout)


class LateDock(QuickDock):
    """A docking of which the last ``late`` ones begun are under way, and never over before others are begun."""

    def __init__(self, late: int) -> None:
        super().__init__()
        self.waiting: list[tuple[Late, Docked]] = []
        self.late = late

    def __call__(self, text: str, search: Search) -> Future[Docked]:
        self.waiting.append((Late(), super().__call__(text, search).result()))
        late = self.waiting[-1][0]
        self.end(self.late)
        return late

    def end(self, most: int) -> None:
        while len(self.waiting) > most:
            call, docked = self.waiting.pop(0)
            call.set_result(docked)


def test_a_round_is_chosen_while_the_last_molecules_begun_still_dock(library: list[Entry]) -> None:
    screen = Screen(library, LateDock(late=8), seed=4, searches=2, overlap=4)
    at_once = Screen(library, QuickDock(), seed=4, searches=2, overlap=4)
    assert len(screen.dock_start(20)) == 16
    assert screen.train(check=False).trained_on == 16
    for one in (screen, at_once):
        if one is at_once:
            one.dock_start(20)
        one.infer(Inline(one.train(check=False).scores))
        one.dock_best(3)
        assert one.train(check=False).trained_on == 19
        one.infer(Inline(one.train(check=False).scores))
        one.dock_best(3)
        assert len(one.hits) == 22
    screen.dock.end(0)
    assert {hit.round for hit in screen.finish()} == {1, 2}
    at_once.finish()
    assert [hit.round for hit in screen.hits] == [0] * 20 + [1] * 3 + [2] * 3
    assert screen.hits == at_once.hits, "which of them ended first is no matter"
    assert len({hit.entry.smiles for hit in screen.hits}) == 26, "what docks is not chosen again"


def test_of_a_start_at_least_half_is_known_to_the_first_round(library: list[Entry]) -> None:
    screen = Screen(library, LateDock(late=5), overlap=64)
    assert len(screen.dock_start(10)) == 5
    with pytest.raises(DockingInputError, match="overlap by 0 molecules"):
        Screen(library, QuickDock(), overlap=-1)


def test_ties_are_broken_by_smiles(library: list[Entry]) -> None:
    hits = [Hit(Entry(1, text), Docked(text, -5.0), 0) for text in ("CCO", "CCC", "CCN")]
    screen = Screen(library, QuickDock(), hits=hits)
    assert [hit.entry.smiles for hit in screen.ranked()] == ["CCC", "CCN", "CCO"]
    screen.predictions = [-1.0] * len(library)
    chosen = [library[index].smiles for index in screen.choose(len(library))]
    assert len(chosen) == len(library), "near copies come last, not never"


def test_near_copies_are_not_docked_in_the_same_round(library: list[Entry]) -> None:
    copies = [Entry(i, f"O=C(NCc1ccccc1)c1ccc(CC{'C' * i}N)cc1") for i in range(6, 12)]
    other = Entry(50, "CCO")
    screen = Screen([*copies, other], QuickDock())
    screen.predictions = [-9.0] * len(copies) + [-1.0]
    chosen = [screen.library[index] for index in screen.choose(2)]
    assert chosen[0] in copies
    assert chosen[1] == other, "worse, but something new"


def test_failures_are_rows_with_a_reason_and_unusable_rows_are_never_asked(
    library: list[Entry], tmp_path: Path
) -> None:
    mixed = [Entry(0, "nonsense", "bad", "SMILES does not parse"), *library]
    broken = frozenset(entry.smiles for entry in library[::5])
    screen = screened(mixed, check=False, failing=broken)
    assert "nonsense" not in screen.dock.asked
    path = tmp_path / "hits.csv"
    outputs.write_csv(screen, path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    reasons = [row["reason"] for row in rows if row["reason"]]
    assert reasons[0] == "SMILES does not parse"
    assert set(reasons[1:]) == {"RuntimeError: worker lost"}
    ranked = [row for row in rows if not row["reason"]]
    assert [int(row["rank"]) for row in ranked] == list(range(1, len(ranked) + 1))
    assert [float(row["score"]) for row in ranked] == sorted(float(row["score"]) for row in ranked)


def test_a_library_smaller_than_the_start_is_docked_completely(library: list[Entry]) -> None:
    said: list[str] = []
    screen = Screen(library[:8], QuickDock())
    screen.run(start=48, rounds=2, per_round=5, say=said.append)
    assert len(screen.hits) == 8
    assert said[-1] == "every molecule of the library is docked"


@pytest.mark.parametrize("start", [1, 4])
def test_few_docked_molecules_teach_what_they_can(library: list[Entry], start: int) -> None:
    said: list[str] = []
    screen = Screen(library, QuickDock())
    screen.run(start=start, rounds=2, per_round=3, say=said.append)
    assert f"{start} docked molecules are few to learn from: expect little of the first predictions" in said
    assert len(screen.hits) == start + 6
    assert all(hit.predicted < -3.0 for hit in screen.hits if hit.round > 0)
    first = [hit.entry.smiles for hit in screen.hits if hit.round == 1]
    assert first != sorted(entry.smiles for entry in library)[:3], "by no alphabet"


def test_a_library_without_usable_rows_is_refused() -> None:
    with pytest.raises(
        DockingInputError, match="No molecule of the library can be docked; the first row: empty"
    ):
        Screen([Entry(1, "", "x", "empty SMILES")], QuickDock())
    with pytest.raises(DockingInputError, match="it is empty"):
        Screen([], QuickDock())


def test_when_nothing_docks_the_reason_is_given(library: list[Entry]) -> None:
    screen = Screen(library[:5], QuickDock(failing=frozenset(entry.smiles for entry in library)))
    with pytest.raises(DockingInputError, match="Nothing docked: RuntimeError: worker lost"):
        screen.run(say=lambda _text: None)


def test_training_on_failures_names_the_first_reason(library: list[Entry]) -> None:
    screen = Screen(library, QuickDock(failing=frozenset(entry.smiles for entry in library)))
    screen.dock_start(12)
    with pytest.raises(DockingInputError, match="No docked molecule to train on: RuntimeError: worker lost"):
        screen.train()


def test_hits_are_written_as_poses_with_their_properties(
    library: list[Entry], engine: Any, tmp_path: Path
) -> None:
    docked = engine.dock("Cc1ccc(CN)cc1")
    screen = Screen(library, QuickDock(), hits=[Hit(Entry(3, docked.smiles, "small"), docked, 1, -5.5)])
    outputs.write_sdf(screen, tmp_path / "hits.sdf")
    mol = next(iter(Chem.SDMolSupplier(str(tmp_path / "hits.sdf"), removeHs=False)))
    assert mol.GetProp("_Name") == "small"
    assert float(mol.GetProp("score")) == docked.score
    assert mol.GetConformer().Is3D()
    assert outputs.table(screen).loc[1, "heavy_atoms"] == 9


def test_the_final_round_ranks_the_best_by_what_it_finds(library: list[Entry], tmp_path: Path) -> None:
    screen = Screen(library, QuickDock(), seed=4, searches=2)
    screen.dock_start(8)
    before = screen.ranked()
    found = screen.rescore(Final(top=3, exhaustiveness=4, searches=3))
    assert {hit.entry.smiles for hit in found} == {hit.entry.smiles for hit in before[:3]}
    assert screen.ranked()[:3] == found, "what was searched less comes after"
    assert screen.ranked()[3:] == before[3:]
    outputs.write_csv(screen, tmp_path / "hits.csv")
    with (tmp_path / "hits.csv").open() as file:
        rows = list(csv.DictReader(file))
    first = rows[0]
    assert (first["searches"], first["final_searches"], rows[3]["final_searches"]) == ("2", "3", "")
    assert float(first["final_score"]) == pytest.approx(float(first["score"]) - 5)  # 2 and 4 instead of 1
    assert (float(first["final_spread"]), float(first["spread"])) == (1.0, pytest.approx(0.7071))
    assert f"best {found[0].best.score:.2f} kcal/mol, its 3 searches differ by 1.00" in outputs.final_line(
        screen, found
    )
    assert len(screen.rescore(Final(top=2))) == 2, "the next best"
    assert sum(hit.rescored for hit in screen.hits) == 5


def test_a_final_round_that_fails_leaves_the_score_of_the_screen(library: list[Entry]) -> None:
    screen = Screen(library, QuickDock(), seed=4)
    screen.dock_start(4)
    best = screen.ranked()[0]
    screen.dock.failing = frozenset([best.entry.smiles])
    screen.rescore(Final(top=2))
    assert [hit.rescored for hit in screen.ranked()] == [True, False, False, False]
    row = outputs.hit_row(2, screen.ranked()[1])
    assert (row["smiles"], row["score"], row["final_score"]) == (best.entry.smiles, best.docked.score, "")
    assert row["note"] == "final round: RuntimeError: worker lost"


def test_the_different_poses_of_the_final_round_are_written(
    library: list[Entry], engine: Any, tmp_path: Path
) -> None:
    rows = [engine.dock("Cc1ccc(CN)cc1", each) for each in Final(exhaustiveness=1, searches=2).each()]
    final = combine(rows)
    assert len(final.poses) == sum(len(row.poses) for row in rows) >= 4
    hit = Hit(Entry(3, final.smiles, "small"), replace(rows[1], poses=()), 1, -5.5, final)
    outputs.write_sdf(Screen(library, QuickDock(), hits=[hit]), tmp_path / "hits.sdf")
    mols = list(Chem.SDMolSupplier(str(tmp_path / "hits.sdf")))
    assert [mol.GetProp("pose") for mol in mols] == ["1", "2", "3"]
    assert {mol.GetProp("rank") for mol in mols} == {"1"}
    scores = [float(mol.GetProp("pose_score")) for mol in mols]
    assert scores == sorted(scores)
    assert scores[0] == final.score == float(mols[0].GetProp("final_score"))
    for one, other in pairwise(mols):
        assert rdMolAlign.CalcRMS(Chem.Mol(one), other) >= 1.0


def test_pictures_show_model_and_baseline(screen: Screen, tmp_path: Path) -> None:
    figure = plots.predicted_against_docked(screen)
    titles = [axes.get_title() for axes in figure.axes]
    assert f"{screen.validation.spearman:.2f}" in titles[0]
    assert f"{screen.validation.baseline:.2f}" in titles[1]
    for draw in (plots.score_distributions, plots.progress_curves):
        path = tmp_path / f"{draw.__name__}.png"
        draw(screen).savefig(path)
        assert path.stat().st_size > 5000
    svg = plots.top_grid(screen, 5)
    assert svg.startswith("<svg")
    assert svg.count(" kcal/mol</text>") == svg.count(">chosen at random<") + svg.count(">predicted -") == 5
    assert "unchecked: no known pose was redocked" in svg
    assert "unchecked: no known pose was redocked" in figure.get_supxlabel()
    screen.verdict = Verdict("reproduced", "found again")
    assert plots.score_distributions(screen).get_supxlabel() == ""
    assert "unchecked" not in plots.top_grid(screen, 5)
    screen.verdict = unchecked("as it was")
    assert "http://" not in svg.replace("http://www.w3.org", "").replace("http://www.rdkit.org", "")


def test_stages_say_what_would_be_faster(screen: Screen) -> None:
    table = outputs.stage_table(screen.clock, workers=2)
    assert "more workers" in table.loc["dock the start", "what would be faster"]
    assert table.loc["infer the library", "tasks"].tolist() == [150, 150]
