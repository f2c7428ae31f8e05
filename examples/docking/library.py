"""The molecules to screen: 100,000 generated amides, or the user's own SMILES or CSV file.

Generated molecules are the amides of :mod:`docking.blocks`' acids and amines, made by an RDKit reaction:
joining SMILES as text gives wrong rings. What is kept is text: 100,000 RDKit molecules take 3 GB, their
SMILES 5 MB.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import AllChem, Crippen, Descriptors

import cellmill
from docking.blocks import COUPLING, acids, amines
from docking.ligand import LigandError, parse
from docking.records import DockingInputError, Entry

SMILES_SUFFIXES = (".smi", ".smiles", ".txt", ".ism")
TABLE_SUFFIXES = (".csv", ".tsv")


MAX_WEIGHT, MAX_LOGP = 450.0, 5.0
"""Limits on a generated molecule (g/mol, Crippen's logP): without them a screen by score finds the
greasiest."""


@cache
def drug_like_pairs() -> tuple[int, ...]:
    """Every (acid i, amine j) pair whose amide is within the limits, coded as i * len(amines()) + j,
    ascending.

    Weights add up less one water; Crippen's logP adds up to within 0.3, with 0.14 for the coupling.
    """
    (acid_weight, acid_logp), (amine_weight, amine_logp) = _sizes(acids()), _sizes(amines())
    weight = acid_weight[:, None] + amine_weight[None, :] - 18.0
    logp = acid_logp[:, None] + amine_logp[None, :] + 0.14
    return tuple(np.flatnonzero((weight <= MAX_WEIGHT) & (logp <= MAX_LOGP)).tolist())


def pairs(count: int, seed: int = 1) -> list[int]:
    """``count`` different drug-like pairs (see :func:`drug_like_pairs`) in the random order of ``seed``."""
    _check_count(count)
    return random.Random(seed).sample(drug_like_pairs(), count)


def couple(codes: Sequence[int]) -> list[str]:
    """Canonical SMILES of the amides of pairs ``codes`` (see :func:`pairs`), in order."""
    reaction, acid_mols, amine_mols = _coupling_kit()
    products = []
    for code in codes:
        acid, amine = divmod(code, len(amine_mols))
        product = reaction.RunReactants((acid_mols[acid], amine_mols[amine]))[0][0]
        Chem.SanitizeMol(product)
        products.append(Chem.MolToSmiles(product))
    return products


def generate(count: int = 100_000, seed: int = 1) -> list[Entry]:
    """``count`` unique drug-like amides, the same for the same ``seed``; made in parallel by cellmill."""
    _check_count(count)
    make = cellmill.parallel(batch=True, name="couple")(couple)
    wanted = min(count + count // 100 + 10, len(drug_like_pairs()))
    unique: dict[str, None] = dict.fromkeys(make.map(pairs(max(wanted, count), seed)))
    if len(unique) < count:
        raise DockingInputError(f"Only {len(unique):,} of {count:,} generated molecules are different.")
    chosen = list(unique)[:count]
    return [Entry(row, smiles, f"amide-{row:06d}") for row, smiles in enumerate(chosen, start=1)]


def check(entries: Sequence[Entry]) -> list[Entry]:
    """Each of ``entries`` with canonical SMILES, or the reason why it cannot be used."""
    return [_checked(entry) for entry in entries]


def read_library(path: str | Path) -> list[Entry]:
    """Every row of a SMILES file (SMILES, then a name) or a CSV/TSV with a ``smiles`` column, checked in
    parallel.

    Rows that do not parse stay in the list with their reason, and so do repetitions of an earlier row.
    Raises :class:`DockingInputError` when the file is missing, unreadable or empty.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise DockingInputError(f"No ligand file '{path}'.")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (UnicodeDecodeError, OSError) as error:
        raise DockingInputError(f"Cannot read '{path}' as text: {error}") from error
    suffix = file.suffix.lower()
    if suffix in TABLE_SUFFIXES:
        entries = _table_rows(text, file.name, "\t" if suffix == ".tsv" else ",")
    elif suffix in SMILES_SUFFIXES:
        entries = _smiles_rows(text)
    else:
        known = ", ".join(SMILES_SUFFIXES + TABLE_SUFFIXES)
        raise DockingInputError(f"Cannot read ligands from '{file.name}': known endings are {known}.")
    if not entries:
        raise DockingInputError(f"The ligand file '{path}' has no rows.")
    checked = cellmill.parallel(batch=True, name="check")(check).map(entries)
    return _mark_repetitions(checked)


def _smiles_rows(text: str) -> list[Entry]:
    entries = []
    for row, line in enumerate(text.splitlines(), start=1):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        if row == 1 and words[0].lower() == "smiles":
            continue
        entries.append(Entry(row, words[0], words[1].strip() if len(words) > 1 else f"row-{row}"))
    return entries


def _table_rows(text: str, file_name: str, delimiter: str) -> list[Entry]:
    reader = csv.reader(text.splitlines(), delimiter=delimiter)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
    except csv.Error as error:
        raise DockingInputError(f"'{file_name}' is not a table: {error}") from error
    column = next((i for i, cell in enumerate(header) if cell in ("smiles", "canonical_smiles")), None)
    if column is None:
        column = next((i for i, cell in enumerate(header) if "smiles" in cell), None)
    if column is None:
        raise DockingInputError(
            f"'{file_name}' has no 'smiles' column (it has: {', '.join(header) or 'nothing'})."
        )
    names = next(
        (i for i, cell in enumerate(header) if cell in ("name", "id", "title", "zinc_id", "chembl_id")), None
    )
    entries = []
    for cells in reader:
        row = reader.line_num
        if not any(cell.strip() for cell in cells):
            continue
        name = cells[names].strip() if names is not None and names < len(cells) else ""
        smiles = cells[column].strip() if column < len(cells) else ""
        entries.append(Entry(row, smiles, name or f"row-{row}"))
    return entries


def _checked(entry: Entry) -> Entry:
    try:
        return Entry(entry.row, Chem.MolToSmiles(parse(entry.smiles)), entry.name)
    except LigandError as error:
        return Entry(entry.row, entry.smiles, entry.name, str(error))


def _mark_repetitions(entries: Iterable[Entry]) -> list[Entry]:
    first: dict[str, int] = {}
    marked = []
    for entry in entries:
        if entry.usable and entry.smiles in first:
            entry = Entry(entry.row, entry.smiles, entry.name, f"same molecule as row {first[entry.smiles]}")
        elif entry.usable:
            first[entry.smiles] = entry.row
        marked.append(entry)
    return marked


def _check_count(count: int) -> None:
    total = len(drug_like_pairs())
    if not 0 < count <= total:
        raise DockingInputError(f"The generated library holds 1 to {total:,} molecules, not {count:,}.")


def _sizes(smiles: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Molecular weights (g/mol) and Crippen logP values of ``smiles``: (n,) each."""
    mols = [Chem.MolFromSmiles(text) for text in smiles]
    return np.array([Descriptors.MolWt(mol) for mol in mols]), np.array(
        [Crippen.MolLogP(mol) for mol in mols]
    )


@cache
def _coupling_kit() -> tuple[Any, list[Chem.Mol], list[Chem.Mol]]:
    reaction = AllChem.ReactionFromSmarts(COUPLING)
    return reaction, [Chem.MolFromSmiles(s) for s in acids()], [Chem.MolFromSmiles(s) for s in amines()]
