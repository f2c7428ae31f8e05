"""The residues of one model: chains chosen, one location for each atom, names as meeko wants them.

What is decided here is said in notes. Residues keep the label that the file gives them, so that a message names
what its reader can find.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import gemmi
import numpy as np
from numpy.typing import NDArray

from docking.records import DockingInputError

RENAMED = {"HSD": "HIS", "HSE": "HIS", "HSP": "HIS", "MSE": "MET", "NH2": "NHE"}
WATERS = frozenset(["HOH", "WAT", "TIP", "TP3", "SOL", "DOD", "H2O", "OH2", "SPC"])
CAP_ATOMS = frozenset(["CAY", "CY", "OY", "HY1", "HY2", "HY3", "NT", "HNT", "CAT", "HT1", "HT2", "HT3"])
"""CHARMM writes the caps of a chain as atoms of its first and last residue."""
_ATOMS_RENAMED = {
    ("ILE", "CD"): "CD1", ("MSE", "SE"): "SD", ("SEC", "SE"): "SG", ("*", "OT1"): "O", ("*", "OT2"): "OXT",
    ("*", "OC1"): "O", ("*", "OC2"): "OXT",
}  # fmt: skip
_BOND = 2.5
"""Angstrom: farther apart than this, two parts of a residue are not the same residue."""
_LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits


@dataclass(slots=True)
class Atom:
    """One atom: its name, element (a symbol such as ``Zn``) and position, angstrom."""

    name: str
    element: str
    position: tuple[float, float, float]


@dataclass(slots=True)
class Residue:
    """A residue or another molecule of the file; ``chain`` is the letter in the prepared receptor,
    ``given_chain`` the name in the file."""

    name: str
    chain: str
    number: int
    insertion: str
    given_name: str
    given_chain: str
    hetero: bool
    atoms: list[Atom] = field(default_factory=list)

    @property
    def label(self) -> str:
        """What a person reads: name, number, chain."""
        chain = f" {self.given_chain}" if self.given_chain else ""
        return f"{self.given_name} {self.number}{self.insertion}{chain}"

    @property
    def key(self) -> str:
        """What meeko calls it."""
        return f"{self.chain}:{self.number}{self.insertion}"

    def heavy(self) -> list[Atom]:
        """The atoms that are not hydrogens."""
        return [atom for atom in self.atoms if atom.element != "H"]

    def names(self) -> set[str]:
        """The names of the heavy atoms."""
        return {atom.name for atom in self.heavy()}

    def atom(self, name: str) -> Atom | None:
        """The atom of that name."""
        return next((atom for atom in self.atoms if atom.name == name), None)

    def positions(self) -> NDArray[np.float64]:
        """Positions of the heavy atoms: (n, 3), angstrom."""
        return np.array([atom.position for atom in self.heavy()], dtype=np.float64).reshape(-1, 3)


def read_residues(
    structure: gemmi.Structure, *, model: int = 1, chains: Sequence[str] = ()
) -> tuple[list[Residue], list[str]]:
    """The residues of the ``model`` (counted from 1) in ``chains`` (all when empty), and notes.

    Raises :class:`DockingInputError` for a model or chain that there is not.
    """
    if not 1 <= model <= len(structure):
        raise DockingInputError(f"There is no model {model}: the file has {len(structure)}.")
    notes = []
    if len(structure) > 1:
        notes.append(f"model {model} of {len(structure)} is used")
    chosen = structure[model - 1]
    names = list(dict.fromkeys(chain.name for chain in chosen))
    missing = [name for name in chains if name not in names]
    if missing:
        shown = ", ".join(name or "(blank)" for name in names)
        raise DockingInputError(f"There is no chain {', '.join(missing)}; the file has: {shown}.")
    left = [name for name in names if chains and name not in chains]
    if left:
        notes.append(f"chains left out as asked: {', '.join(left)}")
    letters = _Letters(names)
    counts: Counter[str] = Counter()
    known: dict[str, Residue] = {}
    found = []
    for chain in chosen:
        if chains and chain.name not in chains:
            continue
        for group in _same_place(chain):
            residue = _one_location(group, chain.name, counts)
            if not residue.atoms or _joined(residue, known):
                continue
            water = residue.name in WATERS
            residue.chain, residue.number = letters.place(
                chain.name, residue.number, residue.insertion, may_repeat=water
            )
            known[residue.label] = residue
            found.append(residue)
    first = {letter: index for index, letter in reversed(list(enumerate(residue.chain for residue in found)))}
    found.sort(key=lambda residue: (first[residue.chain], residue.number, residue.insertion))
    notes += letters.notes()
    notes += [f"left out {count} atoms: {reason}" for reason, count in sorted(counts.items()) if count]
    return found, notes


def pdb_lines(residues: Iterable[Residue], record: str = "ATOM") -> list[str]:
    """Lines of PDB text with names, elements and all else in today's columns."""
    lines: list[str] = []
    for residue in residues:
        for atom in residue.atoms:
            name = atom.name if len(atom.name) >= 4 or len(atom.element) == 2 else f" {atom.name}"
            x, y, z = atom.position
            lines.append(
                f"{record:<6}{(len(lines) + 1) % 100_000:5d} {name:<4.4} {residue.name:>3} {residue.chain}"
                f"{residue.number:4d}{residue.insertion or ' '}   {x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00"
                f"          {atom.element.upper():>2}"
            )
    return lines


