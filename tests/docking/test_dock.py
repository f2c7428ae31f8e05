"""The engine on real Vina: repeatable, clean after failures, and honest about poses that do not fit."""

from __future__ import annotations

import ast
import math
from typing import Any

import nbformat
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem

import cellmill
from docking.demo import NOTEBOOK
from docking.dock import Engine, docking_task, gather
from docking.ligand import pose_to_mol
from docking.receptor import load_complex, with_box
from docking.records import Box, Docked, DockingInputError, DockSettings, Search
from docking.redock import judge, pose_rmsd, redock
from docking.searches import best_of
from tests.docking.test_report import _moved

SMALL = "Cc1ccc(CN)cc1"
BRIEF = DockSettings(spacing=0.6, evaluations=60_000)  # where a whole search of half a second shows no more


def test_docking_gives_a_score_and_a_pose_in_the_box(engine: Engine, small_target: Any) -> None:
    docked = engine.dock(SMALL)
    assert docked.ok
    assert -8.0 < docked.score < -2.0
    assert docked.score == round(docked.score, 4)
    positions = pose_to_mol(docked.pose).GetConformer().GetPositions()
    assert small_target.box.contains(positions, margin=2.0).all()


def test_a_score_does_not_depend_on_what_was_docked_before(engine: Engine) -> None:
    first = engine.dock(SMALL)
    engine.dock("c1ccc2ccccc2c1")
    again = engine.dock(SMALL)
    assert (again.score, again.pose) == (first.score, first.pose)


def test_a_search_is_the_same_however_the_molecule_is_written(engine: Engine) -> None:
    first = engine.dock(SMALL, Search(1))
    again = engine.dock("NCc1ccc(C)cc1", Search(1))
    assert (again.score, again.pose) == (first.score, first.pose)
    assert engine.dock(SMALL, Search(2)).pose != first.pose, "another search begins elsewhere"


def test_a_search_keeps_as_many_poses_as_asked_for(engine: Engine) -> None:
    docked = engine.dock(SMALL, Search(0, exhaustiveness=2, poses=3))
    scores = [score for score, _pose in docked.poses]
    assert len(scores) == 3
    assert scores == sorted(scores)
    assert docked.poses[0] == (docked.score, docked.pose)
    assert all(pose_to_mol(pose).GetConformer().Is3D() for _score, pose in docked.poses)


def test_the_engine_survives_molecules_vina_refuses(engine: Engine) -> None:
    expected = engine.dock(SMALL).score
    boron = engine.dock("OB(O)c1ccccc1")
    assert not boron.ok
    assert "B" in boron.reason
    assert math.isnan(boron.score)
    assert engine.dock(SMALL).score == expected


def test_the_best_isomer_is_kept_in_its_protonated_form(engine: Engine) -> None:
    smiles = "CC(N)c1ccccc1"
    docked = engine.dock(smiles)
    each = {form: engine.dock(form) for form in ("C[C@H](N)c1ccccc1", "C[C@@H](N)c1ccccc1")}
    assert docked.smiles == smiles
    assert docked.note == "best of 2 stereoisomers"
    best = min(each, key=lambda form: each[form].score)
    assert docked.score == each[best].score
    assert docked.form == each[best].form == Chem.CanonSmiles(best.replace("(N)", "([NH3+])"))
    posed = Chem.RemoveHs(pose_to_mol(docked.pose))
    Chem.AssignStereochemistryFrom3D(posed)
    assert Chem.MolToSmiles(posed) == docked.form, "the pose is of the form that is told"


def test_a_box_too_small_for_the_ligand_is_a_reason(small_target: Any) -> None:
    coronene = "c1cc2ccc3ccc4ccc5ccc6ccc1c1c2c3c4c5c61"
    tight = Engine(with_box(small_target, Box((2.8, 0.3, 10.6), (3.0, 3.0, 3.0))), BRIEF)
    docked = tight.dock(coronene)
    assert docked.reason.startswith("no pose fits the box")
    assert docked.pose == ""


def test_failed_tasks_become_rows_in_their_places() -> None:
    good = Docked("C", -1.0, "pose")
    rows = gather(["C", "CC"], iter([good, RuntimeError("worker lost\nmore")]))
    assert rows[0] is good
    assert rows[1].smiles == "CC"
    assert rows[1].reason == "RuntimeError: worker lost"


def test_the_reference_pose_itself_has_an_rmsd_of_zero(tutorial: Any) -> None:
    from docking.ligand import to_pdbqt

    _receptor, reference = tutorial
    text = to_pdbqt(Chem.AddHs(reference.mol(), addCoords=True))
    assert pose_rmsd(text, reference) == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize(
    "smiles", ["NC(=N)c1ccccc1", "OC(=O)c1ccccc1", "NCCC(=O)O", "c1ccncc1CN", "NC(N)=NCC"]
)
def test_the_form_that_docks_has_an_rmsd_to_the_form_that_is_known(smiles: str) -> None:
    from docking.forms import protonated
    from docking.ligand import to_pdbqt
    from docking.reference import Reference

    form = Chem.AddHs(Chem.MolFromSmiles(protonated(smiles, 7.4)))
    AllChem.EmbedMolecule(form, randomSeed=1)
    known = Chem.MolFromSmiles(smiles)
    template = AllChem.AssignBondOrdersFromTemplate(known, _neutral(Chem.RemoveHs(form)))
    reference = Reference("known", Chem.MolToSmiles(template), Chem.MolToMolBlock(template))
    assert pose_rmsd(to_pdbqt(form), reference) == pytest.approx(0.0, abs=0.01)


