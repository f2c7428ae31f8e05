"""Receptors: the tutorial complex shipped with ProLIF, a PDB file, or a PDB id, prepared with meeko at
run time."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem

from docking.records import Box, DockingInputError
from docking.structure import aligned, clean_structure, ligand_block, read_structure

TUTORIAL_BOX = Box((2.82, 0.28, 10.63), (20.0, 22.0, 22.0))
MIN_ATOMS_IN_BOX = 10
"""Fewer receptor atoms than this inside the box (grown by 4 angstrom) is no binding site."""


@dataclass(frozen=True, slots=True)
class Receptor:
    """A prepared receptor: ``pdbqt`` for Vina, ``pdb`` with hydrogens for pictures, the ``box``, what was
    changed."""

    name: str
    pdb: str
    pdbqt: str
    box: Box
    notes: tuple[str, ...] = ()

    def coordinates(self) -> NDArray[np.float64]:
        """Positions of the receptor's atoms: (n, 3), angstrom."""
        return coordinates(self.pdbqt)

    def __repr__(self) -> str:
        return f"Receptor({self.name!r}, {len(self.coordinates())} atoms, box {self.box})"


@dataclass(frozen=True, slots=True)
class Reference:
    """A ligand whose pose is known: ``smiles`` and a molblock of its heavy atoms in the receptor's frame."""

    name: str
    smiles: str
    molblock: str

    def mol(self) -> Chem.Mol:
        """The RDKit molecule with the reference coordinates (no hydrogens)."""
        return Chem.MolFromMolBlock(self.molblock)


def tutorial_complex() -> tuple[Receptor, Reference]:
    """The 5-HT1B receptor and its ergot ligand from ProLIF's documentation (``prolif/data/vina``).

    The box is 20 x 22 x 22 angstrom around the pocket; bond orders of ``lig.pdb`` come from
    ``vina_output.sdf``.
    """
    folder = tutorial_folder()
    receptor = _prepare("5-HT1B (ProLIF tutorial)", (folder / "rec.pdb").read_text(), TUTORIAL_BOX)
    template = next(iter(Chem.SDMolSupplier(str(folder / "vina_output.sdf"))))
    return receptor, reference_ligand(folder / "lig.pdb", template=template, name="dihydroergotamine")


def load_receptor(
    source: str | Path,
    *,
    box: Box | None = None,
    reference: str | Path | None = None,
    cache_folder: Path | None = None,
) -> Receptor:
    """Prepare the protein in ``source`` (a PDB file or PDB id) for docking.

    The search space is ``box``, or is around ``reference``: a ligand file (SDF, MOL, MOL2, PDB) or the
    three-letter code of a HETATM residue of ``source``. Raises :class:`DockingInputError` for anything
    unusable, such as a box without receptor atoms.
    """
    name, text = read_structure(source, cache=cache_folder)
    if box is None:
        if reference is None:
            raise DockingInputError("Where to dock? Give a box (centre and size) or a reference ligand.")
        box = Box.around(_reference_coordinates(text, reference))
    return _prepare(name, text, box)


def with_box(receptor: Receptor, box: Box) -> Receptor:
    """The same receptor with another search space."""
    check_box(box, receptor.coordinates())
    return replace(receptor, box=box)


def reference_ligand(
    path: str | Path, *, template: Chem.Mol | None = None, smiles: str | None = None, name: str = ""
) -> Reference:
    """Read a ligand with a known pose; a PDB file needs a ``template`` or ``smiles`` for its bond orders."""
    mol = _read_ligand(Path(path))
    if smiles is not None:
        template = Chem.MolFromSmiles(smiles)
        if template is None:
            raise DockingInputError(f"The reference SMILES does not parse: {smiles}")
    if template is not None:
        with _quiet():
            try:
                mol = AllChem.AssignBondOrdersFromTemplate(Chem.RemoveHs(template), Chem.RemoveHs(mol))
            except ValueError as error:
                raise DockingInputError(
                    f"The reference ligand {path} does not match its SMILES: {error}"
                ) from error
    elif Path(path).suffix.lower() == ".pdb":
        raise DockingInputError(f"{path} holds no bond orders: give the ligand's SMILES, or an SDF file.")
    mol = Chem.RemoveHs(mol)
    Chem.AssignStereochemistryFrom3D(mol)
    return Reference(name or Path(path).stem, Chem.MolToSmiles(mol), Chem.MolToMolBlock(mol))


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


