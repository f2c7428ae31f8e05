"""The different poses that the searches of a molecule found."""

from __future__ import annotations

from rdkit import Chem
from rdkit.Chem import rdMolAlign

from docking.ligand import pose_to_mol
from docking.records import Docked

DIFFERENT = 1.0
"""Angstrom, heavy-atom RMSD: poses nearer to each other are one, as Vina has it."""
MOST = 3
"""Poses that are kept of a molecule."""


def distinct_poses(docked: Docked) -> list[tuple[float, Chem.Mol]]:
    """(score, molecule with hydrogens) of the different poses of a docking, best first."""
    found: list[tuple[float, Chem.Mol]] = []
    kept: list[Chem.Mol] = []
    for score, text in docked.poses or ((docked.score, docked.pose),):
        mol = pose_to_mol(text)
        bare = Chem.RemoveHs(mol)
        if all(_apart(bare, other) for other in kept):
            found.append((score, mol))
            kept.append(bare)
        if len(found) == MOST:
            break
    return found


def _apart(mol: Chem.Mol, other: Chem.Mol) -> bool:
    """Whether two poses are different; those of different forms are."""
    if Chem.MolToSmiles(mol) != Chem.MolToSmiles(other):
        return True
    return float(rdMolAlign.CalcRMS(Chem.Mol(mol), other)) >= DIFFERENT
