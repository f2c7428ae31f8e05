"""The sanity check before any screen: can docking find the known pose of the known ligand again?

One conformer is luck (1.8 to 7.4 angstrom at low exhaustiveness), so several seeded conformers are docked in
parallel and the best energy is kept. Success is a heavy-atom RMSD of at most 2 angstrom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rdkit import Chem
from rdkit.Chem import rdMolAlign

from docking.dock import gather
from docking.ligand import pose_to_mol
from docking.records import Docked, DockingInputError
from docking.reference import Reference

SUCCESS_RMSD = 2.0
"""Angstrom: the usual criterion for a reproduced pose."""


@dataclass(frozen=True, slots=True)
class Redocked:
    """All ``dockings``, their ``rmsds`` (angstrom, nan where one failed) and the index ``best`` of the
    lowest energy."""

    dockings: tuple[Docked, ...]
    rmsds: tuple[float, ...]
    best: int

    @property
    def rmsd(self) -> float:
        """RMSD of the pose of lowest energy, angstrom."""
        return self.rmsds[self.best]

    @property
    def pose(self) -> Docked:
        """The docking of lowest energy."""
        return self.dockings[self.best]

    @property
    def success(self) -> bool:
        """Whether the known pose was found again."""
        return self.rmsd <= SUCCESS_RMSD


def pose_rmsd(pose: str, reference: Reference) -> float:
    """Symmetry-corrected heavy-atom RMSD in angstrom between a docked pose and the reference, without
    alignment."""
    docked, known = Chem.RemoveHs(pose_to_mol(pose)), reference.mol()
    try:
        return float(rdMolAlign.CalcRMS(_comparable(docked), _comparable(known)))
    except (
        RuntimeError
    ):  # a charge has moved double bonds, as in amidines: which atoms are bonded is the same
        return float(rdMolAlign.CalcRMS(_comparable(docked, bonds=False), _comparable(known, bonds=False)))


def _comparable(mol: Chem.Mol, *, bonds: bool = True) -> Chem.Mol:
    """``mol`` without charges, which differ between the forms of a molecule; without the kinds of bonds on demand."""
    bare = Chem.RWMol(mol)
    for atom in bare.GetAtoms():
        atom.SetFormalCharge(0)
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(0)
        if not bonds:
            atom.SetIsAromatic(False)
    for bond in bare.GetBonds() if not bonds else ():
        bond.SetBondType(Chem.BondType.SINGLE)
        bond.SetIsAromatic(False)
    return bare.GetMol()


def redock(dock: Any, reference: Reference, *, conformers: int = 6, first_seed: int = 1000) -> Redocked:
    """Dock ``conformers`` seeded conformers of ``reference`` with the parallel function ``dock``."""
    seeds = range(first_seed, first_seed + conformers)
    smiles = [reference.smiles] * conformers
    return judge(gather(smiles, dock.map(smiles, seeds, return_exceptions=True)), reference)


def judge(dockings: Sequence[Docked], reference: Reference) -> Redocked:
    """The RMSD of every docking and the one of lowest energy; raises when none succeeded."""
    rmsds = tuple(pose_rmsd(d.pose, reference) if d.ok else math.nan for d in dockings)
    usable = [index for index, docking in enumerate(dockings) if docking.ok]
    if not usable:
        reason = dockings[0].reason if dockings else "no conformer was asked for"
        raise DockingInputError(f"The reference ligand {reference.name} did not dock: {reason}")
    best = min(usable, key=lambda index: (dockings[index].score, index))
    return Redocked(tuple(dockings), rmsds, best)
