"""Receptors: the tutorial complex, files in every state, and what of a file belongs to the pocket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rdkit import Chem

from docking.receptor import TUTORIAL_BOX, Receptor, coordinates, load_complex, tutorial_folder, with_box
from docking.records import Box, DockingInputError, Selection

# Beside the reference ligand and near no other atom, 3.2 angstrom from the carboxylate of ASP 129.
FREE = (1.2, -2.6, 16.4)


def atom_line(
    name: str, residue: str, place: str, position: Any, element: str, record: str = "HETATM"
) -> str:
    """A line of a PDB file; ``place`` is the chain and the number in their columns."""
    x, y, z = position
    start = f"{record:<6}    1 {name:<4} {residue:>3} {place:<5}    "
    return f"{start}{x:8.3f}{y:8.3f}{z:8.3f}  1.00 20.00          {element:>2}"


def residue_of(lines: list[str], place: str) -> list[str]:
    return [line for line in lines if line[21:26] == place]


def heavy(lines: list[str]) -> list[str]:
    return [line for line in lines if "H" not in line[12:14] and line[12:14].strip()[:1] != "H"]


def place_of(lines: list[str], place: str, name: str) -> np.ndarray:
    (line,) = [line for line in residue_of(lines, place) if line[12:16].strip() == name]
    return coordinates(line)[0]


def residues_in(receptor: Receptor) -> dict[str, str]:
    """Name of each residue by its chain and number."""
    return {
        line[21:27].strip(): line[17:20]
        for line in receptor.pdb.splitlines()
        if line.startswith(("ATOM", "HETATM"))
    }


def types(receptor: Receptor, name: str) -> list[str]:
    return [line.split()[-1] for line in receptor.pdbqt.splitlines() if line[17:20].strip() == name]


def test_the_tutorial_complex_is_prepared_from_the_installed_package(tutorial: Any) -> None:
    receptor, reference = tutorial
    assert len(receptor.coordinates()) > 2500
    assert receptor.box.size == (20.0, 22.0, 22.0)
    assert any("terminal cap" in note for note in receptor.notes)
    assert receptor.warnings == ()
    assert reference.mol().GetNumHeavyAtoms() == 43
    assert receptor.box.contains(np.asarray(reference.mol().GetConformer().GetPositions())).all()


def test_rdkit_understands_the_prepared_protein(tutorial: Any) -> None:
    mol = Chem.MolFromPDBBlock(tutorial[0].pdb, removeHs=False)
    rings = {atom.GetPDBResidueInfo().GetResidueName() for atom in mol.GetAtoms() if atom.GetIsAromatic()}
    assert {"PHE", "TRP", "TYR", "HIS"} <= rings


def test_hydrogens_are_kept_or_made(pocket: list[str], prepared: Any, prepared_pocket: Any) -> None:
    whole = prepared_pocket
    bare = prepared(heavy(pocket))
    polar = prepared(
        [line for line in pocket if line in heavy(pocket) or line[12:16].strip() in ("HN", "HG1")]
    )
    assert residues_in(whole) == residues_in(bare) == residues_in(polar)
    assert len(types(bare, "SER")) == len(types(whole, "SER")), "serines keep their hydroxyls"
    assert bare.pdbqt.count(" HD") > 40
    assert not [text for text in bare.warnings if "read as" in text]


@pytest.mark.parametrize(("atoms", "name"), [(("N", "CA", "C", "O", "CB"), "ALA"), (("N", "CA", "C"), "GLY")])
def test_a_cut_side_chain_leaves_its_backbone(
    pocket: list[str], prepared: Any, prepared_pocket: Any, atoms: tuple[str, ...], name: str
) -> None:
    cut = [line for line in pocket if line[21:26] != "B 330" or line[12:16].strip() in atoms]
    receptor = prepared(cut)
    assert residues_in(receptor) == residues_in(prepared_pocket) | {"B 330": name}
    text = " ".join(receptor.warnings)
    assert f"at the pocket: PHE 330 B read as {name}: " in text
    assert "CG" in text
    mine = [line for line in receptor.pdbqt.splitlines() if line[21:26] == "B 330"]
    assert [line[12:16].strip() for line in mine if line.split()[-1] == "OA"] == ["O"], (
        "the oxygen is there, once"
    )


@pytest.mark.long
def test_a_file_with_many_cut_side_chains_keeps_every_residue() -> None:
    from docking.structure import read_structure

    folder = tutorial_folder().parent / "implicitHbond"
    _name, structure = read_structure(folder / "receptor.pdb")
    given = sum(residue.name != "HOH" for chain in structure[0] for residue in chain)
    receptor, reference = load_complex(folder / "receptor.pdb", reference=folder / "1.D.sdf")
    assert len(residues_in(receptor)) == given
    assert "read as ALA" in receptor.remarks()
    assert reference is not None


def test_a_residue_without_its_backbone_is_left_out_and_said(pocket: list[str], prepared: Any) -> None:
    trace = [line for line in pocket if line[21:26] != "B 330" or line[12:16].strip() == "CA"]
    receptor = prepared(trace)
    assert "B 330" not in residues_in(receptor)
    assert any("PHE 330 B left out: its backbone is not complete" in text for text in receptor.warnings)


def phosphorylated(lines: list[str], place: str, names: tuple[str, str], bond: tuple[str, str]) -> list[str]:
    """The residue at ``place``, whose name changes from the first of ``names`` to the second, with a phosphate on the
    oxygen at the end of ``bond``."""
    oxygen = place_of(lines, place, bond[1])
    outward = oxygen - place_of(lines, place, bond[0])
    outward /= np.linalg.norm(outward)
    side = np.cross(outward, [1.0, 0.0, 0.0])
    side /= np.linalg.norm(side)
    third = np.cross(outward, side)
    phosphorus = oxygen + 1.6 * outward
    added = [atom_line("P", names[1], place, phosphorus, "P")] + [
        atom_line(f"O{i}P", names[1], place, phosphorus + 0.5 * outward + 1.4 * way, "O")
        for i, way in enumerate((side, -0.5 * side + 0.87 * third, -0.5 * side - 0.87 * third), start=1)
    ]
    own = residue_of(heavy(lines), place)
    return [line.replace("ATOM  ", "HETATM").replace(*names) for line in own] + added


@pytest.mark.parametrize(
    ("place", "names", "bond"),
    [
        ("A 212", ("SER", "SEP"), ("CB", "OG")),
        ("A 134", ("THR", "TPO"), ("CB", "OG1")),
        ("B 359", ("TYR", "PTR"), ("CZ", "OH")),
    ],
)
def test_a_phosphorylated_residue_stays(
    pocket: list[str], prepared: Any, place: str, names: tuple[str, str], bond: tuple[str, str]
) -> None:
    rest = [line for line in pocket if line[21:26] != place]
    receptor = prepared([*rest, *phosphorylated(pocket, place, names, bond)])
    assert residues_in(receptor)[place] == names[1]
    assert len(residues_in(receptor)) == len({line[21:26] for line in pocket})
    assert types(receptor, names[1]).count("P") == 1
    assert f"{names[1]} " not in receptor.remarks(), "nothing of it is changed"


def test_an_unknown_amino_acid_is_read_as_its_parent(
    pocket: list[str], prepared: Any, prepared_pocket: Any
) -> None:
    cysteine = residue_of(heavy(pocket), "A 133")
    oxidised = [line.replace("CYS", "CSO").replace("ATOM  ", "HETATM") for line in cysteine]
    sulfur = place_of(pocket, "A 133", "SG")
    far = (sulfur - place_of(pocket, "A 133", "CB")) / 1.8
    oxidised.append(atom_line("OD", "CSO", "A 133", sulfur + 1.7 * far, "O"))
    receptor = prepared([*(line for line in pocket if line[21:26] != "A 133"), *oxidised])
    assert residues_in(receptor) == residues_in(prepared_pocket)
    assert any("CSO 133 A read as CYS" in text for text in receptor.remarks().splitlines())


@pytest.mark.parametrize(
    ("name", "kind"), [("MG", "Mg"), ("CA", "Ca"), ("FE2", "Fe"), ("NI", "Ni"), ("PT", "Zn")]
)
def test_a_metal_at_the_pocket_stays_as_what_it_is(
    pocket: list[str], prepared: Any, name: str, kind: str
) -> None:
    """Vina has no platinum; it has the same radius for all metals."""
    receptor = prepared([*pocket, atom_line(name[:2], name, "A 401", FREE, name[:2])])
    assert types(receptor, name) == [kind]


def test_metals_and_cofactors_at_the_pocket_stay_and_waters_do_not(
    pocket: list[str], prepared: Any, tutorial: Any
) -> None:
    zinc = atom_line("ZN", "ZN", "A 401", FREE, "ZN")
    far = atom_line("MG", "MG", "A 402", (60.0, 60.0, 60.0), "MG")
    water = atom_line("O", "HOH", "A 501", (6.0, 0.0, 14.0), "O")
    glycerol = [
        atom_line(name, "GOL", "A 403", np.add((9.0, 4.0, 20.0), shift), name[0])
        for name, shift in (("C1", (0, 0, 0)), ("O1", (1.43, 0, 0)), ("C2", (-0.5, 1.4, 0)))
    ]
    lines = [*pocket, zinc, far, water, *glycerol]
    receptor = prepared(lines)
    assert types(receptor, "ZN") == ["Zn"]
    assert types(receptor, "MG") == types(receptor, "HOH") == types(receptor, "GOL") == []
    assert "kept ZN 401 A (metal)" in receptor.notes
    assert any("left out: 1 GOL, 1 MG, 1 water" in note for note in receptor.notes)
    (said,) = [text for text in receptor.warnings if "left out within 8 A of the box" in text]
    assert "GOL 403 A" in said
    assert "1 water" in said
    assert "MG" not in said
    other = prepared(lines, selection=Selection(keep=("waters", "GOL"), leave_out=("A:401",)))
    assert types(other, "ZN") == []
    assert types(other, "HOH") == ["OA", "HD", "HD"], "a water gives and takes hydrogen bonds"
    assert sorted(types(other, "GOL")) == ["C", "C", "HD", "OA"], "a hydroxyl too"
    with pytest.raises(
        DockingInputError, match=r"'HEM' cannot be kept: .* \(there is: GOL 403 A, MG 402 A, "
    ):
        prepared(lines, selection=Selection(keep=("HEM",)))


def test_of_several_waters_the_chosen_one_stays(pocket: list[str], prepared: Any) -> None:
    waters = [atom_line("O", "HOH", f"A {501 + i}", (6.0 + 3 * i, 0.0, 14.0), "O") for i in range(3)]
    receptor = prepared([*pocket, *waters], selection=Selection(keep=("HOH:A:502",)))
    assert types(receptor, "HOH") == ["OA", "HD", "HD"]
    assert [place for place, name in residues_in(receptor).items() if name == "HOH"] == ["A 502"]
    assert "kept 1 water: HOH 502 A" in receptor.notes
    assert "left out within 8 A of the box: 2 waters" in receptor.warnings


@pytest.mark.parametrize(("distance", "kept", "said"), [(5.5, 1, 0), (6.5, 0, 1), (8.5, 0, 0)])
def test_a_cofactor_stays_up_to_six_angstrom_from_the_pocket_and_is_named_up_to_eight(
    pocket: list[str], prepared: Any, distance: float, kept: int, said: int
) -> None:
    edge = TUTORIAL_BOX.center[0] + TUTORIAL_BOX.size[0] / 2
    atoms = [
        atom_line(name, "NAD", "A 401", (edge + distance + along, 0.3, 10.6), name[0])
        for name, along in (("C1", 0.0), ("O1", 1.43))
    ]
    receptor = prepared([*pocket, *atoms])
    assert types(receptor, "NAD").count("C") == kept
    assert ("kept NAD 401 A (cofactor)" in receptor.notes) is bool(kept)
    assert (f"left out within 8 A of the box: NAD 401 A ({distance:.1f} A)" in receptor.warnings) is bool(
        said
    )


def test_what_holds_a_metal_is_protonated_for_it(
    pocket: list[str], prepared: Any, prepared_pocket: Any
) -> None:
    sulfur = place_of(pocket, "A 133", "SG")
    out = (sulfur - place_of(pocket, "A 133", "CB")) / 1.8
    zinc = atom_line("ZN", "ZN", "A 401", sulfur + 2.3 * out, "ZN")
    receptor = prepared([*pocket, zinc])
    before, after = types(prepared_pocket, "CYS"), types(receptor, "CYM") + types(receptor, "CYS")
    assert before.count("HD") - after.count("HD") == 1, "the thiolate has lost its hydrogen"
    assert any("CYS 133 A binds a metal and is CYM" in text for text in receptor.remarks().splitlines())
    water = atom_line("O", "HOH", "A 401", sulfur + 2.3 * out, "O")
    assert "binds a metal" not in prepared([*pocket, water], selection=Selection(keep=("waters",))).remarks()


def test_the_missing_parts_of_a_chain_are_named(prepared_pocket: Any) -> None:
    (said,) = [text for text in prepared_pocket.warnings if "residues that the file does not have" in text]
    assert "A:41-101" in said


def test_a_chain_left_out_is_left_out(pocket: list[str], prepared: Any) -> None:
    receptor = prepared(pocket, selection=Selection(chains=("A",)))
    assert {place[0] for place in residues_in(receptor)} == {"A"}
    assert "chains left out as asked: B" in receptor.notes


def test_a_box_or_a_reference_is_needed(pocket: list[str], prepared: Any) -> None:
    with pytest.raises(DockingInputError, match="Where to dock"):
        prepared(pocket, box=None)


def test_a_box_without_receptor_atoms_says_where_the_receptor_is(
    pocket: list[str], prepared: Any, small_target: Any
) -> None:
    far = Box((500.0, 500.0, 500.0), (20.0, 20.0, 20.0))
    with pytest.raises(DockingInputError, match=r"No receptor atom is in the box .*receptor spans x "):
        prepared(pocket, box=far)
    with pytest.raises(DockingInputError, match="No receptor atom is in the box"):
        with_box(small_target, far)


def test_a_file_without_protein_is_refused(prepared: Any) -> None:
    with pytest.raises(DockingInputError, match="no protein ATOM records"):
        prepared([atom_line("O", "HOH", "A   1", (0.0, 0.0, 0.0), "O")])


def test_another_box_keeps_the_tutorial_s_reference(tutorial: Any) -> None:
    box = Box((2.82, 0.28, 10.63), (22.0, 24.0, 24.0))
    receptor, reference = load_complex("tutorial", box=box, selection=Selection(chains=("B",)))
    assert (receptor.box, reference) == (box, tutorial[1])


def test_coordinates_of_nothing_have_three_columns() -> None:
    assert coordinates("").shape == (0, 3)


def test_a_missing_receptor_is_named(tmp_path: Path) -> None:
    with pytest.raises(DockingInputError, match="No receptor file"):
        load_complex(tmp_path / "gone.pdb", reference="STI")


@pytest.mark.parametrize("name", ["tutorial", "m2"])
def test_a_complex_of_prolif_has_its_own_reference(name: str) -> None:
    with pytest.raises(DockingInputError, match=f"'{name}' has its own reference ligand"):
        load_complex(name, reference="QNB")
    with pytest.raises(DockingInputError, match="There is no chain none"):
        load_complex(name, selection=Selection(chains=("none",)))