def _neutral(mol: Chem.Mol) -> Chem.Mol:
    """The heavy atoms and single bonds of a molecule, as a PDB file has them."""
    return Chem.MolFromPDBBlock(Chem.MolToPDBBlock(mol))


def test_redocking_keeps_the_best_energy_and_counts_failures(tutorial: Any, engine: Engine) -> None:
    from docking.ligand import to_pdbqt

    _receptor, reference = tutorial
    pose = to_pdbqt(Chem.AddHs(reference.mol(), addCoords=True))
    rows = [Docked("x", -9.0, pose), Docked("x", reason="no conformer"), Docked("x", -11.0, pose)]
    result = judge(rows, reference)
    assert result.best == 2
    assert result.success
    assert math.isnan(result.rmsds[1])
    first = judge(rows, reference, searches=1)
    assert (first.best, first.share) == (0, 1.0)
    far = [Docked("x", -9.0, _moved(pose)), Docked("x", -11.0, pose)]
    failed = judge(far, reference, searches=1)
    assert (failed.success, failed.share) == (False, 0.5)
    assert "50 % of the draws of 1 out of 2 searches reproduce it, and the best of all does (RMSD 0.0" in str(
        failed
    )
    seldom = failed.verdict("known")
    assert (seldom.state, seldom.doubt) == ("seldom", "unsure: the known pose is found in 50 % of the checks")
    lucky = judge(
        [Docked("x", -9.0, pose), *[Docked("x", -8.0 + n, _moved(pose)) for n in range(3)]], reference, 1
    )
    assert (lucky.success, lucky.share, lucky.state) == (True, 0.25, "seldom")
    nowhere = judge([Docked("x", -9.0, _moved(pose))], reference).verdict("known")
    assert (nowhere.state, nowhere.doubt) == ("failed", "distrust: the known pose was NOT found again")
    with pytest.raises(DockingInputError, match="did not dock: no conformer"):
        judge(rows[1:2], reference)


def test_docking_tasks_run_in_workers(worker: Any, small_target: Any) -> None:
    cellmill.set_default_executor(worker)
    dock = docking_task(small_target, BRIEF)
    smiles = [SMALL, "nonsense", "c1ccccc1O"]
    rows = gather(smiles, dock.map(smiles, return_exceptions=True))
    assert [row.smiles for row in rows] == smiles
    assert rows[0].ok
    assert rows[2].ok
    assert rows[1].reason == "SMILES does not parse"
    local = Engine(small_target, BRIEF)
    assert [local.dock(text).score for text in (SMALL, "c1ccccc1O")] == [rows[0].score, rows[2].score]


def test_redocking_is_the_protocol_of_the_screen(executor: Any, small_target: Any) -> None:
    from docking.reference import Reference

    mol = Chem.MolFromSmiles(SMALL)
    AllChem.EmbedMolecule(mol, randomSeed=1)
    reference = Reference("small", SMALL, Chem.MolToMolBlock(mol))
    dock = docking_task(small_target, BRIEF)
    result = redock(dock, reference, searches=2, at_least=4)
    assert (len(result.dockings), result.searches) == (4, 2)
    (as_in_the_screen,) = best_of(dock, [SMALL], [Search(0), Search(1)])
    assert (result.pose.score, result.pose.pose) == (as_in_the_screen.score, as_in_the_screen.pose)
    assert 0.0 <= result.share <= 1.0


def notebook_defaults() -> dict[str, Any]:
    """The parameters of the docking notebook as they are without the environment's."""
    (cell,) = [cell for cell in nbformat.read(NOTEBOOK, as_version=4).cells if "def setting(" in cell.source]
    calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
    named = [call.args for call in calls if isinstance(call.func, ast.Name) and call.func.id == "setting"]
    return {ast.literal_eval(name): ast.literal_eval(value) for name, value in named}


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_notebook_finds_the_pose_of_its_own_reference(seed: int) -> None:
    given = notebook_defaults()
    receptor, reference = load_complex(given["RECEPTOR"])
    assert reference is not None
    settings = DockSettings(
        given["EXHAUSTIVENESS"], given["SEED"] + 41 + seed, evaluations=given["EVALUATIONS"]
    )
    engine = Engine(receptor, settings)
    rows = [engine.dock(reference.smiles, Search(number)) for number in range(given["CONFORMERS"])]
    found = judge(rows, reference, given["SEARCHES"])
    assert found.state == "reproduced", str(found)
