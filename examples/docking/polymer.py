"""meeko's model of the protein: each residue as it is, else with what can be told of it, left out last of all."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from rdkit import rdBase

from docking.records import DockingInputError
from docking.residues import Residue, pdb_lines
from docking.sidechains import PROTOMERS, Finding, cut, templates, without_hydrogens


def build_polymer(name: str, residues: Sequence[Residue]) -> tuple[Any, list[Finding]]:
    """meeko's polymer of ``residues``, and what was decided about those that it did not know at once.

    Raises :class:`DockingInputError` when meeko recognises none.
    """
    kept = list(residues)
    findings: list[Finding] = []
    polymer, lost = _build(name, kept)
    for attempt in (_plain, _cut_down):
        if not lost:
            return polymer, findings
        findings += [found for residue in lost if (found := attempt(residue))]
        polymer, lost = _build(name, kept)
    if len(lost) == len(kept):
        raise DockingInputError(f"meeko recognised no residue of the receptor {name}.")
    if lost:
        findings += [
            Finding(f"{residue.label} left out: meeko knows it neither whole nor cut", residue.positions())
            for residue in lost
        ]
        gone = {id(residue) for residue in lost}
        polymer, _ = _build(name, [residue for residue in kept if id(residue) not in gone])
    return polymer, findings


def _plain(residue: Residue) -> Finding | None:
    """Leave hydrogens and states of protonation to meeko."""
    without_hydrogens(residue)
    residue.name = PROTOMERS.get(residue.name, residue.name)
    return None


def _cut_down(residue: Residue) -> Finding | None:
    where = residue.positions()
    if not {"N", "CA", "C"} <= residue.names():
        return None
    return Finding(f"{residue.label} read as {cut(residue)}: meeko does not know it as it is", where)


def _build(name: str, residues: Sequence[Residue]) -> tuple[Any, list[Residue]]:
    """The polymer, and the residues that match no template."""
    try:
        polymer = _from_pdb(residues)
    except Exception:
        # One residue whose hydrogens fit two states ends it all; without hydrogens there is nothing to weigh.
        for residue in residues:
            without_hydrogens(residue)
        try:
            polymer = _from_pdb(residues)
        except Exception as error:
            raise DockingInputError(
                f"meeko cannot prepare the receptor {name}: {first_line(error)}"
            ) from error
    known = set(polymer.get_valid_monomers())
    return polymer, [residue for residue in residues if residue.key not in known]


def _from_pdb(residues: Sequence[Residue]) -> Any:
    from meeko import MoleculePreparation, Polymer

    preparation = MoleculePreparation.from_config({"compute_charges": False})
    text = "\n".join(pdb_lines(residues)) + "\nEND\n"
    with quiet():
        return Polymer.from_pdb_string(text, templates(), preparation, allow_bad_res=True, blunt_ends=[])


def first_line(error: BaseException) -> str:
    """The name of an error and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:300] if lines else ''}"


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence what RDKit and meeko print and log while they try alternatives."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), rdBase.BlockLogs(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
