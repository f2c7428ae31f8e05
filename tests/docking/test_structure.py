"""Protein files as people have them: what the same protein looks like in each, and what is refused."""

from __future__ import annotations

import gzip
import random
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import gemmi
import pytest

from docking.records import DockingInputError
from docking.residues import Residue, read_residues
from docking.structure import parse_structure, read_structure, stem_of, suffix_of

OLD = """\
HEADER    HYDROLASE                               01-JAN-90   1OLD
ATOM      1  N   HSD A   1      10.000  10.000  10.000  1.00 20.00      1OLD  77
ATOM      2  CD  ILE A   2      11.000  10.000  10.000  1.00 20.00      1OLD1078
ATOM      3  CAY TYR A   3      12.000  10.000  10.000  1.00 20.00      1OLD  79
ATOM      4  CA AGLY A   4      13.000  10.000  10.000  0.40 20.00      1OLD  80
ATOM      5  CA BGLY A   4      13.500  10.000  10.000  0.60 20.00      1OLD  81
HETATM    6 SE   MSE A   5      14.000  10.000  10.000  1.00 20.00          SE
HETATM    7  C1  LIG A 100      15.000  10.000  10.000  1.00 20.00           C
HETATM    8  O   HOH A 200      16.000  10.000  10.000  1.00 20.00           O
ENDMDL
ATOM      9  N   GLY A   6      17.000  10.000  10.000  1.00 20.00           N
"""


def residues(text: str, name: str = "x.pdb", **options: Any) -> tuple[list[Residue], list[str]]:
    return read_residues(parse_structure(text, name), **options)


def atoms(found: list[Residue]) -> dict[str, set[tuple[str, str, tuple[float, ...]]]]:
    """What is known of each residue, whatever the order."""
    return {
        residue.label: {(atom.name, atom.element, atom.position) for atom in residue.atoms}
        for residue in found
    }


def test_old_names_columns_and_locations_are_put_right() -> None:
    found, notes = residues(OLD)
    assert [(atom.name, residue.name, atom.element) for residue in found for atom in residue.atoms] == [
        ("N", "HIS", "N"),
        ("CD1", "ILE", "C"),
        ("CA", "GLY", "C"),
        ("SD", "MET", "S"),
        ("C1", "LIG", "C"),
        ("O", "HOH", "O"),
    ]
    assert found[2].atoms[0].position[0] == 13.5, "the location with the most occupancy"
    assert "left out 1 atoms: terminal cap" in notes
    assert "left out 1 atoms: alternate location" in notes


def test_the_order_of_atoms_does_not_matter(pocket: list[str]) -> None:
    shuffled = random.Random(1).sample(pocket, len(pocket))
    assert atoms(residues("\n".join(shuffled))[0]) == atoms(residues("\n".join(pocket))[0])


def test_hydrogens_after_all_else_join_their_residues(pocket: list[str]) -> None:
    heavy = [line for line in pocket if "H" not in line[12:14]]
    hydrogens = [line for line in pocket if "H" in line[12:14]]
    text = "\n".join([*heavy, "TER", *hydrogens])
    assert atoms(residues(text)[0]) == atoms(residues("\n".join(pocket))[0])


def test_a_pdbqt_file_tells_charges_where_others_tell_segments(pocket: list[str]) -> None:
    kinds = {"N": "NA", "O": "OA", "S": "SA", "H": "HD", "C": "A"}
    ligand = [
        f"HETATM    1 {name:<4} LIG A 900      {x:6.3f}   0.000   0.000  1.00 20.00          {element:>2}"
        for x, (name, element) in enumerate((("CL1", "CL"), (" N1 ", "N"), (" C1 ", "C")), start=50)
    ]
    lines = [*random.Random(1).sample(pocket, len(pocket)), *ligand]
    text = []
    for place, line in enumerate(lines):
        element = line[76:78].strip() or line[12:16].strip(" 0123456789")[0]
        text.append(f"{line[:66]:<66}{place % 900 / 1000:10.3f} {kinds.get(element, element.title()):<2}")
    expected = atoms(residues("\n".join(lines))[0])
    assert atoms(residues("\n".join(text), "x.pdbqt")[0]) == expected
    assert {atom[:2] for atom in expected["LIG 900 A"]} == {("CL1", "Cl"), ("N1", "N"), ("C1", "C")}


