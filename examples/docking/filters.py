"""Which contacts a hit has to have: ``hbond:ASP129``, a kind alone (``hbond``), or a residue alone (``ASP129``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import cellmill
from docking.interactions import Contact, contacts
from docking.receptor import Receptor
from docking.records import Docked, DockingInputError

KINDS = {
    "hbond": ("HBDonor", "HBAcceptor"), "hbond-donor": ("HBDonor",), "hbond-acceptor": ("HBAcceptor",),
    "ionic": ("Cationic", "Anionic"), "cation-pi": ("CationPi", "PiCation"),
    "pi-stacking": ("PiStacking", "FaceToFace", "EdgeToFace"), "halogen": ("XBDonor", "XBAcceptor"),
    "hydrophobic": ("Hydrophobic",),
}  # fmt: skip
"""Kinds as a user names them, and ProLIF's names of each; donor and acceptor are the ligand's."""
_RESIDUE = re.compile(r"([A-Z0-9]{2,4}?)(-?\d+)(?:\.(\w*))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Requirement:
    """A contact that a hit has to have, as it was given (``text``): any of ``kinds`` with any of ``residues``, where
    these are not empty."""

    text: str
    kinds: frozenset[str]
    residues: frozenset[str]

    def met(self, found: Iterable[Contact]) -> bool:
        """Whether one of the contacts is what is required."""
        return any(
            (not self.kinds or contact.kind in self.kinds)
            and (not self.residues or contact.residue in self.residues)
            for contact in found
        )


def requirements(texts: Sequence[str], receptor: Receptor) -> tuple[Requirement, ...]:
    """What ``texts`` require; raises :class:`DockingInputError` for a kind, or a residue of ``receptor``, that there is
    not."""
    there = _residues(receptor)
    return tuple(_requirement(text.strip(), there) for text in texts)


def contacts_task(receptor: Receptor) -> Any:
    """A parallel function from a PDBQT pose to its contacts with ``receptor``, by ProLIF."""

    @cellmill.parallel(retries=1, name="contacts")
    def find(pose: str) -> tuple[Contact, ...]:
        return tuple(contacts(receptor, Docked("", pose=pose))[1])

    return find


def as_text(found: Iterable[Contact]) -> str:
    """Contacts in a cell of a table, as a requirement names them: ``ionic:ASP129.A hydrophobic:PHE330.B``."""
    names = {name: kind for kind in reversed(KINDS) for name in KINDS[kind]}
    return " ".join(
        dict.fromkeys(f"{names.get(contact.kind, contact.kind)}:{contact.residue}" for contact in found)
    )


def _requirement(text: str, there: dict[str, list[str]]) -> Requirement:
    kind, colon, residue = text.partition(":")
    if not colon and kind.lower() not in KINDS:
        kind, residue = "", text
    if kind and kind.lower() not in KINDS:
        raise DockingInputError(
            f"'{text}' asks for a kind of contact that there is not: give one of {', '.join(KINDS)}, as in "
            "hbond:ASP129."
        )
    kinds = frozenset(KINDS[kind.lower()]) if kind else frozenset()
    named = _named(text, residue, there) if residue or colon else ()
    return Requirement(text, kinds, frozenset(named))


def _named(text: str, residue: str, there: dict[str, list[str]]) -> list[str]:
    """The residues (as ProLIF names them) that a requirement means: in all chains where it names none."""
    match = _RESIDUE.fullmatch(residue)
    if match is None:
        raise DockingInputError(
            f"'{text}' names no kind of contact ({', '.join(KINDS)}) and no residue, such as ASP129 or ASP129.A."
        )
    number, chain = match[2], match[3]
    name = match[1].upper()
    found = [
        each
        for each in there.get(number, [])
        if each.startswith(f"{name}{number}.") and (chain is None or each.endswith(f".{chain}"))
    ]
    if not found:
        others = there.get(number, [])
        known = f"{number} is {' and '.join(others)}" if others else f"there is no residue {number}"
        raise DockingInputError(f"'{text}': the receptor has no {residue}; {known}.")
    return found


def _residues(receptor: Receptor) -> dict[str, list[str]]:
    """The residues of the receptor, as ProLIF names them (ASP129.A), by their number."""
    found: dict[str, dict[str, None]] = {}
    for line in receptor.pdb.splitlines():
        if line.startswith(("ATOM", "HETATM")):
            number = line[22:26].strip()
            found.setdefault(number, {})[f"{line[17:20].strip()}{number}.{line[21].strip()}"] = None
    return {number: list(names) for number, names in found.items()}