class _Letters:
    """Gives each chain one letter, and another to what would repeat a number in it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._single = {name for name in names if len(name) == 1 and name in _LETTERS}
        self._letters: dict[tuple[str, int], str] = {}
        self._used: dict[str, set[tuple[int, str]]] = {}
        self._part: dict[str, int] = {}

    def place(self, name: str, given: int, insertion: str, *, may_repeat: bool) -> tuple[str, int]:
        """The letter of a residue of the chain ``name``, and its number, which has at most four digits."""
        number = given if -999 <= given <= 9999 else given % 10_000
        place = (number, insertion)
        part = self._part.get(name, 0)
        while not may_repeat and place in self._used.setdefault(self._letter(name, part), set()):
            part += 1
        self._part[name] = part
        letter = self._letter(name, part)
        self._used.setdefault(letter, set()).add(place)
        return letter, number

    def notes(self) -> list[str]:
        """Which chains have another letter than in the file."""
        renamed = []
        for (name, part), letter in self._letters.items():
            if name != letter and (self._used.get(letter)):
                shown = f"chain {name}" if name else "the chain without a name"
                repeated = ", where numbers repeat," if part else ""
                renamed.append(f"{shown}{repeated} is {letter} in what is prepared")
        return renamed

    def _letter(self, name: str, part: int) -> str:
        key = (name, part)
        if key not in self._letters:
            taken = set(self._letters.values()) | self._single
            if part == 0 and name in self._single:
                self._letters[key] = name
            else:
                free = [letter for letter in _LETTERS if letter not in taken]
                if not free:
                    raise DockingInputError("More than 62 chains: name those that are needed.")
                self._letters[key] = free[0]
        return self._letters[key]


def _same_place(chain: gemmi.Chain) -> Iterator[list[gemmi.Residue]]:
    """Residues of the same number that are alternatives of each other; others alone."""
    group: list[gemmi.Residue] = []
    for residue in chain:
        alternative = (
            bool(group)
            and residue.seqid == group[0].seqid
            and residue.name not in {other.name for other in group}
            and all(_has_locations(other) for other in (*group, residue))
        )
        if alternative:
            group.append(residue)
        else:
            if group:
                yield group
            group = [residue]
    if group:
        yield group


def _has_locations(residue: gemmi.Residue) -> bool:
    return any(atom.has_altloc() for atom in residue)


def _one_location(group: list[gemmi.Residue], chain: str, counts: Counter[str]) -> Residue:
    """One residue of a group of alternatives, each atom at one location: the one with the most occupancy."""
    best = max(group, key=lambda residue: sum(atom.occ for atom in residue))
    atoms = list(best)
    occupancy: dict[str, float] = {}
    for atom in atoms:
        if atom.has_altloc():
            occupancy[atom.altloc] = occupancy.get(atom.altloc, 0.0) + atom.occ
    wanted = min(occupancy, key=lambda location: (-round(occupancy[location], 3), location), default="")
    given, insertion = int(best.seqid.num or 0), best.seqid.icode.strip()
    hetero = best.het_flag == "H"
    residue = Residue(RENAMED.get(best.name, best.name), "", given, insertion, best.name, chain, hetero)
    counts["alternate location"] += sum(len(other) for other in group if other is not best)
    chosen: dict[str, int] = {}
    for index in sorted(
        range(len(atoms)), key=lambda i: (atoms[i].has_altloc() and atoms[i].altloc != wanted, i)
    ):
        name = _ATOMS_RENAMED.get((best.name, atoms[index].name)) or _ATOMS_RENAMED.get(
            ("*", atoms[index].name)
        )
        name = name or atoms[index].name
        if name in CAP_ATOMS and not hetero:
            counts["terminal cap"] += 1
        elif name in chosen:
            counts["alternate location"] += 1
        else:
            chosen[name] = index
    for name, index in sorted(chosen.items(), key=lambda item: item[1]):
        x, y, z = atoms[index].pos.tolist()
        residue.atoms.append(Atom(name, _element(best.name, name, atoms[index]), (x, y, z)))
    return residue


def _joined(part: Residue, known: dict[str, Residue]) -> bool:
    """Add ``part`` to the residue of the same label when it is the rest of it, far away in the file."""
    whole = known.get(part.label)
    if whole is None or {atom.name for atom in whole.atoms} & {atom.name for atom in part.atoms}:
        return False
    here = np.array([atom.position for atom in part.atoms])
    there = np.array([atom.position for atom in whole.atoms])
    if np.linalg.norm(here[:, None] - there[None], axis=2).min() > _BOND:
        return False
    whole.atoms.extend(part.atoms)
    return True


def _element(residue: str, name: str, atom: gemmi.Atom) -> str:
    """The symbol of an atom: in amino acids and nucleotides the first letter of its name, wherever it is."""
    kind = gemmi.find_tabulated_residue(RENAMED.get(residue, residue)).kind
    element = str(atom.element.name)
    if kind in (gemmi.ResidueKind.AA, gemmi.ResidueKind.RNA, gemmi.ResidueKind.DNA) or element == "X":
        element = next((letter.upper() for letter in name if letter.isalpha()), "X")
    return "H" if element == "D" else element