def test_chains_without_names_and_repeated_numbers(pocket: list[str]) -> None:
    blank = [line[:21] + " " + line[22:] for line in pocket]
    moved = [f"{line[:30]}{float(line[30:38]) + 60:8.3f}{line[38:]}" for line in blank]
    for text in ("\n".join([*blank, "TER", *moved]), "\n".join([*blank, *moved])):
        found, notes = residues(text)
        assert {residue.chain for residue in found} == {"A", "B"}
        assert len(found) == 2 * len({line[17:27] for line in blank})
        assert any("where numbers repeat, is B" in note for note in notes)


def test_mmcif_and_packed_files_say_the_same(pocket: list[str], tmp_path: Path) -> None:
    text = "\n".join(pocket)
    structure = parse_structure(text, "x.pdb")
    structure.setup_entities()
    cif = structure.make_mmcif_document().as_string()
    expected = atoms(residues(text)[0])
    for name, content in (("X.CIF", cif), ("x.cif.gz", cif), ("x.PDB.gz", text), ("x.ENT", text), ("x", cif)):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
        stem, read = read_structure(path)
        assert stem.lower() == "x"
        assert atoms(read_residues(read)[0]) == expected, name


def test_models_and_chains_are_chosen(pocket: list[str]) -> None:
    moved = [f"{line[:30]}{float(line[30:38]) + 1:8.3f}{line[38:]}" for line in pocket]
    text = "\n".join(["MODEL        1", *pocket, "ENDMDL", "MODEL        2", *moved, "ENDMDL"])
    first, notes = residues(text)
    second, _ = residues(text, model=2, chains=("B",))
    assert "model 1 of 2 is used" in notes
    assert {residue.chain for residue in second} == {"B"}
    one = next(residue for residue in first if residue.label == second[0].label)
    assert second[0].atoms[0].position[0] == pytest.approx(one.atoms[0].position[0] + 1)
    with pytest.raises(DockingInputError, match="no model 3: the file has 2"):
        residues(text, model=3)
    with pytest.raises(DockingInputError, match="no chain X; the file has: A, B"):
        residues(text, chains=("X",))


def test_residues_of_one_number_with_insertion_codes_are_several(pocket: list[str]) -> None:
    own = [line for line in pocket if line[21:26] == "A 133"]
    inserted = [f"{line[:26]}A{line[27:30]}{float(line[30:38]) + 9:8.3f}{line[38:]}" for line in own]
    found, _ = residues("\n".join([*own, *inserted]))
    assert [(residue.number, residue.insertion) for residue in found] == [(133, ""), (133, "A")]


def test_two_amino_acids_in_one_place_are_one() -> None:
    line = "ATOM      1  CA ASER A   5      10.000  10.000  10.000  0.30 20.00           C"
    other = (
        line.replace("ASER", "BTHR")
        .replace("0.30", "0.70")
        .replace("  10.000  10.000 ", "  11.000  10.000 ", 1)
    )
    found, _ = residues(f"{line}\n{other}\n")
    assert [residue.name for residue in found] == ["THR"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no protein ATOM records"),
        ("not a protein\n", "no protein ATOM records"),
        ("data_x\nloop_\n_atom_site.id\n", "cannot be read as a mmCIF file|no protein ATOM records"),
        (OLD.replace("  11.000", "abcdefgh", 1), "line 3: a coordinate in the PDB file is not a number"),
    ],
)
def test_a_file_that_is_no_structure_is_refused(text: str, message: str) -> None:
    with pytest.raises(DockingInputError, match=message):
        parse_structure(text, "x.pdb")


def test_a_broken_packed_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pdb.gz").write_bytes(gzip.compress(OLD.encode())[:-20])
    with pytest.raises(DockingInputError, match="Cannot read"):
        read_structure(tmp_path / "x.pdb.gz")


def test_endings_are_read_whatever_their_case() -> None:
    assert (suffix_of("a.SDF"), suffix_of("a.b.PDB.GZ"), suffix_of("a")) == (".sdf", ".pdb", "")
    assert (stem_of("x/a.b.PDB.GZ"), stem_of("a")) == ("a.b", "a")


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
    name, structure = read_structure("1old", cache=tmp_path)
    assert name == "1OLD"
    assert isinstance(structure, gemmi.Structure)
