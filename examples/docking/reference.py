"""The ligand whose pose is known: it marks the pocket, and is redocked as a check of all that follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import AllChem

from docking.hetero import matches
from docking.polymer import quiet
from docking.records import Box, DockingInputError
from docking.residues import WATERS, Residue, pdb_lines
from docking.structure import read_text, stem_of, suffix_of

MOL_SUFFIXES = (".sdf", ".sd", ".mol", ".mdl")
PDB_SUFFIXES = (".pdb", ".ent", ".pdbqt")
MAX_ATOMS = 200
"""A ligand of more heavy atoms than this is a protein."""
MIN_ATOMS = 4
"""A ligand of fewer heavy atoms is a water or an ion: it marks no pocket."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A ligand whose pose is known: ``smiles`` and a molblock of its heavy atoms in the receptor's frame."""

    name: str
    smiles: str
    molblock: str

    def mol(self) -> Chem.Mol:
        """The RDKit molecule with the reference coordinates (no hydrogens)."""
        return Chem.MolFromMolBlock(self.molblock)


@dataclass(frozen=True, slots=True)
class Known:
    """What a reference file or code tells: heavy atoms at ``positions`` (n, 3), the ``ligand`` when its bonds are
    known, and ``warnings``."""

    name: str
    positions: NDArray[np.float64]
    ligand: Reference | None
    warnings: tuple[str, ...] = ()


def find_reference(
    given: str | Path, residues: Sequence[Residue], polymer: Sequence[Residue], smiles: str | None = None
) -> Known:
    """The reference ligand that ``given`` names: a file (SDF, MOL, MOL2, PDB), or a molecule of the receptor's own
    file, as a name (``STI``), a place (``A:201``) or both (``STI:A:201``)."""
    path = Path(given).expanduser()
    if path.is_file():
        mol, notes = read_ligand(path)
        known = _known(stem_of(path), mol, smiles, bonds=suffix_of(path) not in PDB_SUFFIXES)
        return Known(known.name, known.positions, known.ligand, (*notes, *known.warnings))
    if Path(given).suffix and suffix_of(given) in (*MOL_SUFFIXES, *PDB_SUFFIXES, ".mol2"):
        raise DockingInputError(f"No reference ligand file '{given}'.")
    return _known_in_file(str(given), residues, polymer, smiles)


def check_reference(known: Known, protein: NDArray[np.float64], box: Box | None) -> list[str]:
    """Warnings about a reference; raises :class:`DockingInputError` for one that marks no pocket of ``protein``
    (n, 3), or lies outside of the ``box`` that it is to check."""
    distances = np.linalg.norm(known.positions[:, None, :] - protein[None, :, :], axis=2).min(axis=1)
    if float((distances < 0.8).mean()) > 0.5:
        raise DockingInputError(
            f"The reference {known.name} lies on the protein's own atoms: give the ligand, not the protein, or leave "
            "out the chain that is the ligand."
        )
    if float(distances.min()) > 6.0:
        raise DockingInputError(
            f"The reference {known.name} is {distances.min():.0f} A from the nearest atom of the protein: it has other "
            "coordinates than the receptor file."
        )
    if box is None:
        return []
    inside = int(box.contains(known.positions).sum())
    total = len(known.positions)
    if inside * 2 < total:
        raise DockingInputError(
            f"The reference {known.name} is not in the box ({inside} of its {total} atoms are): the box {box} is not "
            f"around it; around the reference would be {Box.around(known.positions)}."
        )
    if inside < total:
        warning = (
            f"{total - inside} of the {total} atoms of the reference {known.name} are outside of the box: redocking "
            "cannot find its pose, and the box may be too small for others"
        )
        return [warning]
    return []


def reference_ligand(
    path: str | Path, *, template: Chem.Mol | None = None, smiles: str | None = None, name: str = ""
) -> Reference:
    """Read a ligand with a known pose; a PDB file needs a ``template`` or ``smiles`` for its bond orders."""
    mol, _notes = read_ligand(Path(path).expanduser())
    if template is None and smiles is None and suffix_of(path) in PDB_SUFFIXES:
        raise DockingInputError(f"{path} holds no bond orders: give the ligand's SMILES, or an SDF file.")
    return _reference(name or stem_of(path), mol, _template(smiles) if smiles else template)


def read_ligand(path: Path) -> tuple[Chem.Mol, list[str]]:
    """The first molecule of a file with its coordinates, hydrogens included, and notes; raises when there is
    none."""
    if not path.is_file():
        raise DockingInputError(f"No reference ligand file '{path}'.")
    suffix, notes = suffix_of(path), []
    text = read_text(path)
    with quiet():
        if suffix in PDB_SUFFIXES:
            mol = Chem.MolFromPDBBlock(_first_model(text), removeHs=False, sanitize=True)
        elif suffix == ".mol2":
            mol = Chem.MolFromMol2Block(text, removeHs=False)
        elif suffix in MOL_SUFFIXES:
            records = [record for record in text.split("$$$$") if record.strip()]
            mol = Chem.MolFromMolBlock(records[0] if records else "", removeHs=False)
            if len(records) > 1:
                notes.append(f"{path.name} has {len(records)} molecules: the first is the reference")
        else:
            raise DockingInputError(f"Cannot read a ligand from '{path.name}': use SDF, MOL, MOL2 or PDB.")
    if mol is None or mol.GetNumAtoms() == 0 or mol.GetNumConformers() == 0:
        raise DockingInputError(f"No molecule with coordinates could be read from {path}.")
    return mol, notes


