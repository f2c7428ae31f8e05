"""Protein files made ready for meeko: what to keep, what to rename, which columns to rewrite.

Old and simulation PDB files differ from what a docking tool expects: CHARMM residue names, terminal caps,
text in columns 73-80 where today's format has the element, several models, alternate locations, waters,
ligands and ions.
"""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from docking.records import DockingInputError

RENAMED = {"HSD": "HIS", "HSE": "HIS", "HSP": "HIS", "MSE": "MET"}
CHARMM_CAPS = frozenset(["CAY", "CY", "OY", "HY1", "HY2", "HY3", "NT", "HNT", "CAT", "HT1", "HT2", "HT3"])
WATERS = frozenset(["HOH", "WAT", "TIP", "TIP3", "TP3", "SOL", "DOD", "H2O"])
RCSB = "https://files.rcsb.org/download/{}.pdb"
_PDB_ID = re.compile(r"[1-9][A-Za-z0-9]{3}")


@dataclass(frozen=True, slots=True)
class CleanStructure:
    """Protein ``pdb`` text ready for meeko, and ``notes`` saying what was left out or renamed."""

    pdb: str
    notes: tuple[str, ...]


def read_structure(
    source: str | Path, *, cache: Path | None = None, timeout: float = 20.0
) -> tuple[str, str]:
    """The PDB text behind ``source``: a file, or a four-character PDB id downloaded from the RCSB.

    ``cache`` is a folder where a downloaded file is kept (the current one by default); ``timeout`` is in
    seconds. Returns (name, text). Raises :class:`DockingInputError` when there is no such file or no way
    to the RCSB.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return path.stem, path.read_text(errors="replace")
    if not _PDB_ID.fullmatch(str(source)):
        raise DockingInputError(f"No receptor file '{source}', and it is not a PDB id (such as 1IEP).")
    code = str(source).upper()
    kept = (cache or Path()) / f"{code}.pdb"
    if kept.is_file():
        return code, kept.read_text(errors="replace")
    try:
        with urllib.request.urlopen(RCSB.format(code), timeout=timeout) as answer:
            text: str = answer.read().decode("utf-8", errors="replace")
    except urllib.error.HTTPError as error:
        raise DockingInputError(f"The RCSB has no PDB file for '{code}' (HTTP {error.code}).") from error
    except OSError as error:
        reason = getattr(error, "reason", error)
        raise DockingInputError(
            f"Cannot download {code} from the RCSB ({reason}). "
            f"Offline? Give the file itself, or put it at {kept}."
        ) from error
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(text)
    return code, text


def clean_structure(text: str, known_residues: frozenset[str] | None = None) -> CleanStructure:
    """Protein atoms of the first model of ``text``, one location each, names and columns as meeko wants them.

    ``known_residues`` are the residue names that can be parameterised; others are left out and noted, so that
    nothing ever goes online to look them up. Raises :class:`DockingInputError` when no atom is left.
    """
    lines: list[str] = []
    dropped: Counter[str] = Counter()
    chosen_location: dict[str, str] = {}
    for line in text.splitlines():
        record = line[:6].strip()
        if record == "ENDMDL":
            break
        if record not in ("ATOM", "HETATM"):
            continue
        residue, name = line[17:21].strip(), line[12:16].strip()
        reason = _leave_out(record, residue, name, known_residues)
        if not reason and line[16:17].strip():
            first = chosen_location.setdefault(line[21:27], line[16])
            reason = "" if line[16] == first else "alternate location"
        if reason:
            dropped[reason] += 1
        else:
            lines.append(_standard_line(line, residue, name))
    if not lines:
        raise DockingInputError("The receptor holds no protein ATOM records: is it a PDB file?")
    notes = tuple(f"left out {count} atoms: {reason}" for reason, count in sorted(dropped.items()))
    return CleanStructure("\n".join(lines) + "\nEND\n", notes)


def aligned(pdb: str) -> str:
    """The ATOM lines of ``pdb`` with names, occupancy and element in their columns; RDKit knows residues
    by them."""
    lines = []
    for line in pdb.splitlines():
        if line.startswith(("ATOM", "HETATM")):
            filled = f"{line[:54]:<54}  1.00  0.00"
            lines.append(_standard_line(filled, line[17:21].strip(), line[12:16].strip()))
    return "\n".join(lines) + "\nEND\n"


def _leave_out(record: str, residue: str, name: str, known: frozenset[str] | None) -> str:
    if residue in WATERS:
        return "water"
    if record == "HETATM" and residue != "MSE":
        return f"HETATM {residue}"
    if name in CHARMM_CAPS:
        return "terminal cap"
    if known is not None and RENAMED.get(residue, residue) not in known:
        return f"unknown residue {residue}"
    return ""


def _standard_line(line: str, residue: str, name: str) -> str:
    """One ATOM line with today's names and with columns 73-80 holding nothing but the element."""
    if residue == "ILE" and name == "CD":
        name = "CD1"
    elif residue == "MSE" and name == "SE":
        name = "SD"
    element = re.sub(r"[^A-Za-z]", "", name)[:1].upper()
    column = name if len(name) >= 4 else f" {name:<3}"
    renamed = RENAMED.get(residue, residue)
    if renamed != residue:
        residue_column = f"{renamed:>3} "
    else:
        residue_column = line[17:21]
    body = f"ATOM  {line[6:12]}{column:<4} {residue_column}{line[21:66]}"
    return f"{body:<76}{element:>2}"


def ligand_block(text: str, code: str) -> str:
    """The PDB lines of the first HETATM residue called ``code``; raises :class:`DockingInputError` if
    none."""
    wanted = code.upper()
    first: str | None = None
    lines: list[str] = []
    names: set[str] = set()
    for line in text.splitlines():
        if line[:6].strip() == "ENDMDL":
            break
        if not line.startswith("HETATM"):
            continue
        residue = line[17:20].strip()
        names.add(residue)
        if residue != wanted:
            continue
        first = first or line[20:27]
        if line[20:27] == first and line[16:17] in (" ", "A", ""):
            lines.append(line)
    if not lines:
        found = ", ".join(sorted(names - WATERS)) or "none"
        raise DockingInputError(f"The receptor file has no ligand called {wanted} (it has: {found}).")
    return "\n".join(lines) + "\nEND\n"
