"""The reference ligand: read, told from what is none, and in its box."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem
from rdkit.Chem import AllChem
from rdkit.Geometry import Point3D

from docking.forms import forms_of
from docking.receptor import load_complex, tutorial_folder
from docking.records import Box, DockingInputError, DockSettings
from docking.reference import Reference, reference_ligand

PHENOL = "c1ccccc1O"


def phenol(shift: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Chem.Mol:
    """A conformer with hydrogens."""
    mol = Chem.AddHs(Chem.MolFromSmiles(PHENOL))
    AllChem.EmbedMolecule(mol, randomSeed=1)
    conformer = mol.GetConformer()
    for index in range(mol.GetNumAtoms()):
        position = conformer.GetAtomPosition(index)
        conformer.SetAtomPosition(index, Point3D(*(np.array(list(position)) + shift).tolist()))
    return mol


@pytest.fixture
def complex_file(pocket: list[str], tmp_path: Path) -> Path:
    """The pocket with its ligand as a molecule of the file, a copy of it far away, and a water."""
    ligand = [
        f"HETATM{line[6:17]}DHE A 900 {line[27:]}"
        for line in (tutorial_folder() / "lig.pdb").read_text().splitlines()
        if line.startswith(("ATOM", "HETATM"))
    ]
    copy = [f"{line[:21]}C{line[22:30]}{float(line[30:38]) + 90:8.3f}{line[38:]}" for line in ligand]
    water = "HETATM    1  O   HOH A 501       6.000   0.000  14.000  1.00 20.00           O"
    path = tmp_path / "complex.PDB"
    path.write_text("\n".join([*pocket, "TER", *ligand, *copy, water]) + "\n")
    return path


@pytest.fixture
def ligand_smiles(tutorial: Any) -> str:
    return str(tutorial[1].smiles)


def test_the_reference_ligand_keeps_its_bond_orders(tutorial: Any) -> None:
    _receptor, reference = tutorial
    assert sum(atom.GetIsAromatic() for atom in reference.mol().GetAtoms()) == 15
    assert "[N@@H+]" in reference.smiles
    assert forms_of(reference.smiles, DockSettings()).smiles == (reference.smiles,), "redocked as it is known"


def test_a_molecule_of_the_file_marks_the_pocket_and_is_not_kept(
    complex_file: Path, ligand_smiles: str, tutorial: Any
) -> None:
    for given in ("DHE", "dhe", "A:900", "DHE:A:900"):
        receptor, reference = load_complex(complex_file, reference=given, smiles=ligand_smiles)
        assert isinstance(reference, Reference)
        assert reference.smiles == ligand_smiles
        assert np.allclose(receptor.box.center, tutorial[0].box.center, atol=2.5)
        assert "DHE" not in receptor.pdbqt
        assert not [text for text in receptor.warnings if "DHE 900 A" in text and "left out" in text]
    assert any("the reference is DHE 900 A; there are other copies: DHE 900 C" in t for t in load_complex(
        complex_file, reference="DHE", smiles=ligand_smiles)[0].warnings)  # fmt: skip


def test_bonds_that_are_not_known_are_said_and_nothing_is_redocked(complex_file: Path) -> None:
    receptor, reference = load_complex(complex_file, reference="DHE")
    assert reference is None
    assert any("DHE 900 A are not known, so it is NOT redocked" in text for text in receptor.warnings)
    assert "WARNING: " in receptor.remarks()


def test_a_reference_may_check_a_box(complex_file: Path, ligand_smiles: str, tutorial: Any) -> None:
    box = tutorial[0].box
    receptor, reference = load_complex(complex_file, box=box, reference="A:900", smiles=ligand_smiles)
    assert receptor.box == box
    assert reference is not None
    small = Box(box.center, (9.0, 9.0, 9.0))
    receptor, _ = load_complex(complex_file, box=small, reference="A:900", smiles=ligand_smiles)
    assert any(
        "atoms of the reference DHE 900 A are outside of the box" in text for text in receptor.warnings
    )
    with pytest.raises(DockingInputError, match=r"is not in the box \(0 of its 43 atoms are\)"):
        load_complex(complex_file, box=Box((2.0, 20.0, 10.0), (9.0, 9.0, 9.0)), reference="A:900")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("HOH", "is water: it marks no pocket. Molecules beside the protein: DHE"),
        ("A:501", "is water"),
        ("TYR", "The reference TYR is part of the protein"),
        ("A:133", "is part of the protein"),
        ("XYZ", r"has no ligand called so \(it has: DHE\)"),
        ("gone.SDF", "No reference ligand file 'gone.SDF'"),
    ],
)
def test_what_is_no_ligand_is_refused(complex_file: Path, given: str, message: str) -> None:
    with pytest.raises(DockingInputError, match=message):
        load_complex(complex_file, reference=given)


def test_a_reference_that_is_the_protein_or_elsewhere_is_refused(complex_file: Path, tmp_path: Path) -> None:
    with pytest.raises(DockingInputError, match="heavy atoms: give the ligand, not the protein"):
        load_complex(complex_file, reference=complex_file)
    part = tmp_path / "part.pdb"
    lines = [line for line in complex_file.read_text().splitlines() if line[17:26] == "PHE B 330"]
    part.write_text("\n".join(lines) + "\n")
    with pytest.raises(DockingInputError, match="lies on the protein's own atoms"):
        load_complex(complex_file, reference=part)
    away = tmp_path / "away.sdf"
    away.write_text(Chem.MolToMolBlock(phenol((99.0, 0.0, 0.0))) + "$$$$\n")
    with pytest.raises(
        DockingInputError, match="from the nearest atom of the protein: it has other coordinates"
    ):
        load_complex(complex_file, reference=away)
    flat = tmp_path / "flat.sdf"
    flat.write_text(Chem.MolToMolBlock(Chem.MolFromSmiles(PHENOL)) + "$$$$\n")
    with pytest.raises(DockingInputError, match="no coordinates in three dimensions"):
        load_complex(complex_file, reference=flat)


def test_a_smiles_without_a_reference_is_refused(complex_file: Path, tutorial: Any) -> None:
    with pytest.raises(DockingInputError, match="A reference SMILES is given without a reference"):
        load_complex(complex_file, box=tutorial[0].box, smiles="CCO")


def test_every_kind_of_file_is_read_whatever_the_case(tmp_path: Path) -> None:
    block = Chem.MolToMolBlock(phenol())
    for name, text in (("a.SDF", block + "$$$$\n" + block + "$$$$\n"), ("a.mol", block), ("a.sdf.gz", block)):
        data = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        read = reference_ligand(tmp_path / name)
        assert (read.name, read.smiles) == ("a", "Oc1ccccc1")


def test_a_pdb_ligand_needs_its_smiles(tmp_path: Path) -> None:
    path = tmp_path / "ligand.PDB"
    Chem.MolToPDBFile(phenol(), str(path))
    with pytest.raises(DockingInputError, match="no bond orders"):
        reference_ligand(path)
    assert reference_ligand(path, smiles=PHENOL).smiles == "Oc1ccccc1"
    with pytest.raises(
        DockingInputError, match=r"does not match its SMILES.*7 heavy atoms in the file, 10 in the"
    ):
        reference_ligand(path, smiles="CCCCCCCCCC")
    with pytest.raises(DockingInputError, match="does not parse: C1CC"):
        reference_ligand(path, smiles="C1CC")


@pytest.mark.parametrize(
    ("name", "text"), [("a.sdf", "nonsense\n"), ("a.xyz", "1\n"), ("a.pdb", ""), ("a.sdf", "")]
)
def test_an_unreadable_reference_ligand_is_refused(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DockingInputError, match=r"No molecule|Cannot read"):
        reference_ligand(tmp_path / name)
