"""A library that is docked completely: what a screen of it finds can then be held against what there is to find.

The table tells the command, the settings, the versions and the receptor that made it. Each docking is on disk as it
ends (:mod:`docking.ledger`), so the command goes on where it was stopped.
"""

from __future__ import annotations

import csv
import gzip
import io
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docking.features import heavy_atoms
from docking.folder import replace_file
from docking.ledger import Ledger
from docking.records import Docked, DockingInputError, Entry, Search
from docking.searches import best_of

COLUMNS = ("smiles", "name", "score", "heavy_atoms", "reason")


@dataclass(frozen=True, slots=True)
class Row:
    """A molecule of a complete table: its ``score`` (kcal/mol), nan where there is a ``reason`` for none."""

    smiles: str
    name: str
    score: float
    heavy_atoms: int
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether the molecule docked."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Table:
    """A library with the scores of all of its molecules, and the lines that tell how it was made."""

    rows: tuple[Row, ...]
    made: tuple[str, ...]

    @property
    def docked(self) -> list[Row]:
        """The rows that have a score."""
        return [row for row in self.rows if row.ok]

    def library(self) -> list[Entry]:
        """The molecules that have a score, as a library to screen."""
        return [Entry(place, row.smiles, row.name) for place, row in enumerate(self.docked, start=1)]


def dock_all(library: Sequence[Entry], dock: Any, ledger: Ledger, seed: int, searches: int) -> list[Docked]:
    """Dock every usable molecule of ``library`` by as many independent ``searches``; what is in ``ledger`` is there
    already."""
    ledger.agree_on_library(library, seed)
    ledger.agree({"score": {"searches": searches}})
    molecules = [entry.smiles for entry in library if entry.usable]
    return best_of(ledger.keeping(dock), molecules, [Search(number) for number in range(searches)])


def rows_of(library: Sequence[Entry], docked: Sequence[Docked]) -> list[Row]:
    """The rows of a table, in the order of the library, of its usable molecules and their dockings."""
    usable = [entry for entry in library if entry.usable]
    sizes = heavy_atoms([entry.smiles for entry in usable])
    return [
        Row(entry.smiles, entry.name, row.score if row.ok else math.nan, int(size), row.reason)
        for entry, row, size in zip(usable, docked, sizes, strict=True)
    ]


def made_by(command: str, facts: dict[str, Any], docked: Sequence[Docked]) -> list[str]:
    """The lines above a table: the ``command`` that made it, the ``facts`` of its ledger, and what it cost."""
    seconds = [row.seconds for row in docked]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    settings = ", ".join(f"{name} {value}" for name, value in facts["docking"].items())
    searches = facts["score"]["searches"]
    box = facts["receptor"]["box"]
    numbers = " ".join(f"{value:g}" for value in (*box["center"], *box["size"]))
    return [
        "Docking scores (kcal/mol) of all molecules of a library: not affinities.",
        f"Made with: {command}",
        f"receptor: {facts['receptor']['name']}, sha256 of its PDBQT {facts['receptor']['sha256']}, box {numbers}",
        f"settings: {settings}; the best of {searches} {'search' if searches == 1 else 'searches'} a molecule",
        f"library: {facts['library']['rows']} rows, seed {facts['choice']['seed']}",
        f"versions: {versions}",
        f"cost: {sum(seconds) / max(1, len(seconds)):.2f} seconds of a worker a molecule",
    ]


def write_table(rows: Sequence[Row], made: Sequence[str], path: Path) -> None:
    """Write a table as CSV, packed where its name ends with ``.gz``: the same bytes for the same rows."""
    text = io.StringIO()
    text.writelines(f"# {line}\n" for line in made)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        score = f"{row.score:.4f}" if row.ok else ""
        writer.writerow((row.smiles, row.name, score, row.heavy_atoms, row.reason))
    data = text.getvalue().encode()
    replace_file(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read_table(path: Path) -> Table:
    """The table that :func:`write_table` wrote to ``path``."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    except (OSError, UnicodeDecodeError, EOFError, zlib.error) as error:
        raise DockingInputError(f"Cannot read the table '{path}': {error}.") from error
    lines = text.splitlines()
    made = tuple(line.removeprefix("# ") for line in lines if line.startswith("#"))
    reader = csv.DictReader(line for line in lines if not line.startswith("#"))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise DockingInputError(
            f"'{path}' is no table of a completely docked library: its columns are other ones."
        )
    rows = tuple(_row(cells, path) for cells in reader)
    if not any(row.ok for row in rows):
        raise DockingInputError(f"'{path}' has no molecule with a score.")
    return Table(rows, made)


def _row(cells: dict[str, str], path: Path) -> Row:
    try:
        score = float(cells["score"]) if cells["score"] else math.nan
        return Row(cells["smiles"], cells["name"], score, int(cells["heavy_atoms"]), cells["reason"])
    except (TypeError, ValueError) as error:
        raise DockingInputError(f"'{path}' has a row that cannot be read: {cells}") from error


def run(
    library: Sequence[Entry],
    dock: Any,
    ledger: Ledger,
    path: Path,
    *,
    command: str,
    seed: int,
    searches: int,
    say: Callable[[str], None],
) -> Table:
    """Dock all of ``library`` and write its table to ``path``."""
    docked = dock_all(library, dock, ledger, seed, searches)
    rows, made = rows_of(library, docked), made_by(command, ledger.facts, docked)
    write_table(rows, made, path)
    good = sum(row.ok for row in rows)
    say(f"{good:,} of {len(rows):,} molecules docked; the table is {path}")
    return Table(tuple(rows), tuple(made))
