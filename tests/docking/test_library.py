"""The generated library and the user's own files."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from rdkit import Chem
from rdkit.Chem import AllChem, Crippen, Descriptors
from rdkit.Chem.rdMolDescriptors import CalcNumBridgeheadAtoms

import cellmill
from docking.blocks import acids, amines
from docking.library import MAX_LOGP, MAX_WEIGHT, couple, drug_like_pairs, generate, pairs, read_library
from docking.ligand import embed
from docking.records import DockingInputError

AMIDE = Chem.MolFromSmarts("C(=O)N")


def test_the_building_blocks_suffice_for_a_hundred_thousand_molecules() -> None:
    assert len(acids()) > 500
    assert len(amines()) > 400
    assert len(set(acids())) == len(acids())
    assert len(drug_like_pairs()) > 200_000


def test_blocks_that_are_cages_have_a_conformer() -> None:
    cages = [text for text in (*acids(), *amines()) if CalcNumBridgeheadAtoms(Chem.MolFromSmiles(text)) > 2]
    assert len(cages) == 2
    for smiles in cages:
        embed(Chem.MolFromSmiles(smiles), 1)


def test_products_are_drug_like_amides() -> None:
    mols = [Chem.MolFromSmiles(smiles) for smiles in couple(pairs(200, seed=3))]
    assert all(mol.HasSubstructMatch(AMIDE) for mol in mols)
    assert all(
        "?" not in {mark for _, mark in Chem.FindMolChiralCenters(mol, includeUnassigned=True)}
        for mol in mols
    )
    assert max(Descriptors.MolWt(mol) for mol in mols) <= MAX_WEIGHT + 0.1
    assert max(Crippen.MolLogP(mol) for mol in mols) <= MAX_LOGP + 0.3


def test_generation_is_deterministic_unique_and_nested(worker: Any) -> None:
    first = generate(300, seed=5)
    cellmill.set_default_executor(worker)
    assert first == generate(300, seed=5), "in another process"
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
        (6, "[Na+].[Cl-]", "salt", "no carbon: not an organic molecule"),
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
        ("a.xls", b"x", "known endings"),
        ("a.smi", b"C\x00\x01\xff", "Cannot read"),
        ("a.csv", b"PK\x03\x04rest", "Export it as CSV"),
        ("a.smi.gz", b"\x1f\x8brest", "Cannot read"),
        ("a.sdf", b"\n\n", "has no rows"),
        ("a.csv", b"smiles,name\nCCO," + b"n" * 200_000, "is not a table: field larger than"),
    ],
)
def test_an_unusable_ligand_file_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DockingInputError, match=message):
        read_library(path)


def rows_of(path: Path, said: list[str] | None = None) -> list[tuple[int, str, str, str]]:
    rows = read_library(path, (said if said is not None else []).append)
    return [(row.row, row.smiles, row.name, row.reason) for row in rows]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "SMILES,Name\nCCO,ethanol\nCCN,ethylamine\n"),
        ("a.CSV", "name;SMILES;mass\nethanol;CCO;46,07\nethylamine;CCN;45,08\n"),
        ("a.csv", "name\tsmiles\nethanol\tCCO\nethylamine\tCCN\n"),
        ("a.tsv", "smiles\tcompound_id\nCCO\tethanol\nCCN\tethylamine\n"),
        ("a.csv", 'id,"canonical smiles"\n"ethanol","CCO"\n"ethylamine","CCN"\n'),
        ("a.csv", "structure,label\nCCO,ethanol\nCCN,ethylamine\n"),
        ("a.txt", "smiles name\nCCO ethanol\nCCN ethylamine\n"),
        ("a.smi", "SMILES\nCCO\tethanol\nCCN\tethylamine\n"),
        ("a.SMI", "\nethanol CCO\nethylamine CCN\n"),
        ("a.smi", "\nCCO,ethanol\nCCN,ethylamine\n"),
        ("a.smi", "\nCCO |c:1| ethanol\r\nCCN |lp:1| ethylamine\r\n"),
    ],
)
def test_separators_columns_and_headers_are_found(
    executor: Any, tmp_path: Path, name: str, content: str
) -> None:
    path = tmp_path / name
    path.write_text(content, newline="")
    first, second = "ethanol", "ethylamine"
    if "structure" in content:  # a title that names nothing leaves the rows without names
        first, second = "row-2", "row-3"
    assert rows_of(path) == [(2, "CCO", first, ""), (3, "CCN", second, "")]


def test_a_long_line_of_a_smiles_file_is_a_row(executor: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text(f"CCO {'n' * 200_000}\n{'C' * 200_000} b\n")
    (_, smiles, name, reason), (*_, too_long) = rows_of(path)
    assert (smiles, len(name), reason) == ("CCO", 200_000, "")
    assert "200,000 characters" in too_long


def test_encodings_and_packed_files_are_read(executor: Any, tmp_path: Path) -> None:
    text = "SMILES,Name\nCCO,éthanol\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        for name, pack in (("a.csv", bytes), ("a.csv.gz", gzip.compress)):
            said: list[str] = []
            (tmp_path / name).write_bytes(pack(text.encode(encoding)))
            assert rows_of(tmp_path / name, said) == [(2, "CCO", "éthanol", "")], encoding
            assert any("Windows-1252" in line for line in said) is (encoding == "cp1252")


def test_of_several_columns_the_one_with_stereo_is_read(executor: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("SMILES,isomeric_smiles,id\nCC(O)CCl,C[C@H](O)CCl,a\nCCCO,CCCO,b\n")
    said: list[str] = []
    assert rows_of(path, said)[0][1] == "C[C@H](O)CCl"
    assert any("2 columns of SMILES: 'isomeric_smiles' is used" in line for line in said)


def test_an_sd_file_gives_its_molecules_with_their_stereo(executor: Any, tmp_path: Path) -> None:
    solid = Chem.AddHs(Chem.MolFromSmiles("C[C@H](O)c1ccccc1"))
    AllChem.EmbedMolecule(solid, randomSeed=1)
    flat = Chem.MolFromSmiles("C[C@@H](N)c1ccccc1")
    AllChem.Compute2DCoords(flat)
    Chem.WedgeMolBonds(flat, flat.GetConformer())
    blocks = [
        "first" + Chem.MolToMolBlock(solid),
        Chem.MolToMolBlock(flat) + "> <Compound_ID>\nsecond\n\n",
        "broken\nno counts\n\nM  END\n",
        Chem.MolToMolBlock(Chem.MolFromSmiles("CC(=O)[O-].[Na+]")),
    ]
    path = tmp_path / "a.SDF.gz"
    path.write_bytes(gzip.compress("$$$$\n".join([*blocks, ""]).replace("\n", "\r\n").encode()))
    rows = read_library(path)
    assert [(row.row, row.smiles, row.name, row.reason) for row in rows] == [
        (1, "C[C@H](O)c1ccccc1", "first", ""),
        (2, "C[C@@H](N)c1ccccc1", "second", ""),
        (3, "", "broken", "SD record cannot be read"),
        (4, "CC(=O)[O-]", "row-4", ""),
    ]
    assert rows[3].note == "salt or solvent stripped: [Na+]"


def test_what_became_of_the_rows_is_summed_up(executor: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.smi"
    path.write_text("c1ccccc1CCO a\nc1ccccc1CCO.Cl b\nc1ccccc1CCN.Cl c\nnonsense d\nCCO e\n")
    said: list[str] = []
    read_library(path, said.append)
    assert said == [
        "3 molecules to screen, 2 rows rejected with a reason",
        "rejected: 1 same molecule as an earlier row, 1 SMILES does not parse",
        "changed: 1 salt or solvent stripped",
        "ranked last: 1 small",
    ]


def test_a_missing_ligand_file_is_named() -> None:
    with pytest.raises(DockingInputError, match=r"No ligand file 'missing.smi'"):
        read_library("missing.smi")
