"""Where the answer is known: a completely docked library, and actives among decoys."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit.Chem import SDMolSupplier
from rdkit.ML.Scoring.Scoring import CalcAUC, CalcBEDROC
from sklearn.metrics import roc_auc_score

from docking.__main__ import main as command
from docking.complete import Row, Table, read_table, rows_of, write_table
from docking.features import heavy_atoms
from docking.library import couple, pairs
from docking.receptor import tutorial_folder
from docking.records import Docked, DockingInputError, Entry
from docking.replay import SHIPPED, Plan, best_of_table, replay, told
from docking.retrospective import Molecule, chance_bedroc, measures, ranked, together

SMALL = ["--evaluations", "3000", "--box", "2.82", "0.28", "10.63", "12", "12", "12", "--workers", "1"]
PLAN = Plan(start=30, rounds=2, per_round=5)


@pytest.fixture
def main(executor: Any) -> Iterator[Callable[[list[str]], int]]:
    """The command line, its tasks in threads: a process takes longer to begin than these dockings take."""
    import cellmill

    yield lambda arguments: command([*arguments, "--backend", "threads"])
    if (
        own := cellmill.default_executor()
    ) is not executor:  # which a command that is refused does not replace
        own.shutdown()


@pytest.fixture
def receptor(pocket_file: Path) -> str:
    return str(pocket_file)


def table_of(smiles: list[str], scores: list[float]) -> Table:
    sizes = heavy_atoms(smiles)
    told = zip(smiles, scores, sizes, strict=True)
    return Table(tuple(Row(text, f"m{text}", score, int(size)) for text, score, size in told), ())


@pytest.fixture(scope="module")
def sized() -> Table:
    """Scores that are size: a surrogate can learn them, and size alone knows them."""
    smiles = couple(pairs(300, seed=5))
    luck = np.random.default_rng(0).normal(0, 0.05, len(smiles))
    return table_of(smiles, [round(float(v), 4) for v in -0.3 * heavy_atoms(smiles) + luck])


def test_a_replay_finds_what_can_be_learned_and_chance_does_not(sized: Table) -> None:
    surrogate, size, chance = replay(sized, PLAN, seeds=6)
    assert surrogate.recall.low > chance.recall.high
    assert size.recall.low > chance.recall.high
    assert chance.recall.includes(PLAN.docked / len(sized.docked)) or chance.recall.value < 0.25
    assert surrogate.enrichment.value == pytest.approx(surrogate.recall.value * 300 / PLAN.docked)
    assert surrogate.chosen.value > 10.0, "no cap at ten"
    lines = told([surrogate, size, chance], sized, PLAN, 6)
    assert any(line.startswith("recall of the surrogate less that of size alone") for line in lines)


def test_a_replay_of_scores_that_mean_nothing_finds_nothing(sized: Table) -> None:
    smiles = [row.smiles for row in sized.docked]
    scores = np.random.default_rng(4).normal(-8.0, 1.0, len(smiles)).round(4).tolist()
    at_once = replace(PLAN, rounds=1, per_round=10)
    surrogate, _size, chance = replay(table_of(smiles, scores), at_once, seeds=6)
    assert surrogate.recall.value < 0.4
    assert surrogate.recall.low <= chance.recall.high


def test_a_replay_of_a_table_that_it_docks_completely_is_refused(sized: Table) -> None:
    with pytest.raises(DockingInputError, match="docks them all"):
        replay(sized, Plan(start=290), seeds=1)


def test_a_table_is_read_as_it_was_written(tmp_path: Path) -> None:
    library = [Entry(1, "CCO", "a, b"), Entry(2, "nonsense", "no", "does not parse"), Entry(3, "CCN", "c")]
    rows = rows_of(library, [Docked("CCO", -3.25), Docked("CCN", reason='no "pose" fits')])
    for name in ("t.csv", "t.csv.gz"):
        write_table(rows, ["made so"], tmp_path / name)
        table = read_table(tmp_path / name)
        assert table.made == ("made so",)
        assert [row.name for row in table.docked] == ["a, b"]
        assert table.rows[0] == rows[0]
        assert (table.rows[1].reason, math.isnan(table.rows[1].score)) == ('no "pose" fits', True)
        assert best_of_table(table) == {"CCO"}
    written = (tmp_path / "t.csv.gz").read_bytes()
    write_table(rows, ["made so"], tmp_path / "t.csv.gz")
    assert (tmp_path / "t.csv.gz").read_bytes() == written
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DockingInputError, match="its columns are other ones"):
        read_table(tmp_path / "t.csv")


def test_the_table_that_comes_with_the_package_tells_how_it_was_made() -> None:
    table = read_table(SHIPPED)
    assert len(table.rows) >= 2000
    assert len(best_of_table(table)) == 20
    assert all(row.score < 0 for row in table.docked)
    assert [row.heavy_atoms for row in table.rows] == heavy_atoms([row.smiles for row in table.rows]).tolist()
    made = "\n".join(table.made)
    for text in (
        "python -m docking complete --receptor tutorial",
        "vina 1.2",
        "seed 1",
        "sha256",
        "evaluations",
    ):
        assert text in made


def test_a_library_is_docked_completely_and_goes_on_where_it_was(
    main: Any, receptor: str, tmp_path: Path, capsys: Any
) -> None:
    ligands = tmp_path / "six.smi"
    ligands.write_text("".join(f"{'C' * n}N a{n}\n" for n in range(2, 8)))
    given = ["complete", "--receptor", receptor, "--ligands", str(ligands), *SMALL]
    assert main([*given, "--out", str(tmp_path / "a")]) == 0
    assert "WARNING: at the pocket: residues that the file does not have: A:41-101" in capsys.readouterr().err
    dockings = tmp_path / "a" / "dockings.jsonl"
    lines = dockings.read_text().splitlines(keepends=True)
    assert len(lines) == 6
    first = (tmp_path / "a" / "complete.csv.gz").read_bytes()
    dockings.write_text("".join(lines[:4]) + lines[4][:40])  # as a killed process leaves it
    assert main([*given, "--out", str(tmp_path / "a")]) == 0
    assert "4 dockings found" in capsys.readouterr().err
    again = read_table(tmp_path / "a" / "complete.csv.gz")
    (tmp_path / "first.csv.gz").write_bytes(first)
    assert again.rows == read_table(tmp_path / "first.csv.gz").rows
    made = f"python -m docking complete --receptor {receptor} --ligands {ligands}"
    assert any(made in line for line in again.made)
    assert any("evaluations 3000" in line for line in again.made)


def molecules(actives: list[float], decoys: list[float]) -> list[Molecule]:
    smiles = couple(pairs(len(actives) + len(decoys), seed=6))
    scores = [*actives, *decoys]
    return [
        Molecule(
            Entry(row, text, str(row)),
            row < len(actives),
            Docked(text, reason="lost") if math.isnan(score) else Docked(text, score),
        )
        for row, (text, score) in enumerate(zip(smiles, scores, strict=True))
    ]


def test_the_figures_are_those_of_the_kept_libraries() -> None:
    draw = np.random.default_rng(2)
    actives, decoys = draw.normal(-8.5, 1, 40), draw.normal(-7.5, 1, 160)
    auc, bedroc, early = measures(molecules(actives.tolist(), decoys.tolist()))
    labels = np.arange(200) < 40
    scores = np.concatenate([actives, decoys])
    order = [(bool(flag),) for flag in labels[np.argsort(scores)]]
    assert auc.docking.value == pytest.approx(roc_auc_score(labels, -scores))
    assert auc.docking.value == pytest.approx(CalcAUC(order, 0))
    assert bedroc.docking.value == pytest.approx(CalcBEDROC(order, 0, 20.0))
    assert auc.docking.low < auc.docking.value < auc.docking.high
    assert auc.reading == "better than chance and than size"
    assert auc.size.includes(0.5)
    assert early.name == "enrichment in the best 1 %"


def test_scores_without_meaning_are_said_to_be_chance() -> None:
    draw = np.random.default_rng(7)
    found = measures(molecules(draw.normal(size=30).tolist(), draw.normal(size=120).tolist()))
    assert "the interval includes chance" in str(found[0])
    assert chance_bedroc(0.2) == pytest.approx(
        np.mean(
            [
                CalcBEDROC([(bool(x),) for x in draw.permutation(np.arange(500) < 100)], 0, 20.0)
                for _ in range(200)
            ]
        ),
        abs=0.02,
    )


def test_what_did_not_dock_ranks_last_and_equal_ones_in_no_order() -> None:
    lost = molecules([-9.0] * 5, [math.nan] * 5 + [-8.0] * 5)
    assert [each.docked.ok for each in ranked(lost)] == [True] * 10 + [False] * 5
    assert measures(lost)[0].docking.value == 1.0
    equal = measures(molecules([-5.0] * 20, [-5.0] * 20))[0]
    assert equal.docking.value == pytest.approx(0.5, abs=0.1), "not by their order in the files"


def test_an_active_among_the_decoys_is_left_out() -> None:
    known = [Entry(row, f"{'C' * row}O") for row in range(1, 7)]
    others = [Entry(row, f"{'C' * row}N") for row in range(1, 7)]
    actives, decoys, both = together(known, [*others, known[0], Entry(9, "x", "", "does not parse")])
    assert (len(actives), len(decoys), both) == (6, 6, 1)
    with pytest.raises(DockingInputError, match="2 decoys can be docked"):
        together(known, others[:2])


def test_actives_and_decoys_from_a_shell(main: Any, receptor: str, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "a.smi").write_text("".join(f"{'C' * n}N a{n}\n" for n in range(2, 9)))
    (tmp_path / "d.smi").write_text("CCN same\n" + "".join(f"{'C' * n}O d{n}\n" for n in range(2, 9)))
    given = [
        "retrospective",
        str(tmp_path / "a.smi"),
        str(tmp_path / "d.smi"),
        "--receptor",
        receptor,
        *SMALL,
    ]
    assert main([*given, "--searches", "1", "--conformers", "0", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "7 actives and 7 decoys" in said.out
    assert "AUC:" in said.out
    assert "by size alone" in said.out
    assert "(unchecked: no known pose was redocked)" in said.out
    assert "1 decoys are left out" in said.err
    with (tmp_path / "out" / "retrospective.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["active"] for row in rows) == ["no"] * 7 + ["yes"] * 7


def told_of(pose: dict[str, Any]) -> str:
    return f"{pose['score']:.2f} kcal/mol, {pose['rmsd']:.2f} A from the known pose"


def test_redocking_from_a_shell(
    main: Any, receptor: str, known_file: Path, tmp_path: Path, capsys: Any
) -> None:
    place = ["--reference", str(known_file), "--out", str(tmp_path / "out")]
    brief = ["--evaluations", "3000", "--exhaustiveness", "1", "--searches", "3", "--workers", "1"]
    command = ["redock", "--receptor", receptor, *place, *brief]
    code = main(command)
    said = capsys.readouterr().out
    verdict = next(line for line in said.splitlines() if line.startswith("redocked known: "))
    assert code == int("NOT reproduced" in verdict), said
    poses = [mol.GetPropsAsDict() for mol in SDMolSupplier(str(tmp_path / "out" / "redocked.sdf"))]
    assert poses == sorted(poses, key=lambda pose: pose["score"])
    searches = dict(line.split(": ", 1) for line in said.splitlines() if line.startswith("search "))
    assert [*searches] == ["search 1", "search 2", "search 3"]
    assert {f"search {pose['search']}": told_of(pose) for pose in poses} == {
        name: told for name, told in searches.items() if "kcal/mol" in told
    }
    assert all(searches.values()), "one that found nothing has its reason"
    assert f"{poses[0]['score']:.2f} kcal/mol, RMSD {poses[0]['rmsd']:.2f} A" in verdict
    assert main(command) == code
    again = capsys.readouterr()
    assert "3 dockings found" in again.err, "what was searched is kept"
    assert again.out == said


def test_redocking_without_a_known_pose_says_what_lacks(
    main: Any, receptor: str, tmp_path: Path, capsys: Any
) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert (
        main(["redock", "--receptor", receptor, "--box", "2.8", "0.3", "10.6", "12", "12", "12", *out]) == 1
    )
    assert "give a ligand with a known pose as --reference" in capsys.readouterr().err
    bare = tmp_path / "bare.pdb"
    bare.write_text((tutorial_folder() / "lig.pdb").read_text())
    assert main(["redock", "--receptor", receptor, "--reference", str(bare), *out]) == 1
    assert "--reference-smiles" in capsys.readouterr().err
