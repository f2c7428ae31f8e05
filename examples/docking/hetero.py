"""What else is in the file of a protein: metals, cofactors, waters, buffers, other ligands.

Metals and cofactors in or at the pocket are part of what a ligand meets, and are kept; waters only where they are
asked for, since a water that stays keeps a place that a ligand may take. What is left out near the pocket is said.
They are written for Vina here, since meeko would go online for most of them, and would bond metals to the protein.
Vina looks at elements, and at which nitrogens and oxygens have hydrogens, so that the bonds can stay unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import gemmi
import numpy as np
from numpy.typing import NDArray

from docking.records import Box, DockingInputError, Selection
from docking.residues import WATERS, Atom, Residue, pdb_lines
from docking.sidechains import Finding

KEEP_WITHIN = 6.0
"""Angstrom: metals and cofactors this near to the pocket are kept."""
SAY_WITHIN = 8.0
"""Angstrom: what is left out this near to the pocket is a warning; Vina's score looks no farther."""
COFACTORS = frozenset([
    "HEM", "HEC", "HEA", "HEB", "NAD", "NAI", "NAP", "NDP", "FAD", "FDA", "FMN", "ATP", "ADP", "ANP", "ACP", "AGS",
    "GTP", "GDP", "GNP", "GSP", "CTP", "UTP", "UDP", "SAM", "SAH", "PLP", "PMP", "TPP", "TDP", "COA", "ACO", "B12",
    "COB", "H4B", "SF4", "FES", "F3S", "MGD",
])  # fmt: skip
"""What enzymes work with, by its code in the PDB."""
_CLASH = 1.6
"""Angstrom: two molecules this near are in the same place."""
_VINA_METALS = frozenset(["Mg", "Mn", "Zn", "Ca", "Fe", "Cu", "Na", "K", "Hg", "Co", "U", "Cd", "Ni"])
_HALOGENS = {"F": "F", "Cl": "Cl", "Br": "Br", "I": "I"}


@dataclass(frozen=True, slots=True)
class Pocket:
    """Where ligands are docked: the ``box``, and the atoms of the ``reference`` (n, 3) when there is one."""

    box: Box
    reference: NDArray[np.float64] | None = None

    def distance(self, positions: NDArray[np.float64]) -> float:
        """From the nearest of ``positions`` (n, 3) to the reference, or to the box when there is none; angstrom."""
        if not len(positions):
            return float("inf")
        if self.reference is not None:
            return nearest(positions, self.reference)
        outside = np.abs(positions - np.asarray(self.box.center)) - np.asarray(self.box.size) / 2.0
        return float(np.linalg.norm(np.maximum(outside, 0.0), axis=1).min())

    def holds(self, positions: NDArray[np.float64], within: float) -> bool:
        """Whether ``positions`` are in the box or ``within`` so many angstrom of the pocket."""
        return bool(self.box.contains(positions).any()) or self.distance(positions) <= within


def nearest(here: NDArray[np.float64], there: NDArray[np.float64]) -> float:
    """The smallest distance between two sets of positions (n, 3), angstrom."""
    return float(np.linalg.norm(here[:, None, :] - there[None, :, :], axis=2).min())


def kind_of(residue: Residue) -> str:
    """What a molecule that is not polymer is: water, metal, ion, cofactor, buffer or molecule."""
    heavy = residue.heavy()
    if residue.name in WATERS:
        return "water"
    if len(heavy) == 1:
        return "metal" if gemmi.Element(heavy[0].element).is_metal else "ion"
    if residue.name in COFACTORS:
        return "cofactor"
    buffer = gemmi.find_tabulated_residue(residue.name).kind == gemmi.ResidueKind.BUF
    return "buffer" if buffer else "molecule"


