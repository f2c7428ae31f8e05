"""Amino acids as files have them made such that meeko knows each: cut side chains, missing oxygens, odd names.

A residue that is not complete is read as alanine, or glycine when even CB is missing: its backbone stays where it
is, since a hole in the protein would let ligands dock where there is no room. What is read as something else is
said, for each residue.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import gemmi
import numpy as np
from numpy.typing import NDArray

from docking.residues import Atom, Residue

BACKBONE = ("N", "CA", "C", "O")
AMINO_ACIDS = (
    "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU", "LYS", "MET", "PHE", "PRO",
    "SER", "THR", "TRP", "TYR", "VAL",
)  # fmt: skip
PROTOMERS = {
    "HID": "HIS", "HIE": "HIS", "HIP": "HIS", "ASH": "ASP", "GLH": "GLU", "LYN": "LYS", "CYX": "CYS", "CYM": "CYS",
}  # fmt: skip
"""States of protonation that have names, and the amino acid of each."""
_METAL_BOND = 2.9
"""Angstrom: a nitrogen or sulfur this near to a metal binds it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that was decided about the atoms at ``where`` (n, 3): worth a warning when they are in the
    pocket."""

    text: str
    where: NDArray[np.float64]


@cache
def templates() -> Any:
    """meeko's templates of residues."""
    from meeko import ResidueChemTemplates

    return ResidueChemTemplates.create_from_defaults()


@cache
def known_names() -> frozenset[str]:
    """The names of residues that meeko can parameterise without going online."""
    return frozenset(templates().residue_templates) | frozenset(templates().ambiguous)


@cache
def template_atoms(name: str) -> tuple[frozenset[str], int]:
    """(names of the heavy atoms, number of hydrogens) of a residue inside a chain."""
    from rdkit import Chem

    template = templates().residue_templates[name if name != "HIS" else "HIE"]
    mol = Chem.RWMol(template.mol)
    heavy = [
        name
        for name, atom in zip(template.atom_names, mol.GetAtoms(), strict=True)
        if atom.GetAtomicNum() > 1
    ]
    return frozenset(heavy), mol.GetNumAtoms() - len(heavy)


def split(residues: Sequence[Residue]) -> tuple[list[Residue], list[Residue]]:
    """(the polymer's residues, other molecules); an amino acid by itself, as ligands are, is another molecule."""
    polymer = [residue for residue in residues if _is_polymer(residue)]
    ends = [atom.position for residue in polymer for name in ("N", "C") if (atom := residue.atom(name))]
    places = np.array(ends).reshape(-1, 3)
    alone = set()
    for residue in polymer:
        own = [atom.position for name in ("N", "C") if (atom := residue.atom(name))]
        if residue.hetero and len(own) == 2:
            near = (np.linalg.norm(places[:, None] - np.array(own)[None], axis=2) < 1.8).sum()
            if near <= 2:  # its own two ends
                alone.add(id(residue))
    chain = [residue for residue in polymer if id(residue) not in alone]
    kept = {id(residue) for residue in chain}
    return chain, [residue for residue in residues if id(residue) not in kept]


def _is_polymer(residue: Residue) -> bool:
    """Whether a residue may be part of a chain: an amino acid with its backbone, a nucleotide, or a cap."""
    names = residue.names()
    if {"N", "CA", "C"} <= names or residue.name in (*AMINO_ACIDS, *PROTOMERS):
        return True
    if residue.name in ("ACE", "NME", "NHE"):
        return True
    return residue.name in known_names() and bool({"C1'", "C1*"} & names) and len(names) > 15


def complete(residues: Sequence[Residue]) -> tuple[list[Residue], list[Finding]]:
    """The polymer's ``residues`` such that meeko knows each; and what was decided, for each that is not as
    given."""
    kept, findings = [], []
    for residue in residues:
        reason = _complete(residue, residues)
        if reason:
            findings.append(Finding(f"{residue.label} {reason}", residue.positions()))
        # Without hydrogens serine looks the same from both ends: meeko takes the first for the backbone.
        residue.atoms.sort(
            key=lambda atom: BACKBONE.index(atom.name) if atom.name in BACKBONE else len(BACKBONE)
        )
        if residue.atoms and not reason.startswith("left out"):
            kept.append(residue)
    return kept, findings


def cut(residue: Residue) -> str:
    """Make a residue an alanine, or a glycine when it has no CB; returns the name."""
    names = residue.names()
    residue.name = "ALA" if "CB" in names else "GLY"
    wanted = {*BACKBONE, "CB", "OXT"} if "CB" in names else {*BACKBONE, "OXT"}
    residue.atoms = [atom for atom in residue.atoms if atom.name in wanted]
    return residue.name


def without_hydrogens(residue: Residue) -> None:
    """Leave a residue's hydrogens to meeko."""
    residue.atoms = residue.heavy()


