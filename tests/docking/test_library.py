"""The generated library and the user's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import Crippen, Descriptors

from docking.blocks import acids, amines
from docking.library import MAX_LOGP, MAX_WEIGHT, couple, drug_like_pairs, generate, pairs, read_library
from docking.records import DockingInputError

AMIDE = Chem.MolFromSmarts("C(=O)N")


def test_the_building_blocks_suffice_for_a_hundred_thousand_molecules() -> None:
    assert len(acids()) > 500
    assert len(amines()) > 400
    assert len(set(acids())) == len(acids())
    assert len(drug_like_pairs()) > 200_000


def test_products_are_drug_like_amides() -> None:
    mols = [Chem.MolFromSmiles(smiles) for smiles in couple(pairs(200, seed=3))]
    assert all(mol.HasSubstructMatch(AMIDE) for mol in mols)
    assert max(Descriptors.MolWt(mol) for mol in mols) <= MAX_WEIGHT + 0.1
    assert max(Crippen.MolLogP(mol) for mol in mols) <= MAX_LOGP + 0.3


def test_generation_is_deterministic_unique_and_nested(executor: Any) -> None:
    first = generate(300, seed=5)
    assert first == generate(300, seed=5)
    assert len({entry.smiles for entry in first}) == 300
    assert [entry.row for entry in first] == list(range(1, 301))
    assert {entry.smiles for entry in generate(300, seed=6)} != {entry.smiles for entry in first}


@pytest.mark.parametrize("count", [0, -1, 10_000_000])
def test_an_impossible_library_size_is_refused(count: int) -> None:
    with pytest.raises(DockingInputError, match="holds 1 to"):
        generate(count)


def test_a_smiles_file_keeps_bad_rows_with_their_reason(executor: Any, tmp_path: Path) -> None:
    path = tmp_path / "library.smi"
    path.write_text("# comment\nOCC ethanol\nnonsense bad one\n\nCCO again\n[Na+].[Cl-] salt\nc1ccccc1\n")
    rows = read_library(path)
    assert [(row.row, row.smiles, row.name, row.reason) for row in rows] == [
        (2, "CCO", "ethanol", ""),
        (3, "nonsense", "bad one", "SMILES does not parse"),
        (5, "CCO", "again", "same molecule as row 2"),
        (6, "[Na+].[Cl-]", "salt", "salt or mixture: 2 fragments"),
        (7, "c1ccccc1", "row-7", ""),
    ]


def test_a_table_finds_its_smiles_and_name_columns(executor: Any, tmp_path: Path) -> None:
    path = tmp_path / "library.csv"
    path.write_text('\ufeffID,Canonical_SMILES,note\nA1,CCO,"x, y"\nA2,,\nA3\n', encoding="utf-8")
    rows = read_library(path)
    assert [(row.row, row.smiles, row.name, row.reason) for row in rows] == [
        (2, "CCO", "A1", ""),
        (3, "", "A2", "empty SMILES"),
        (4, "", "A3", "empty SMILES"),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"name,mass\nx,1\n", "no 'smiles' column .it has: name, mass"),
        ("a.smi", b"", "has no rows"),
        ("a.sdf", b"x", "known endings"),
        ("a.smi", b"\xff\xfe\x00\x01", "Cannot read"),
    ],
)
def test_an_unusable_ligand_file_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DockingInputError, match=message):
        read_library(path)


def test_a_missing_ligand_file_is_named() -> None:
    with pytest.raises(DockingInputError, match=r"No ligand file 'missing.smi'"):
        read_library("missing.smi")
