"""Molecules: prepared in memory, reproducibly, or refused with a reason; the forms in which each is docked."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from rdkit import Chem

from docking.domain import examine
from docking.forms import forms_of, isomers, protonated, tautomers
from docking.ligand import LigandError, embed, parse, pose_to_mol, prepare, to_pdbqt
from docking.records import DockSettings

AT_ONCE = """
import threading
from docking.forms import forms_of
from docking.records import DockSettings
gate, found = threading.Barrier(4), []
def first():
    gate.wait()
    found.extend(forms_of("CN", DockSettings()).smiles)
threads = [threading.Thread(target=first) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*found)
"""


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("", "empty SMILES"),
        ("not-a-molecule", "does not parse"),
        ("C1CC", "does not parse"),
        ("CCO>>CC=O", "a reaction, not a molecule"),
        ("C" * 5000, "SMILES of 5,000 characters"),
        ("CC(C)(C)(C)C", "an impossible valence at C .atom 2"),
        ("c1cccc1", "aromatic rings that have no Kekule form"),
        ("c1ccccc", "does not parse"),
        ("Ccc", "an aromatic atom outside of a ring"),
        ("InChI=1S/nonsense", "does not parse"),
        ("[Na+].[Cl-]", "no carbon: not an organic molecule"),
        ("O", "no carbon"),
        ("C(" + "C" * 50 + ")" + "C(C)" * 60, "too large: 171 heavy atoms"),
        ("C" * 40, "too flexible: 37 rotatable bonds"),
        ("[H][H]", "no heavy atoms"),
        ("*c1ccccc1", "an open attachment point"),
        ("OB(O)c1ccccc1", "element B: Vina has no parameters"),
        ("[Fe+2].[O-]C(=O)C[Se]C", "element Se"),
        ("[CH2]c1ccccc1", "a radical: 1 unpaired electron"),
        ("CC1(C)CCCC(C)(C)N1[O]", "a radical"),
    ],
)
def test_a_molecule_that_cannot_be_used_has_a_reason(smiles: str, reason: str) -> None:
    with pytest.raises(LigandError, match=reason):
        examine(smiles)


@pytest.mark.parametrize(
    ("smiles", "expected", "note"),
    [
        ("CC(=O)[O-].[Na+]", "CC(=O)[O-]", "salt or solvent stripped: [Na+]"),
        ("Cl.CCN(CC)CC.O", "CCN(CC)CC", "salt or solvent stripped: Cl.O"),
        ("CCCCCO.CCCCN", "CCCCCO", "largest of a mixture, without: CCCCN"),
        ("CCO.CCO", "CCO", "one of 2 equal molecules"),
        ("[2H]C([2H])([2H])c1ccccc1", "Cc1ccccc1", "isotopes ignored"),
        ("[CH3:1][OH:2]", "CO", ""),
        (" InChI=1S/C2H6O/c1-2-3/h3H,2H2,1H3 ", "CCO", ""),
        ("F[C@H](Cl)/C=C/C", "C/C=C/[C@H](F)Cl", ""),
    ],
)
def test_what_is_docked_of_a_row_and_what_was_changed(smiles: str, expected: str, note: str) -> None:
    found = examine(smiles)
    assert Chem.CanonSmiles(found.smiles) == Chem.CanonSmiles(expected)
    assert found.note == note


@pytest.mark.parametrize(
    ("smiles", "caution"),
    [
        ("CCO", "small: 3 heavy atoms"),
        ("C" * 20 + "O", "flexible: 18 rotatable bonds"),
        ("O=C(NC1CC1)" * 8 + "C1CCCCC1", "large: "),
        ("c1cc2ccc3ccc4ccc5ccc6ccc1c1c2c3c4c5c61", "greasy: 24 heavy atoms without N, O, P or S"),
        ("CC(=O)Nc1ccc(O)cc1", ""),
    ],
)
def test_molecules_whose_scores_say_little_are_marked(smiles: str, caution: str) -> None:
    if caution.startswith("large"):
        smiles = "c1ccc(-c2ccccc2)cc1" + "C(=O)Nc1ccc(-c2ccccc2)cc1" * 3
    found = examine(smiles).caution
    assert found.startswith(caution)
    assert bool(found) is bool(caution)


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CC(=O)O", "CC(=O)[O-]"),
        ("CCN", "CC[NH3+]"),
        ("NCC(=O)O", "[NH3+]CC(=O)[O-]"),
        ("Nc1ccccc1", "Nc1ccccc1"),
        ("CC(=O)Nc1ccccc1", "CC(=O)Nc1ccccc1"),
        ("Oc1ccccc1", "Oc1ccccc1"),
        ("c1ccncc1", "c1ccncc1"),
        ("CNC(N)=N", "CNC(N)=[NH2+]"),
        ("Cc1nnn[nH]1", "Cc1nnn[n-]1"),
        ("CN1CCN(Cc2ccccc2)CC1", "C[NH+]1CCN(Cc2ccccc2)CC1"),
        ("C[C@H](N)/C=C/C(=O)O", "C[C@H]([NH3+])/C=C/C(=O)[O-]"),
        ("CC(=O)[O-]", "CC(=O)[O-]"),
        ("C[N+](C)(C)C", "C[N+](C)(C)C"),
        ("C[N@@H+]1CCC[C@@H]1CO", "C[N@@H+]1CCC[C@@H]1CO"),
    ],
)
def test_molecules_are_protonated_as_in_water(smiles: str, expected: str) -> None:
    assert protonated(smiles, 7.4) == Chem.CanonSmiles(expected)


def test_the_ph_counts_and_a_switch_leaves_charges_as_they_are() -> None:
    assert protonated("CC(=O)O", 2.0) == "CC(=O)O"
    assert forms_of("NCC(=O)O", DockSettings(ph=None)).smiles == ("NCC(=O)O",)


def test_threads_that_protonate_first_at_the_same_moment_find_the_same_form() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["C[NH3+]"] * 4


@pytest.mark.parametrize(
    ("smiles", "others"),
    [
        ("Oc1ccccn1", ["O=c1cccc[nH]1"]),
        ("O=c1cccc[nH]1", []),
        ("CC(=O)CC(C)=O", []),
        ("Cc1ccc2nc(C)[nH]c2c1", ["Cc1ccc2[nH]c(C)nc2c1"]),
        ("CNC(=O)[C@H]1CC[C@@H](C(F)(F)F)CC1", []),  # an enol would lose the stereo
        ("CNC(=O)c1ccccc1", []),
        ("O=c1[nH]cnc2[nH]cnc12", ["O=c1[nH]cnc2nc[nH]c12"]),  # the first of three
    ],
)
def test_tautomers_that_are_rated_as_high_are_docked_beside_the_one_given(
    smiles: str, others: list[str]
) -> None:
    given = Chem.CanonSmiles(smiles)
    assert tautomers(given, 2) == [given, *map(Chem.CanonSmiles, others)]
    assert tautomers(given, 1) == [given]
    forms = forms_of(smiles, DockSettings(ph=None))
    assert (list(forms.smiles), sorted(forms.moved)) == (tautomers(given, 2), others)
    if others:
        assert forms.note(2, others[0]) == "best of 2 tautomers; docked as another tautomer than given"
        assert forms.note(2, given) == "best of 2 tautomers"


def test_a_tautomer_that_a_charge_makes_the_same_is_docked_once() -> None:
    forms = forms_of("NC(N)=NCCC", DockSettings())
    assert len(forms.smiles) == 1
    assert forms.note(1, forms.smiles[0]) == ""


def test_open_stereo_is_enumerated_up_to_a_bound() -> None:
    two = forms_of("CC(O)c1ccccc1", DockSettings())
    assert sorted(two.smiles) == ["C[C@@H](O)c1ccccc1", "C[C@H](O)c1ccccc1"]
    assert (two.note(2), two.note(1)) == ("best of 2 stereoisomers", "")
    assert forms_of("C[C@H](O)c1ccccc1", DockSettings()).note(1) == ""
    many = forms_of("CC(O)C(O)C(O)C(O)C(O)C", DockSettings(isomers=4))
    assert (len(many.smiles), many.note(4)) == (4, "best of 4 of 32 stereoisomers")
    assert many == forms_of("CC(O)C(O)C(O)C(O)C(O)C", DockSettings(isomers=4)), "the same each time"
    assert forms_of("CC(O)c1ccccc1", DockSettings(isomers=0)).smiles == ("CC(O)c1ccccc1",)
    assert isomers(Chem.MolFromSmiles("OC(=O)C(O)C(O)C(=O)O"), 8)[1] == 3, "a meso form is one"
    assert len(isomers(Chem.MolFromSmiles("FC=CCl"), 8)[0]) == 2


def test_of_a_cage_only_isomers_that_can_exist_are_docked() -> None:
    found, total = isomers(parse("CC(F)C(=O)NC12CC3CC(CC(C3)C1)C2"), 4)
    assert (len(found), total) == (2, 32)
    for smiles in found:
        assert embed(parse(smiles), 7).GetConformer().Is3D()
    assert len(isomers(parse("CC1(C)C2CCC1(C)C(O)C2"), 4)[0]) == 4, "each of borneol's"


def test_too_many_torsions_are_refused() -> None:
    with pytest.raises(LigandError, match="too flexible"):
        prepare("CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC", seed=1)


def test_the_same_seed_gives_the_same_conformer() -> None:
    smiles = "O=C(NCc1ccccc1)c1ccncc1"
    assert prepare(smiles, seed=7) == prepare(smiles, seed=7)
    assert prepare(smiles, seed=7) != prepare(smiles, seed=8)


def test_hydrogens_are_added_and_polar_ones_reach_the_pdbqt() -> None:
    mol = embed(parse("Oc1ccccc1"), seed=1)
    assert mol.GetNumAtoms() == 13
    text = to_pdbqt(mol)
    assert text.count("ATOM") == 8
    assert sum(line.split()[-1] == "HD" for line in text.splitlines() if line.startswith("ATOM")) == 1


def test_a_macrocycle_is_opened_for_vina_and_closed_again() -> None:
    smiles = "O=C1CCCCCCCCCCCCCCO1"
    text = prepare(smiles, seed=1)
    assert " CG0" in text
    assert text.count("ENDBRANCH") > 10, "its ring turns"
    assert Chem.MolToSmiles(Chem.RemoveHs(pose_to_mol(text))) == Chem.CanonSmiles(smiles)


def test_an_element_without_a_force_field_is_a_reason_not_a_crash() -> None:
    with pytest.raises(LigandError):
        prepare("[U]", seed=1)
