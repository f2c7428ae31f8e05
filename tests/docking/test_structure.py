"""Protein files: what is kept, renamed and rewritten."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from docking.records import DockingInputError
from docking.structure import aligned, clean_structure, ligand_block, read_structure

OLD = """\
HEADER    HYDROLASE                               01-JAN-90   1OLD
ATOM      1  N   HSD A   1      10.000  10.000  10.000  1.00 20.00      1OLD  77
ATOM      2  CD  ILE A   2      11.000  10.000  10.000  1.00 20.00      1OLD  78
ATOM      3  CAY TYR A   3      12.000  10.000  10.000  1.00 20.00      1OLD  79
ATOM      4  CA AGLY A   4      13.000  10.000  10.000  0.60 20.00      1OLD  80
ATOM      5  CA BGLY A   4      13.500  10.000  10.000  0.40 20.00      1OLD  81
HETATM    6 SE   MSE A   5      14.000  10.000  10.000  1.00 20.00          SE
HETATM    7  C1  LIG A 100      15.000  10.000  10.000  1.00 20.00           C
HETATM    8  O   HOH A 200      16.000  10.000  10.000  1.00 20.00           O
ENDMDL
ATOM      9  N   GLY A   6      17.000  10.000  10.000  1.00 20.00           N
"""


def test_old_names_columns_locations_and_models_are_put_right() -> None:
    clean = clean_structure(OLD)
    lines = clean.pdb.splitlines()[:-1]
    assert [(line[12:16].strip(), line[17:20], line[76:78].strip()) for line in lines] == [
        ("N", "HIS", "N"),
        ("CD1", "ILE", "C"),
        ("CA", "GLY", "C"),
        ("SD", "MET", "S"),
    ]
    assert all(line.startswith("ATOM") and line[66:76].strip() == "" for line in lines)
    assert lines[2][30:38].strip() == "13.000"


def test_what_was_left_out_is_said() -> None:
    notes = " ".join(clean_structure(OLD).notes)
    for reason in ("water", "HETATM LIG", "terminal cap", "alternate location"):
        assert reason in notes


def test_residues_that_cannot_be_parameterised_are_left_out() -> None:
    clean = clean_structure(OLD, frozenset({"HIS", "GLY"}))
    assert "ILE" not in clean.pdb
    assert "unknown residue ILE" in " ".join(clean.notes)


@pytest.mark.parametrize(
    "text", ["", "not a protein\n", "HETATM    1  O   HOH A   1       0.0     0.0     0.0\n"]
)
def test_a_file_without_protein_atoms_is_refused(text: str) -> None:
    with pytest.raises(DockingInputError, match="no protein ATOM records"):
        clean_structure(text)


def test_alignment_puts_three_letter_names_where_rdkit_looks() -> None:
    line = "ATOM      1 CD1  PHE A   1      10.000  10.000  10.000                       C "
    assert aligned(line).splitlines()[0][12:16] == " CD1"


def test_the_ligand_of_a_file_is_found_by_its_code() -> None:
    assert ligand_block(OLD, "lig").count("HETATM") == 1
    with pytest.raises(DockingInputError, match=r"no ligand called XYZ \(it has: LIG, MSE\)"):
        ligand_block(OLD, "XYZ")


def test_a_missing_file_that_is_no_pdb_id_is_named() -> None:
    with pytest.raises(DockingInputError, match=r"No receptor file 'missing.pdb'"):
        read_structure("missing.pdb")


def test_without_a_network_a_pdb_id_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def offline(*_args: Any, **_kwargs: Any) -> Any:
        raise urllib.error.URLError("Name or service not known")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    with pytest.raises(DockingInputError, match=r"Cannot download 1IEP .*Offline\? Give the file itself"):
        read_structure("1iep", cache=tmp_path)


def test_a_downloaded_structure_is_kept_and_used_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "1OLD.pdb").write_text(OLD)

    def unexpected(*_args: Any, **_kwargs: Any) -> Any:
        raise AssertionError("went online for a file that is there")

    monkeypatch.setattr(urllib.request, "urlopen", unexpected)
    assert read_structure("1old", cache=tmp_path) == ("1OLD", OLD)