def choose(
    others: Sequence[Residue], pocket: Pocket, selection: Selection
) -> tuple[list[Residue], list[Finding], list[str]]:
    """(molecules to keep, what is worth a warning, notes) of the molecules beside the polymer."""
    keep = _named(others, selection.keep, "kept")
    leave = _named(others, selection.leave_out, "left out")
    kept: list[Residue] = []
    findings: list[Finding] = []
    far: dict[str, int] = {}
    for residue in others:
        kind, where = kind_of(residue), residue.positions()
        at_pocket = len(where) > 0 and pocket.holds(where, KEEP_WITHIN)
        if not len(where):
            continue
        if pocket.reference is not None and nearest(where, pocket.reference) < _CLASH:
            if id(residue) in keep:
                raise DockingInputError(
                    f"{residue.label} cannot be kept: it is where the reference ligand is."
                )
            continue
        by_place = any(":" in text and matches(residue, text) for text in selection.keep)
        asked = id(residue) in keep and (kind != "water" or at_pocket or by_place)
        wanted = kind in ("metal", "cofactor") and at_pocket and id(residue) not in leave
        if asked or (wanted and not _is_the_ligand(where, kind, pocket)):
            kept.append(residue)
        else:
            findings.append(Finding(residue.label if kind != "water" else "water", where))
            name = "water" if kind == "water" else residue.name
            far[name] = far.get(name, 0) + 1
    notes = [f"kept {residue.label} ({kind_of(residue)})" for residue in kept if kind_of(residue) != "water"]
    waters = [residue for residue in kept if kind_of(residue) == "water"]
    if waters:
        several = "water" if len(waters) == 1 else "waters"
        notes.append(f"kept {len(waters)} {several}: {listed([water.label for water in waters])}")
    if far:
        notes.append("left out: " + ", ".join(f"{count} {name}" for name, count in sorted(far.items())))
    return kept, findings, notes


def left_out_near(findings: Sequence[Finding], pocket: Pocket) -> list[str]:
    """One warning that names the molecules left out near the pocket; none when there are none."""
    near = [(pocket.distance(finding.where), finding.text) for finding in findings]
    names = [
        f"{text} ({distance:.1f} A)"
        for distance, text in sorted(near)
        if distance <= SAY_WITHIN and text != "water"
    ]
    waters = sum(distance <= SAY_WITHIN for distance, text in near if text == "water")
    if waters:
        names.append(f"{waters} water{'s' if waters > 1 else ''}")
    if not names:
        return []
    place = "of the reference" if pocket.reference is not None else "of the box"
    return [f"left out within {SAY_WITHIN:g} A {place}: {listed(names)}"]


def pdbqt_lines(residues: Sequence[Residue]) -> list[str]:
    """The molecules for Vina, rigid; hydrogens of hydroxyls, amines and waters are put where they fit."""
    lines: list[str] = []
    for residue in residues:
        for atom, kind in typed(residue):
            x, y, z = atom.position
            name = atom.name if len(atom.name) >= 4 else f" {atom.name}"
            lines.append(
                f"ATOM  {(len(lines) + 1) % 100_000:5d} {name:<4.4} {residue.name:>3} {residue.chain}"
                f"{residue.number:4d}{residue.insertion or ' '}   {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00"
                f"     0.000 {kind:<2}"
            )
    return lines


def picture_lines(residues: Sequence[Residue]) -> list[str]:
    """The molecules as PDB text with their hydrogens."""
    whole = []
    for residue in residues:
        atoms = [atom for atom, _kind in typed(residue)]
        whole.append(
            Residue(residue.name, residue.chain, residue.number, residue.insertion, residue.given_name,
                    residue.given_chain, True, atoms)
        )  # fmt: skip
    return pdb_lines(whole, "HETATM")


def typed(residue: Residue) -> list[tuple[Atom, str]]:
    """The atoms that Vina is given and the type of each: heavy atoms, and the hydrogens of donors."""
    heavy = residue.heavy()
    hydrogens = [atom for atom in residue.atoms if atom.element == "H"]
    found: list[tuple[Atom, str]] = []
    for atom in heavy:
        bonds = [other for other in heavy if other is not atom and _bonded(atom, other)]
        own = [hydrogen for hydrogen in hydrogens if _distance(atom, hydrogen) < 1.25]
        if atom.element in ("N", "O", "S") and not hydrogens:
            own = _missing_hydrogens(atom, bonds)
        found.append((atom, _vina_type(atom, len(bonds), bool(own))))
        if atom.element in ("N", "O", "S"):
            found += [(hydrogen, "HD") for hydrogen in own]
    return found