def _known_in_file(
    given: str, residues: Sequence[Residue], polymer: Sequence[Residue], smiles: str | None
) -> Known:
    """The molecule of the receptor's own file."""
    hits = [residue for residue in residues if matches(residue, given)]
    protein = {id(residue) for residue in polymer}
    others = [residue for residue in residues if id(residue) not in protein and residue.name not in WATERS]
    if given.upper() in WATERS or (hits and all(residue.name in WATERS for residue in hits)):
        raise DockingInputError(f"The reference {given} is water: it marks no pocket.{_there(others)}")
    if hits and all(id(residue) in protein for residue in hits):
        raise DockingInputError(f"The reference {given} is part of the protein.{_there(others)}")
    hits = [residue for residue in hits if id(residue) not in protein and residue.heavy()]
    if not hits:
        raise DockingInputError(
            f"No reference ligand file '{given}', and the receptor file has no ligand called so "
            f"(it has: {_names(others)})."
        )
    chosen = hits[0]
    with quiet():
        mol = Chem.MolFromPDBBlock("\n".join(pdb_lines([chosen], "HETATM")) + "\nEND\n", removeHs=False)
    if mol is None:
        raise DockingInputError(f"The reference {chosen.label} cannot be read as a molecule.")
    known = _known(chosen.label, mol, smiles, bonds=False)
    notes = list(known.warnings)
    if len(hits) > 1:
        copies = ", ".join(hit.label for hit in hits[1:5])
        notes.insert(0, f"the reference is {chosen.label}; there are other copies: {copies}")
    return Known(known.name, known.positions, known.ligand, tuple(notes))


def _known(name: str, mol: Chem.Mol, smiles: str | None, *, bonds: bool) -> Known:
    heavy = [atom.GetIdx() for atom in mol.GetAtoms() if atom.GetAtomicNum() > 1]
    positions: NDArray[np.float64] = np.asarray(mol.GetConformer().GetPositions())[heavy]
    if len(heavy) > MAX_ATOMS:
        raise DockingInputError(
            f"The reference {name} has {len(heavy):,} heavy atoms: give the ligand, not the protein."
        )
    if len(heavy) < MIN_ATOMS:
        what = "water" if [mol.GetAtomWithIdx(i).GetAtomicNum() for i in heavy] == [8] else "too small"
        raise DockingInputError(
            f"The reference {name} is {what} ({len(heavy)} heavy atoms): it marks no pocket."
        )
    if not np.isfinite(positions).all() or not positions[:, 2].any():
        raise DockingInputError(f"The reference {name} has no coordinates in three dimensions.")
    if not bonds and not smiles:
        message = (
            f"the bonds of the reference {name} are not known, so it is NOT redocked: the screen is not checked. "
            "Give its SMILES (--reference-smiles), or an SDF file"
        )
        return Known(name, positions, None, (message,))
    return Known(name, positions, _reference(name, mol, _template(smiles) if smiles else None))


def _reference(name: str, mol: Chem.Mol, template: Chem.Mol | None) -> Reference:
    if template is not None:
        with quiet():
            try:
                mol = AllChem.AssignBondOrdersFromTemplate(Chem.RemoveHs(template), Chem.RemoveHs(mol))
            except (ValueError, RuntimeError) as error:
                found, wanted = mol.GetNumHeavyAtoms(), template.GetNumHeavyAtoms()
                raise DockingInputError(
                    f"The reference ligand {name} does not match its SMILES: {error} "
                    f"({found} heavy atoms in the file, {wanted} in the SMILES)"
                ) from error
    mol = Chem.RemoveHs(mol)
    Chem.AssignStereochemistryFrom3D(mol)
    return Reference(name, Chem.MolToSmiles(mol), Chem.MolToMolBlock(mol))


def _template(smiles: str) -> Chem.Mol:
    with quiet():
        template = Chem.MolFromSmiles(smiles)
    if template is None:
        raise DockingInputError(f"The reference SMILES does not parse: {smiles}")
    return template


def _first_model(text: str) -> str:
    """PDB text to the end of its first model, each atom at its first location."""
    lines: list[str] = []
    seen: set[str] = set()
    for line in text.splitlines():
        if line.startswith("ENDMDL"):
            break
        if line.startswith(("ATOM", "HETATM")):
            key = line[12:16] + line[17:27]
            if line[16:17].strip() and key in seen:
                continue
            seen.add(key)
            line = line[:16] + " " + line[17:]
        lines.append(line)
    return "\n".join(lines) + "\n"


def _there(others: Sequence[Residue]) -> str:
    return f" Molecules beside the protein: {_names(others)}."


def _names(others: Sequence[Residue]) -> str:
    return ", ".join(sorted({residue.given_name for residue in others})) or "none"