def bind_metals(residues: Iterable[Residue], metals: Sequence[Residue]) -> list[Finding]:
    """Make cysteines that hold a metal thiolates, and give histidines their hydrogen on the other side."""
    if not metals:
        return []
    places = np.concatenate([metal.positions() for metal in metals])
    findings = []
    for residue in residues:
        base = PROTOMERS.get(residue.name, residue.name)
        if base not in ("CYS", "HIS"):
            continue
        for name, state in (("SG", "CYM"), ("ND1", "HIE"), ("NE2", "HID")):
            atom = residue.atom(name)
            if atom is None or np.linalg.norm(places - atom.position, axis=1).min() > _METAL_BOND:
                continue
            residue.name = state
            without_hydrogens(residue)
            findings.append(Finding(f"{residue.label} binds a metal and is {state}", residue.positions()))
            break
    return findings


def gaps(residues: Sequence[Residue]) -> list[Finding]:
    """Where a chain goes on without being bonded: residues that the file does not have."""
    found = []
    for before, after in pairwise(residues):
        end, start = before.atom("C"), after.atom("N")
        if before.chain != after.chain or end is None or start is None:
            continue
        missing = after.number - before.number - 1
        far = float(np.linalg.norm(np.subtract(end.position, start.position))) > 2.5
        if far and missing > 0:
            first, last = before.number + 1, after.number - 1
            numbers = f"{first}-{last}" if last > first else f"{first}"
            text = f"{before.given_chain}:{numbers}".lstrip(":")
            found.append(Finding(text, np.array([end.position, start.position])))
    return found


def _complete(residue: Residue, all_residues: Sequence[Residue]) -> str:
    """Put one residue right; what was done, empty when it was as it should be."""
    base = PROTOMERS.get(residue.name, residue.name)
    if base not in AMINO_ACIDS:
        return _foreign(residue, all_residues)
    if not {"N", "CA", "C"} <= residue.names():
        return f"left out: its backbone is not complete (it has {', '.join(sorted(residue.names())) or 'hydrogens'})"
    if "O" not in residue.names():
        _add_oxygen(residue, all_residues)
    wanted, hydrogens = template_atoms(base)
    names = residue.names()
    extra = sorted(names - wanted - {"OXT"})
    if extra:
        residue.atoms = [atom for atom in residue.atoms if atom.name not in extra]
    if not wanted <= names:
        missing = sorted(wanted - names)
        return f"read as {cut(residue)}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    _protomer(residue, base, hydrogens)
    return f"read as {base}: {', '.join(extra)} left out" if extra else ""


def _foreign(residue: Residue, all_residues: Sequence[Residue]) -> str:
    """A modified amino acid or a nucleotide: as it is when meeko knows it, else as the one it was made of."""
    if residue.name in known_names():
        without_hydrogens(residue)
        return ""
    letter = gemmi.find_tabulated_residue(residue.name).one_letter_code
    parent = gemmi.expand_one_letter(letter.upper(), gemmi.ResidueKind.AA) if letter.strip() else ""
    residue.name = parent if parent in AMINO_ACIDS else "ALA"
    without_hydrogens(residue)
    # What was added to the parent is left out, and so a part of it may be named otherwise.
    wanted, _ = template_atoms(residue.name)
    residue.atoms = [atom for atom in residue.atoms if atom.name in wanted or atom.name == "OXT"]
    reason = _complete(residue, all_residues)
    return reason or f"read as {residue.name}: meeko does not know it"


def _protomer(residue: Residue, base: str, hydrogens: int) -> None:
    """Name the state of protonation that the hydrogens of a file tell; leave them to meeko unless all are there."""
    present = {atom.name for atom in residue.atoms if atom.element == "H"}
    if not present:
        return
    if base == "HIS":
        sides = ("HD1" in present, "HE2" in present)
        residue.name = {(True, True): "HIP", (True, False): "HID", (False, True): "HIE"}.get(sides, "HIS")
    elif base == "ASP" and present & {"HD2", "HD1"}:
        residue.name = "ASH"
    elif base == "GLU" and present & {"HE2", "HE1"}:
        residue.name = "GLH"
    if len(present) < hydrogens - 1 or base == "HIS":
        without_hydrogens(residue)


def _add_oxygen(residue: Residue, all_residues: Sequence[Residue]) -> None:
    """Place the carbonyl oxygen in the plane of what is around its carbon, at 1.23 angstrom."""
    n, ca, c = (np.array(atom.position) for name in ("N", "CA", "C") if (atom := residue.atom(name)))
    away = _unit(c - ca)
    following = next(
        (
            np.array(atom.position)
            for other in all_residues
            if other is not residue and (atom := other.atom("N"))
            and float(np.linalg.norm(np.subtract(atom.position, c))) < 1.8
        ),
        None,
    )  # fmt: skip
    if following is not None:
        direction = _unit(away - _unit(following - c))
    else:
        side = ca - n
        side = side - away * float(side @ away)
        direction = 0.5 * away + 0.866 * _unit(side)
    x, y, z = (c + 1.23 * direction).tolist()
    residue.atoms.append(Atom("O", "O", (x, y, z)))


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector
