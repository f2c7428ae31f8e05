"""Protein files as people have them: PDB and mmCIF, packed by gzip or not, or a PDB id; read by gemmi.

Old and simulation files differ from what a parser expects: text where today's format has the element, residue
names of four letters, atoms of a residue far apart in the file. What can be put right without a doubt is put
right here; what needs a decision is left to :mod:`docking.residues` and :mod:`docking.hetero`.
"""

from __future__ import annotations

import gzip
import math
import re
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import gemmi

from docking.records import DockingInputError

PDB_SUFFIXES = (".pdb", ".ent", ".brk", ".pdb1", ".pdbqt", ".pqr")
CIF_SUFFIXES = (".cif", ".mmcif", ".pdbx")
RCSB = "https://files.rcsb.org/download/{}"
_PDB_ID = re.compile(r"[1-9][A-Za-z0-9]{3}")
_OLD_NAMES = {"TIP3": "HOH ", "TIP4": "HOH ", "TP3M": "HOH ", "HISA": "HID ", "HISB": "HIE ", "HISD": "HID ",
              "HISE": "HIE ", "HISH": "HIP ", "HISP": "HIP ", "LYSH": "LYS ", "ASPH": "ASH ", "GLUH": "GLH ",
              "CYS2": "CYX "}  # fmt: skip
"""Names of four letters that reach into the column of the chain, as simulation packages write them."""
_TERMINAL = re.compile(
    "[NC](ALA|ARG|ASN|ASP|CYS|CYX|GLN|GLU|GLY|HID|HIE|HIP|HIS|ILE|LEU|LYS|MET|PHE|PRO|SER|THR|TRP|TYR|VAL)"
)
"""The first and last residues of a chain, as AMBER calls them."""
_CHARGE = re.compile(r"[+-]?\d*\.\d+")
"""What a PDBQT file has where a PDB file has the name of a segment: a partial charge."""
_AUTODOCK = {"A": "C", "NA": "N", "NS": "N", "OA": "O", "OS": "O", "SA": "S", "HD": "H", "HS": "H"}
"""Types of atoms in a PDBQT file that are no element, or another one by their letters."""


def read_text(path: Path) -> str:
    """The text of a file, unpacked when it is packed by gzip, whatever its name; raises when unreadable."""
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DockingInputError(f"Cannot read '{path}': {error}") from error
    return data.decode("utf-8", errors="replace")


def suffix_of(path: str | Path) -> str:
    """The ending of a file's name in lower case, without ``.gz``."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes[-1:] == [".gz"]:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def stem_of(path: str | Path) -> str:
    """The name of a file without its ending and without ``.gz``."""
    name = Path(path).name
    for ending in (".gz", suffix_of(path)):
        if ending and name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name


def read_structure(
    source: str | Path, *, cache: Path | None = None, timeout: float = 20.0
) -> tuple[str, gemmi.Structure]:
    """(name, structure) behind ``source``: a file, or a four-character PDB id downloaded from the RCSB.

    ``cache`` is a folder where a downloaded file is kept (the current one by default); ``timeout`` is in
    seconds. Raises :class:`DockingInputError` when there is no such file, no way to the RCSB, or no atom.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return stem_of(path), parse_structure(read_text(path), path.name)
    if not _PDB_ID.fullmatch(str(source)):
        raise DockingInputError(f"No receptor file '{source}', and it is not a PDB id (such as 1IEP).")
    code = str(source).upper()
    kept = _downloaded(code, cache or Path(), timeout)
    return code, parse_structure(read_text(kept), kept.name)


def parse_structure(text: str, file_name: str) -> gemmi.Structure:
    """The structure in ``text``, which is mmCIF when it looks so, else PDB."""
    is_cif = suffix_of(file_name) in CIF_SUFFIXES or text.lstrip()[:5].lower() == "data_"
    try:
        if is_cif:
            block = gemmi.cif.read_string(text).sole_block()
            structure = gemmi.make_structure_from_block(block)
        else:
            structure = gemmi.read_pdb_string(_standard_columns(text, file_name), split_chain_on_ter=True)
    except (RuntimeError, ValueError) as error:
        if isinstance(error, DockingInputError):
            raise
        kind = "mmCIF" if is_cif else "PDB"
        raise DockingInputError(f"'{file_name}' cannot be read as a {kind} file: {error}") from error
    if not any(atom for model in structure for chain in model for residue in chain for atom in residue):
        raise DockingInputError(
            f"'{file_name}' holds no atoms: no protein ATOM records. Is it a PDB or mmCIF file?"
        )
    return structure


