"""The rows of a file of molecules: SMILES, tables and SD files, packed or not, in any usual encoding.

What has to be found is found: the encoding, the separator, the column of SMILES and that of names. What was decided
is said.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from rdkit import Chem, rdBase

from docking.records import DockingInputError, Entry
from docking.structure import suffix_of

SMILES_SUFFIXES = (".smi", ".smiles", ".txt", ".ism", ".can")
TABLE_SUFFIXES = (".csv", ".tsv", ".tab")
SD_SUFFIXES = (".sdf", ".sd", ".mol", ".mdl")
SEPARATORS = (",", ";", "\t", "|")
_NAMES = ("name", "title", "id", "compound", "molecule")
"""What a column of names is called, and what such a name ends or begins with."""
_LOOKED_AT = 50
"""Rows that are read to find out what a column holds."""


def read_rows(file: Path, say: Callable[[str], None]) -> list[Entry]:
    """Every row of ``file``, its SMILES as given; raises :class:`DockingInputError` for what is no such file."""
    suffix = suffix_of(file)
    known = SMILES_SUFFIXES + TABLE_SUFFIXES + SD_SUFFIXES
    if suffix not in known:
        raise DockingInputError(
            f"Cannot read ligands from '{file.name}': known endings are {', '.join(known)}, also with .gz."
        )
    text = _decoded(file, say)
    if suffix in SD_SUFFIXES:
        return list(_sd_records(text))
    if suffix in TABLE_SUFFIXES or _has_header(text):
        return _table_rows(text, file.name, suffix, say)
    return _smiles_rows(text, file.name, say)


def sd_rows(entries: Sequence[Entry]) -> list[Entry]:
    """The molecules of SD records, which ``entries`` hold in the place of SMILES, as SMILES."""
    return [_from_record(entry) for entry in entries]


def _decoded(file: Path, say: Callable[[str], None]) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, else Windows' Latin letters."""
    try:
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise DockingInputError(f"Cannot read '{file}': {error}") from error
    if data[:4] == b"PK\x03\x04":
        raise DockingInputError(
            f"Cannot read '{file.name}' as text: it is a spreadsheet or a zip archive. Export it as CSV."
        )
    try:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            text = data.decode("utf-16")
        else:
            text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
        say(f"{file.name} is not UTF-8: read as Windows-1252")
    if "\0" in text:
        raise DockingInputError(f"Cannot read '{file.name}' as text: it holds bytes that are none.")
    return text


def _has_header(text: str) -> bool:
    """Whether the first line names columns, one of them of SMILES."""
    first = next(iter(text.splitlines()), "")
    cells = [cell.strip().strip('"').lower() for cell in csv_cells(first, _separator(text))]
    return len(cells) > 1 and not first.startswith("# ") and any("smiles" in cell for cell in cells)


def csv_cells(line: str, separator: str) -> list[str]:
    """The cells of one line."""
    if separator == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a cell is longer than it takes
        return line.split(separator)


def _separator(text: str, preferred: str = "") -> str:
    """The character between cells: the one that gives the most rows the same number of cells, more than one."""
    lines = [line for line in text.splitlines() if line.strip()][:_LOOKED_AT]

    def agreement(separator: str) -> tuple[int, bool, int]:
        counts = [len(csv_cells(line, separator)) for line in lines]
        header = counts[0] if counts else 0
        return (sum(count == header for count in counts) if header > 1 else 0, separator == preferred, header)

    best = max((*SEPARATORS, " "), key=agreement) if lines else ","
    return best if agreement(best)[0] else preferred or ","


def _table_rows(text: str, file_name: str, suffix: str, say: Callable[[str], None]) -> list[Entry]:
    separator = _separator(text, {".tsv": "\t", ".tab": "\t", ".csv": ","}.get(suffix, ""))
    if separator == " ":
        numbered = [(row, line.split()) for row, line in enumerate(text.splitlines(), start=1)]
    else:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        try:
            numbered = [(reader.line_num, cells) for cells in reader]
        except csv.Error as error:
            raise DockingInputError(f"'{file_name}' is not a table: {error}") from error
    rows = [
        (row, [cell.strip() for cell in cells])
        for row, cells in numbered
        if any(cell.strip() for cell in cells)
    ]
    if not rows:
        return []
    header = [cell.lower() for cell in rows[0][1]]
    titled = any("smiles" in cell for cell in header)
    body = rows[1:] if titled else rows
    column = _smiles_column(header if titled else [], [cells for _row, cells in body], file_name, say)
    if column is None:
        raise DockingInputError(
            f"'{file_name}' has no 'smiles' column (it has: {', '.join(header) or 'nothing'})."
        )
    if not titled and not _parses(rows[0][1][column] if column < len(rows[0][1]) else ""):
        body = rows[1:]
    names = (
        _name_column(header, column) if body is not rows else (None if len(header) < 2 else int(column == 0))
    )
    return [
        Entry(row, _cell(cells, column), _cell(cells, names) or f"row-{row}")
        for row, cells in body
    ]  # fmt: skip


