"""Receptors: the complexes shipped with ProLIF, a PDB or mmCIF file, or a PDB id, prepared with meeko at
run time, with what else of the file belongs to the pocket."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import gemmi
import numpy as np
from numpy.typing import NDArray
from rdkit import Chem

from docking.hetero import (
    SAY_WITHIN,
    Pocket,
    choose,
    kind_of,
    left_out_near,
    listed,
    pdbqt_lines,
    picture_lines,
)
from docking.polymer import build_polymer
from docking.records import Box, DockingInputError, Selection
from docking.reference import Known, Reference, check_reference, find_reference, reference_ligand
from docking.residues import Residue, pdb_lines, read_residues
from docking.sidechains import PROTOMERS, Finding, bind_metals, complete, gaps, split
from docking.structure import parse_structure, read_structure, read_text

TUTORIAL_BOX = Box((2.82, 0.28, 10.63), (20.0, 22.0, 22.0))
M2_FILE, M2_LIGAND = "water_m2.pdb", "QNB"
M2_SMILES = "OC(c1ccccc1)(c1ccccc1)C(=O)O[C@H]1C[NH+]2CCC1CC2"
MIN_ATOMS_IN_BOX = 10
"""Fewer receptor atoms than this inside the box (grown by 4 angstrom) is no binding site."""
MOST_LINES = 12
"""Residues at the pocket that are named one by one."""
MISSING = "residues that the file does not have: "
ALL = Selection()


@dataclass(frozen=True, slots=True)
class Receptor:
    """A prepared receptor: ``pdbqt`` for Vina, ``pdb`` with hydrogens for pictures, the ``box``; ``notes`` say what
    was changed, ``warnings`` what of it is at the pocket."""

    name: str
    pdb: str
    pdbqt: str
    box: Box
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def coordinates(self) -> NDArray[np.float64]:
        """Positions of the receptor's atoms: (n, 3), angstrom."""
        return coordinates(self.pdbqt)

    def remarks(self) -> str:
        """Warnings, then notes, a line each."""
        return "\n".join([*(f"WARNING: {text}" for text in self.warnings), *self.notes])

    def __repr__(self) -> str:
        return f"Receptor({self.name!r}, {len(self.coordinates())} atoms, box {self.box})"


def load_complex(
    source: str | Path,
    *,
    box: Box | None = None,
    reference: str | Path | None = None,
    smiles: str | None = None,
    selection: Selection = ALL,
    cache_folder: Path | None = None,
) -> tuple[Receptor, Reference | None]:
    """The receptor in ``source`` (a PDB or mmCIF file, a PDB id, or a complex that ProLIF ships: ``tutorial``, ``m2``)
    prepared for docking, and the reference ligand to redock when there is one whose bonds are known.

    The search space is ``box``, or is around ``reference``: a ligand file (SDF, MOL, MOL2, PDB) or a molecule of
    the file, such as ``STI``; with both, the reference has to be in the box. ``smiles`` gives the bonds of a
    reference that has none. Raises :class:`DockingInputError` for anything unusable.
    """
    if smiles and not reference:
        raise DockingInputError("A reference SMILES is given without a reference: which ligand is it?")
    if str(source) in ("tutorial", "m2"):
        if reference:
            raise DockingInputError(
                f"The complex '{source}' has its own reference ligand: give a receptor file instead."
            )
        complex_of = tutorial_complex if str(source) == "tutorial" else m2_complex
        return complex_of(box, selection)
    if box is None and not reference:
        raise DockingInputError("Where to dock? Give a box (centre and size) or a reference ligand.")
    name, structure = read_structure(source, cache=cache_folder)
    residues, notes = read_residues(structure, model=selection.model, chains=selection.chains)
    polymer, _others = split(residues)
    known = find_reference(reference, residues, polymer, smiles) if reference else None
    receptor = _prepare(name, residues, notes, box, known, selection)
    return receptor, known.ligand if known else None


def tutorial_complex(box: Box | None = None, selection: Selection = ALL) -> tuple[Receptor, Reference]:
    """The 5-HT1B receptor and its ergot ligand from ProLIF's documentation (``prolif/data/vina``).

    The box is 20 x 22 x 22 angstrom around the pocket unless another is given; bond orders of ``lig.pdb`` come
    from ``vina_output.sdf``.
    """
    folder = tutorial_folder()
    template = next(iter(Chem.SDMolSupplier(str(folder / "vina_output.sdf"))))
    ligand = reference_ligand(folder / "lig.pdb", template=template, name="dihydroergotamine")
    positions = np.asarray(ligand.mol().GetConformer().GetPositions())
    structure = parse_structure(read_text(folder / "rec.pdb"), "rec.pdb")
    residues, notes = read_residues(structure, model=selection.model, chains=selection.chains)
    known = Known(ligand.name, positions, ligand)
    name = "5-HT1B (ProLIF tutorial)"
    return _prepare(name, residues, notes, box or TUTORIAL_BOX, known, selection), ligand


def with_box(receptor: Receptor, box: Box) -> Receptor:
    """The same receptor with another search space."""
    check_box(box, receptor.coordinates())
    return replace(receptor, box=box)