def _standard_columns(text: str, file_name: str) -> str:
    """PDB ``text`` with today's columns and the atoms of a residue together, wherever they stand in the file.

    Atoms are put in the order in which their residues begin, within each part between two TER. What a residue has
    twice belongs to another one of the same number, as in files whose chains have no names: it comes after a TER.
    """
    lines: list[str] = []
    part: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        record = line[:6].strip()
        if record in ("ATOM", "HETATM"):
            _check_numbers(line, number, file_name)
            part.append(_standard_line(line))
        elif record in ("TER", "MODEL", "ENDMDL", "END"):
            lines += [*_in_order(part), line]
            part = []
        elif record != "CONECT":
            lines.append(line)
    lines += _in_order(part)
    return "\n".join(lines) + "\n"


def _in_order(part: list[str]) -> list[str]:
    """The atoms of a part of the file, those of a residue together."""
    seen: dict[str, int] = {}
    copies: list[dict[str, list[str]]] = []
    for line in part:
        atom, residue = line[12:27], line[17:27] + line[72:76]
        copy = seen[atom] = seen.get(atom, -1) + 1
        if copy == len(copies):
            copies.append({})
        copies[copy].setdefault(residue, []).append(line)
    ordered: list[str] = []
    for residues in copies:
        if ordered:
            ordered.append("TER")
        ordered += [line for lines in residues.values() for line in lines]
    return ordered


def _standard_line(line: str) -> str:
    name = line[17:21]
    if name in _OLD_NAMES:
        line = line[:17] + _OLD_NAMES[name] + line[21:]
    elif _TERMINAL.fullmatch(name):
        line = line[:17] + name[1:] + " " + line[21:]
    occupancy, factor = _number(line[54:60], 1.0), _number(line[60:66], 0.0)
    if _CHARGE.fullmatch(line[66:76].strip()):
        kind = line[77:79].strip()
        segment, element = "", _element(_AUTODOCK.get(kind, kind))
    else:
        segment, element = line[72:76], _element(line[76:78].strip())
    return f"{line[:54]:<54}{occupancy}{factor}      {segment:<4}{element}"


def _check_numbers(line: str, number: int, file_name: str) -> None:
    try:
        position = [float(line[start : start + 8]) for start in (30, 38, 46)]
    except ValueError:
        position = [math.nan]
    if not all(math.isfinite(value) for value in position):
        raise DockingInputError(
            f"'{file_name}', line {number}: a coordinate in the PDB file is not a number: '{line[30:54]}'."
        )


def _number(text: str, default: float) -> str:
    """Occupancy or temperature factor in six columns; ``default`` where a file has something else there."""
    try:
        value = float(text)
    except ValueError:
        value = default
    return f"{min(max(value, 0.0), 999.0) if math.isfinite(value) else default:6.2f}"


def _element(text: str) -> str:
    """An element in two columns; blank where a file has something else there, which lets the name of the atom
    decide."""
    if text.isalpha() and gemmi.Element(text).atomic_number > 0:
        return f"{text.upper():>2}"
    return "  "


def _downloaded(code: str, folder: Path, timeout: float) -> Path:
    """The file of an entry of the PDB, kept in ``folder``; large entries exist as mmCIF only."""
    names = (f"{code}.pdb", f"{code}.cif")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    for name in names:
        try:
            with urllib.request.urlopen(RCSB.format(name), timeout=timeout) as answer:
                data: bytes = answer.read()
        except urllib.error.HTTPError as error:
            if error.code == 404 and name != names[-1]:
                continue
            raise DockingInputError(f"The RCSB has no file for '{code}' (HTTP {error.code}).") from error
        except OSError as error:
            reason = getattr(error, "reason", error)
            raise DockingInputError(
                f"Cannot download {code} from the RCSB ({reason}). "
                f"Offline? Give the file itself, or put it at {folder / names[0]}."
            ) from error
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
        return folder / name
    raise AssertionError("the last name either answers or raises")