def _smiles_column(
    header: Sequence[str], body: Sequence[Sequence[str]], file_name: str, say: Callable[[str], None]
) -> int | None:
    """The column of SMILES: by its name, of several the one that tells most of stereo; without a name, by what it
    holds."""
    candidates = [index for index, cell in enumerate(header) if "smiles" in cell]
    if not candidates:
        width = max((len(cells) for cells in body[:_LOOKED_AT]), default=0)
        found = [
            index
            for index in range(width)
            if _holds_smiles([_cell(cells, index) for cells in body[:_LOOKED_AT]])
        ]
        if found and not header:
            say(f"{file_name} names no column 'smiles': column {found[0] + 1} holds them")
        return found[0] if found else None
    best = max(candidates, key=lambda index: (_stereo(body, index), header[index] == "smiles", -index))
    if len(candidates) > 1:
        say(f"{file_name} has {len(candidates)} columns of SMILES: '{header[best]}' is used")
    return best


def _stereo(body: Sequence[Sequence[str]], column: int) -> int:
    """How many cells of a column tell something of stereo."""
    return sum(any(mark in _cell(cells, column) for mark in "@/\\") for cells in body)


def _holds_smiles(cells: Sequence[str]) -> bool:
    """Whether most of a column's cells are molecules; names and numbers can be, but not most of them."""
    filled = [cell for cell in cells if cell]
    good = sum(len(cell) > 2 and _parses(cell) for cell in filled)
    return good > 0 and good * 2 > len(filled)


def _parses(text: str) -> bool:
    with rdBase.BlockLogs():
        return bool(text) and Chem.MolFromSmiles(text, sanitize=False) is not None


def _name_column(header: Sequence[str], smiles: int) -> int | None:
    """The column of names, by its title."""
    titles = [(index, cell) for index, cell in enumerate(header) if index != smiles]
    for fits in (str.__eq__, str.endswith, str.startswith):
        for wanted in _NAMES:
            for index, cell in titles:
                if fits(cell, wanted) and "smiles" not in cell:
                    return index
    return None


def _cell(cells: Sequence[str], index: int | None) -> str:
    return cells[index] if index is not None and index < len(cells) else ""


def _smiles_rows(text: str, file_name: str, say: Callable[[str], None]) -> list[Entry]:
    """Lines of a SMILES and a name; the name first where that is how the file is."""
    lines: list[tuple[int, str, str]] = []
    for row, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        separator = next(
            (mark for mark in ("\t", ",", ";") if mark in line.split(" ")[0] or mark == "\t" in line), ""
        )
        first, _, rest = line.strip().partition(separator) if separator else _at_space(line)
        if not (not lines and first.lower() == "smiles"):
            lines.append((row, first.strip(), rest.strip()))
    sample = [(first, rest) for _row, first, rest in lines[:_LOOKED_AT]]
    swapped = bool(sample) and not any(_parses(first) for first, _rest in sample)
    swapped = swapped and sum(
        _parses(rest.split(maxsplit=1)[0] if rest else "") for _f, rest in sample
    ) * 2 > len(sample)
    if swapped:
        say(f"{file_name} has names first and SMILES second")
        lines = [(row, rest.split(maxsplit=1)[0] if rest else "", first) for row, first, rest in lines]
    return [Entry(row, smiles, _without_extension(name) or f"row-{row}") for row, smiles, name in lines]


def _at_space(line: str) -> tuple[str, str, str]:
    words = line.split(maxsplit=1)
    return words[0], " ", words[1] if len(words) > 1 else ""


def _without_extension(name: str) -> str:
    """A name without ChemAxon's extension of SMILES in front of it."""
    if name.startswith("|") and "|" in name[1:]:
        return name[1:].partition("|")[2].strip()
    return name


def _sd_records(text: str) -> Iterator[Entry]:
    """The records of an SD file, each in the place of its SMILES."""
    records = text.replace("\r\n", "\n").replace("\r", "\n").split("$$$$\n")
    for row, record in enumerate(records, start=1):
        record = record.removesuffix("$$$$")
        if not record.strip():
            continue
        title = record.split("\n", 1)[0].strip()
        yield Entry(row, record, title or _property(record) or f"row-{row}")


def _property(record: str) -> str:
    """The value of the field of a record that is a name."""
    lines = record.split("\n")
    fields = {
        line[line.find("<") + 1 : line.rfind(">")].lower(): after.strip()
        for line, after in pairwise(lines)
        if line.startswith(">") and "<" in line
    }
    index = _name_column(list(fields), -1)
    return list(fields.values())[index] if index is not None else ""


def _from_record(entry: Entry) -> Entry:
    with rdBase.BlockLogs():
        mol = Chem.MolFromMolBlock(entry.smiles, sanitize=False, removeHs=False)
        if mol is None:
            return Entry(entry.row, "", entry.name, "SD record cannot be read")
        try:
            Chem.SanitizeMol(mol)
            if mol.GetNumConformers() and mol.GetConformer().Is3D():
                Chem.AssignStereochemistryFrom3D(mol)
            else:
                Chem.AssignChiralTypesFromBondDirs(mol)
                Chem.AssignStereochemistry(mol, cleanIt=True, force=True)
            return Entry(entry.row, Chem.MolToSmiles(Chem.RemoveHs(mol)), entry.name)
        except Exception as error:
            first = next(iter(str(error).strip().splitlines()), type(error).__name__)
            return Entry(entry.row, "", entry.name, f"SD record: {first[:100]}")