def coordinates(text: str) -> NDArray[np.float64]:
    """Positions of all ATOM and HETATM lines of PDB or PDBQT ``text``: (n, 3), angstrom."""
    rows = [
        (float(line[30:38]), float(line[38:46]), float(line[46:54]))
        for line in text.splitlines()
        if line.startswith(("ATOM", "HETATM"))
    ]
    return np.asarray(rows, dtype=np.float64).reshape(-1, 3)


def check_box(box: Box, atoms: NDArray[np.float64]) -> None:
    """Raise :class:`DockingInputError` when the box holds no binding site of ``atoms`` (n, 3)."""
    inside = int(box.contains(atoms, margin=4.0).sum())
    if inside >= MIN_ATOMS_IN_BOX:
        return
    nearest = float(np.linalg.norm(atoms - np.asarray(box.center), axis=1).min())
    low, high = atoms.min(axis=0), atoms.max(axis=0)
    span = ", ".join(f"{axis} {a:.0f}..{b:.0f}" for axis, a, b in zip("xyz", low, high, strict=True))
    count = "No receptor atom is" if inside == 0 else f"Only {inside} receptor atoms are"
    raise DockingInputError(
        f"{count} in the box ({box}); the nearest atom is {nearest:.1f} A from its centre and the "
        f"receptor spans {span}."
    )


def _prepare(
    name: str,
    residues: Sequence[Residue],
    notes: Sequence[str],
    box: Box | None,
    known: Known | None,
    selection: Selection,
) -> Receptor:
    polymer, others = split(residues)
    if not polymer:
        raise DockingInputError(
            f"The receptor {name} holds no protein ATOM records: is it a PDB or mmCIF file?"
        )
    protein = np.concatenate([residue.positions() for residue in polymer])
    if known is not None:
        known_warnings = [*known.warnings, *check_reference(known, protein, box)]
    else:
        known_warnings = []
    if box is None:
        assert known is not None
        box = Box.around(known.positions)
    check_box(box, protein)
    pocket = Pocket(box, None if known is None else known.positions)
    kept, left_out, said = choose(others, pocket, selection)
    from meeko import PDBQTWriterLegacy

    whole, completed = complete(polymer)
    bound = bind_metals(whole, [residue for residue in kept if kind_of(residue) == "metal"])
    holes = gaps(whole)
    built, found = build_polymer(name, whole)
    findings = [*completed, *found, *bound]
    rigid, _flexible = PDBQTWriterLegacy.write_string_from_polymer(built)
    picture = [*_aligned(built.to_pdb()), *picture_lines(kept)]
    return Receptor(
        name,
        "\n".join(picture) + "\nEND\n",
        "\n".join([*rigid.rstrip("\n").splitlines(), *pdbqt_lines(kept)]) + "\n",
        box,
        (
            *notes,
            *said,
            *_grouped(findings, pocket, near=False),
            *_grouped(holes, pocket, near=False, title=MISSING),
        ),
        (
            *known_warnings,
            *left_out_near(left_out, pocket),
            *_grouped(findings, pocket, near=True),
            *_grouped(holes, pocket, near=True, title=MISSING),
        ),
    )


def _grouped(findings: Sequence[Finding], pocket: Pocket, *, near: bool, title: str = "") -> list[str]:
    """What was decided about residues: a line for each at the pocket, one line for all others; with a ``title``
    one line."""
    texts = [finding.text for finding in findings if (pocket.distance(finding.where) <= SAY_WITHIN) is near]
    place = "at the pocket" if near else "far from the pocket"
    if title or not near:
        return [f"{place}: {title}{listed(texts, 12 if near else 6)}"] if texts else []
    more = [f"{place}: and {len(texts) - MOST_LINES} more residues"] if len(texts) > MOST_LINES else []
    return [f"{place}: {text}" for text in texts[:MOST_LINES]] + more


def _aligned(pdb: str) -> list[str]:
    """The ATOM lines of meeko's PDB text with names and elements in their columns; RDKit knows residues by
    them."""
    structure = gemmi.read_pdb_string(pdb)
    residues, _notes = read_residues(structure)
    for residue in residues:
        residue.name = PROTOMERS.get(residue.name, residue.name)
    return pdb_lines(residues)


def m2_complex(box: Box | None = None, selection: Selection = ALL) -> tuple[Receptor, Reference]:
    """The muscarinic receptor M2 and its ligand QNB (3-quinuclidinyl benzilate), a frame of a simulation in water from
    ProLIF's documentation; the box is around the ligand unless another is given."""
    path = tutorial_folder().parent / M2_FILE
    if not path.is_file():
        raise DockingInputError(f"This ProLIF has no {M2_FILE} in {path.parent}; install prolif>=2.0.")
    receptor, reference = load_complex(
        path, box=box, reference=M2_LIGAND, smiles=M2_SMILES, selection=selection
    )
    assert reference is not None  # its bonds are given
    return replace(receptor, name="M2 (ProLIF)"), replace(reference, name="QNB")


def tutorial_folder() -> Path:
    """The folder of the installed ProLIF that holds its tutorial complex."""
    # Without importing it, which takes seconds.
    found = importlib.util.find_spec("prolif")
    if found is None or found.origin is None:
        raise DockingInputError("The tutorial complex comes with ProLIF; install prolif>=2.0.")
    folder = Path(found.origin).parent / "data" / "vina"
    if not (folder / "rec.pdb").is_file():
        raise DockingInputError(f"This ProLIF has no tutorial complex in {folder}; install prolif>=2.0.")
    return folder