def _prepare(name: str, text: str, box: Box) -> Receptor:
    clean = clean_structure(text, _known_residues())
    try:
        atoms = coordinates(clean.pdb)
    except ValueError as error:
        raise DockingInputError(f"{name}: a coordinate in the PDB file is not a number ({error}).") from error
    if not np.isfinite(atoms).all():
        raise DockingInputError(f"{name}: a coordinate in the PDB file is not a number.")
    check_box(box, atoms)
    polymer, notes = _polymer(name, clean.pdb)
    from meeko import PDBQTWriterLegacy

    rigid, _flexible = PDBQTWriterLegacy.write_string_from_polymer(polymer)
    check_box(box, coordinates(rigid))
    return Receptor(name, aligned(polymer.to_pdb()), rigid, box, clean.notes + notes)


def _polymer(name: str, pdb: str) -> tuple[Any, tuple[str, ...]]:
    """meeko's polymer of ``pdb``; residues that match no template are left out, and named in the notes."""
    from meeko import MoleculePreparation, Polymer

    def build(allow_bad: bool) -> Any:
        with _quiet():
            return Polymer.from_pdb_string(
                pdb,
                _templates(),
                MoleculePreparation.from_config({"compute_charges": False}),
                {},
                [],
                False,
                allow_bad,
                blunt_ends=[],
                default_altloc="A",
            )

    try:
        return build(False), ()
    except Exception as first:
        try:
            polymer = build(True)
        except Exception as error:
            raise DockingInputError(
                f"meeko cannot prepare the receptor {name}: {_first_line(error)}"
            ) from first
    given = _residues(pdb)
    kept = _residues(polymer.to_pdb())
    if not kept:
        raise DockingInputError(f"meeko recognised no residue of the receptor {name}.")
    lost = sorted(given - kept)
    return polymer, (f"left out {len(lost)} residues meeko does not recognise: {', '.join(lost)}",)


def _residues(pdb: str) -> set[str]:
    return {
        f"{line[21].strip()}:{line[22:27].strip()}" for line in pdb.splitlines() if line.startswith("ATOM")
    }


@cache
def _templates() -> Any:
    from meeko import ResidueChemTemplates

    return ResidueChemTemplates.create_from_defaults()


@cache
def _known_residues() -> frozenset[str]:
    templates = _templates()
    return frozenset(templates.residue_templates) | frozenset(templates.ambiguous)


def tutorial_folder() -> Path:
    """The folder of the installed ProLIF that holds its tutorial complex."""
    with warnings.catch_warnings(record=True):  # MDAnalysis, on import, insists on showing its deprecations
        import prolif.datafiles

    folder = Path(prolif.datafiles.datapath) / "vina"
    if not (folder / "rec.pdb").is_file():
        raise DockingInputError(f"This ProLIF has no tutorial complex in {folder}; install prolif>=2.0.")
    return folder


def _reference_coordinates(text: str, reference: str | Path) -> NDArray[np.float64]:
    path = Path(reference).expanduser()
    if path.is_file():
        positions: NDArray[np.float64] = np.asarray(_read_ligand(path).GetConformer().GetPositions())
    elif len(str(reference)) <= 3 and str(reference).isalnum():
        positions = coordinates(ligand_block(text, str(reference)))
    else:
        raise DockingInputError(f"No reference ligand file '{reference}'.")
    if not len(positions) or not math.isfinite(float(positions.sum())):
        raise DockingInputError(f"The reference ligand {reference} has no usable coordinates.")
    return positions


def _read_ligand(path: Path) -> Chem.Mol:
    if not path.is_file():
        raise DockingInputError(f"No reference ligand file '{path}'.")
    suffix = path.suffix.lower()
    with _quiet():
        if suffix == ".pdb":
            mol = Chem.MolFromPDBFile(str(path), removeHs=False)
        elif suffix == ".mol2":
            mol = Chem.MolFromMol2File(str(path), removeHs=False)
        elif suffix in (".sdf", ".mol"):
            mol = next(iter(Chem.SDMolSupplier(str(path), removeHs=False)), None)
        else:
            raise DockingInputError(f"Cannot read a ligand from '{path.name}': use SDF, MOL, MOL2 or PDB.")
    if mol is None or mol.GetNumAtoms() == 0 or mol.GetNumConformers() == 0:
        raise DockingInputError(f"No molecule with coordinates could be read from {path}.")
    return mol


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence what RDKit and meeko print and log while they try alternatives."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), rdBase.BlockLogs(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