def _vina_type(atom: Atom, bonds: int, donor: bool) -> str:
    if atom.element == "N":
        return "NA" if bonds < 3 and not donor else "N"
    fixed = {"O": "OA", "S": "SA", "C": "C", "P": "P", **_HALOGENS}
    if atom.element in fixed:
        return fixed[atom.element]
    # Vina gives all metals one radius and one kind; what it has no name for is a metal all the same.
    return atom.element if atom.element in _VINA_METALS else "Zn"


def _missing_hydrogens(atom: Atom, bonds: Sequence[Atom]) -> list[Atom]:
    """Hydrogens of a water, a hydroxyl or an amine, which the lengths of its bonds tell."""
    place = np.array(atom.position)
    if atom.element == "O" and not bonds:
        directions = [np.array([0.77, 0.64, 0.0]), np.array([-0.77, 0.64, 0.0])]
    elif (
        len(bonds) == 1
        and bonds[0].element == "C"
        and _distance(atom, bonds[0]) > 1.33
        and atom.element != "S"
    ):
        away = place - np.array(bonds[0].position)
        away /= np.linalg.norm(away)
        side = np.cross(away, [1.0, 0.0, 0.0] if abs(away[0]) < 0.9 else [0.0, 1.0, 0.0])
        side /= np.linalg.norm(side)
        directions = [0.33 * away + 0.94 * side]
        if atom.element == "N":
            directions.append(0.33 * away - 0.94 * side)
    elif (
        len(bonds) == 1
        and bonds[0].element == "C"
        and atom.element == "N"
        and _distance(atom, bonds[0]) > 1.22
    ):
        away = place - np.array(bonds[0].position)
        directions = [away / np.linalg.norm(away)]
    else:
        return []
    positions = [place + 0.97 * direction for direction in directions]
    return [
        Atom(f"H{index}", "H", (float(p[0]), float(p[1]), float(p[2])))
        for index, p in enumerate(positions, start=1)
    ]


def _is_the_ligand(where: NDArray[np.float64], kind: str, pocket: Pocket) -> bool:
    """Whether a cofactor is in the middle of a box that was given without a reference: it is what to replace."""
    if kind != "cofactor" or pocket.reference is not None:
        return False
    return float(np.linalg.norm(where.mean(axis=0) - np.asarray(pocket.box.center))) < 5.0


def _named(others: Sequence[Residue], wanted: Sequence[str], action: str) -> set[int]:
    """The molecules that the texts of a selection name; raises for a text that names none."""
    found: set[int] = set()
    for text in wanted:
        hits = [id(residue) for residue in others if matches(residue, text)]
        if not hits:
            there = sorted({"waters" if kind_of(r) == "water" else r.label for r in others})
            raise DockingInputError(
                f"'{text}' cannot be {action}: there is no such molecule beside the protein "
                f"(there is: {listed(there) or 'nothing'})."
            )
        found.update(hits)
    return found


def matches(residue: Residue, text: str) -> bool:
    """Whether a text of a :class:`Selection` names a molecule."""
    if text.lower() in ("water", "waters"):
        return kind_of(residue) == "water"
    parts = text.split(":")
    place = [residue.given_chain, f"{residue.number}{residue.insertion}"]
    if len(parts) == 1:
        return residue.given_name.upper() == text.upper()
    if len(parts) == 2:
        return parts == place
    return len(parts) == 3 and parts[0].upper() == residue.given_name.upper() and parts[1:] == place


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names with commas, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _bonded(first: Atom, second: Atom) -> bool:
    reach = gemmi.Element(first.element).covalent_r + gemmi.Element(second.element).covalent_r
    return _distance(first, second) < min(reach + 0.3, 2.6)


def _distance(first: Atom, second: Atom) -> float:
    return float(np.linalg.norm(np.subtract(first.position, second.position)))
