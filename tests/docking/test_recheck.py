"""Claims computed again from the files of a screen: what is told untruly is found; on three receptors all is true."""

from __future__ import annotations

import json
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

import cellmill
from docking import outputs
from docking.commands import claims
from docking.ledger import DOCKINGS, open_ledger
from docking.ligand import canonical, pose_to_mol
from docking.receptor import load_complex, tutorial_folder
from docking.recheck import Files, contradictions
from docking.records import Docked, DockingInputError, DockSettings, Entry, Search
from docking.screen import Screen
from tests.docking.quick_screen import QuickDock

QNB = "OC(c1ccccc1)(c1ccccc1)C(=O)O[C@H]1C[NH+]2CCC1CC2"


class LuckyDock(QuickDock):
    """A score of which a part is neither size nor anything else."""

    def __call__(self, text: str, search: Search) -> Future[Docked]:
        call: Future[Docked] = Future()
        sized = super().__call__(text, search).result()
        call.set_result(Docked(text, round(sized.score + sum(text.encode()) % 97 / 50, 4)))
        return call


@pytest.fixture(scope="module")
def finished(
    library: list[Entry], small_target: Any, threads: Any, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    """The folder of a screen, and its summary."""
    cellmill.set_default_executor(threads)
    folder = tmp_path_factory.mktemp("finished")
    ledger = open_ledger(folder, small_target, DockSettings())
    screen = Screen(library, LuckyDock(), seed=4, ledger=ledger, overlap=2)
    screen.run(start=30, rounds=2, per_round=6, say=lambda _text: None)
    outputs.write_csv(screen, folder / "hits.csv")
    summary = folder / "summary.json"
    told = outputs.write_summary(screen, summary, redock_rmsd=None, warnings=(), tasks=0, seconds=0.0)
    ledger.close()
    return folder, told


def test_the_claims_of_a_screen_follow_from_its_files(
    finished: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, told = finished
    assert len(told["claims"]) > 8
    assert contradictions(Files.of(folder)) == []
    assert claims([str(folder)]) == 0
    assert "every claim is as it is told" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "change", "found"),
    [
        ("all rounds: rank correlation", {"value": 0.999, "high": 1.0}, "0.999, from the files"),
        ("size alone", {"value": -0.5, "low": -0.6}, "-0.5, from the files"),
        ("chosen less random: difference", {"low": -1.0, "high": 1.0}, "its interval says 'includes zero'"),
        ("surrogate less size alone: difference", {"low": 2.0, "high": 3.0}, "outside of its interval"),
        ("reaching the best", {"value": 0.0, "low": 0.0}, "0.0, from the files"),
    ],
)
def test_an_untrue_claim_is_found(
    finished: tuple[Path, dict[str, Any]], name: str, change: dict[str, float], found: str
) -> None:
    folder, told = finished
    changed = [one | change if one["claim"].startswith(name) else one for one in told["claims"]]
    assert changed != told["claims"]
    files = Files.of(folder)
    wrong = contradictions(Files(folder, told | {"claims": changed}, files.rows))
    assert any(text.startswith(name) and found in text for text in wrong), wrong


def test_a_folder_without_a_finished_screen_is_named(tmp_path: Path) -> None:
    with pytest.raises(DockingInputError, match="holds no finished screen"):
        claims([str(tmp_path)])


COMPLEXES = {
    "5-HT1B": ("tutorial", "", ""),
    "M2": ("water_m2.pdb", "QNB", QNB),
    "1S2G": ("implicitHbond/receptor.pdb", "implicitHbond/1.D.sdf", ""),
}
"""Receptors that come with ProLIF, with the known pose of a ligand in each: file, reference and its SMILES."""


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", COMPLEXES)
def test_on_three_receptors_every_claim_is_true(name: str, executor: Any, tmp_path: Path) -> None:
    from docking.__main__ import main

    data = tutorial_folder().parent
    receptor, reference, smiles = COMPLEXES[name]
    path = receptor if receptor == "tutorial" else str(data / receptor)
    known = str(data / reference) if reference.endswith(".sdf") else reference
    given = ["--receptor", path, *(["--reference", known] if known else [])]
    given += ["--reference-smiles", smiles] if smiles else []
    sizes = "--generate 300 --start 14 --rounds 2 --per-round 6 --searches 2 --evaluations 20000 --probes 0 --final 0"
    try:
        assert main([*given, *sizes.split(), "--same-size", "3", "--out", str(tmp_path)]) == 0
    finally:
        if (own := cellmill.default_executor()) is not executor:
            own.shutdown()
    files = Files.of(tmp_path)
    assert len(files.rows) > 20
    assert contradictions(files) == []
    _receptor, pose = load_complex(path, reference=known, smiles=smiles)
    scores = [json.loads(line) for line in (tmp_path / DOCKINGS).read_text().splitlines()]
    mine = [row for row in scores if canonical(row["smiles"]) == canonical(pose.smiles)]
    first = min((row for row in mine if row["search"]["number"] < 2), key=lambda row: row["score"])
    distance = _rmsd(first["pose"], pose.mol())
    assert files.summary["redock_rmsd"] == pytest.approx(distance, abs=0.006)
    near = [_rmsd(row["pose"], pose.mol()) <= 2.0 for row in mine]
    state = files.summary["redock"]
    assert (state == "failed") == (not any(near))
    assert state != "reproduced" or distance <= 2.0


def _rmsd(pose: str, known: Chem.Mol) -> float:
    """The lowest over all ways to lay the atoms of one molecule on those of the other, whatever the kinds of bonds."""
    docked, other = (_bare(Chem.RemoveHs(mol)) for mol in (pose_to_mol(pose), known))
    here, there = docked.GetConformer().GetPositions(), other.GetConformer().GetPositions()
    matches = docked.GetSubstructMatches(other, uniquify=False, maxMatches=100_000)
    return min(float(np.sqrt(((here[list(m)] - there) ** 2).sum(axis=1).mean())) for m in matches)


def _bare(mol: Chem.Mol) -> Chem.Mol:
    mol = Chem.RWMol(mol)
    for atom in mol.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetIsAromatic(False)
    for bond in mol.GetBonds():
        bond.SetBondType(Chem.BondType.SINGLE)
        bond.SetIsAromatic(False)
    return mol
