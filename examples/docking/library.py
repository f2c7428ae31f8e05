"""The molecules to screen: 100,000 generated amides, or the user's own file.

Generated molecules are the amides of :mod:`docking.blocks`' acids and amines, made by an RDKit reaction:
joining SMILES as text gives wrong rings. What is kept is text: 100,000 RDKit molecules take 3 GB, their
SMILES 5 MB.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem
from rdkit.Chem import AllChem, Crippen, Descriptors

import cellmill
from docking.blocks import COUPLING, acids, amines
from docking.domain import checked
from docking.records import DockingInputError, Entry
from docking.rows import SD_SUFFIXES, read_rows, sd_rows
from docking.structure import suffix_of

MAX_WEIGHT, MAX_LOGP = 450.0, 5.0
"""Limits on a generated molecule (g/mol, Crippen's logP): without them a screen by score finds the
greasiest."""


def _silent(_text: str) -> None:
    """Say nothing."""


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
    """Each of ``entries`` with the canonical SMILES of its molecule, or the reason why it cannot be used."""
    return [checked(entry) for entry in entries]


def read_library(path: str | Path, say: Callable[[str], None] = _silent) -> list[Entry]:
    """Every row of a file of SMILES, a CSV/TSV or an SD file (``.gz`` too), checked in parallel.

    Rows that cannot be docked stay in the list with their reason, and so do repetitions of an earlier row; salts
    are stripped, which their note tells. ``say`` is told what was found out about the file. Raises
    :class:`DockingInputError` when the file is missing, unreadable or empty.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise DockingInputError(f"No ligand file '{path}'.")
    entries = read_rows(file, say)
    if not entries:
        raise DockingInputError(f"The ligand file '{path}' has no rows.")
    if suffix_of(file) in SD_SUFFIXES:
        entries = list(cellmill.parallel(batch=True, name="read")(sd_rows).map(entries))
    rows = _mark_repetitions(cellmill.parallel(batch=True, name="check")(check).map(entries))
    for line in summary(rows):
        say(line)
    return rows


def summary(rows: Sequence[Entry]) -> list[str]:
    """How many rows can be docked, how many were changed, and why the others cannot."""
    usable = [entry for entry in rows if entry.usable]
    lines = [f"{len(usable):,} molecules to screen, {len(rows) - len(usable):,} rows rejected with a reason"]
    kinds = (
        ("rejected", Counter(_kind(entry.reason) for entry in rows if entry.reason)),
        ("changed", Counter(_kind(entry.note) for entry in usable if entry.note)),
        ("ranked last", Counter(_kind(entry.caution) for entry in usable if entry.caution)),
    )
    for title, counts in kinds:
        if counts:
            lines.append(
                f"{title}: " + ", ".join(f"{count:,} {kind}" for kind, count in counts.most_common(6))
            )
    return lines


def _kind(text: str) -> str:
    """A reason without what is particular to its row."""
    if text.startswith("same molecule"):
        return "same molecule as an earlier row"
    return text.partition(":")[0]


def _mark_repetitions(entries: Iterable[Entry]) -> list[Entry]:
    first: dict[str, int] = {}
    marked = []
    for entry in entries:
        if entry.usable and entry.smiles in first:
            entry = replace(entry, reason=f"same molecule as row {first[entry.smiles]}")
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
