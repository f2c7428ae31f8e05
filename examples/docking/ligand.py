"""From a SMILES to the PDBQT text Vina reads, in memory: RDKit's ETKDGv3 and MMFF94, then meeko."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
from rdkit import Chem
from rdkit.Chem import AllChem, rdMolTransforms

from docking.domain import LigandError, parse
from docking.records import Search

MAX_TORSIONS = 24
"""Vina's search degrades long before its own limit of 32 torsions."""
EMBEDDING_SECONDS = 10
"""Longest search for one conformer: cages and strained rings may have none."""


def embed(mol: Chem.Mol, seed: int) -> Chem.Mol:
    """``mol`` with hydrogens and one 3-D conformer: ETKDGv3 from ``seed``, then MMFF94 (at most 500 steps).

    Source: Wang et al., J. Chem. Inf. Model. 60, 2044 (2020). Raises :class:`LigandError`.
    """
    with_hydrogens = Chem.AddHs(mol)
    parameters = AllChem.ETKDGv3()
    parameters.randomSeed = seed
    parameters.timeout = EMBEDDING_SECONDS
    if AllChem.EmbedMolecule(with_hydrogens, parameters) != 0:
        parameters.useRandomCoords = True
        if AllChem.EmbedMolecule(with_hydrogens, parameters) != 0:
            raise LigandError("no 3-D conformer found")
    if AllChem.MMFFHasAllMoleculeParams(with_hydrogens):
        AllChem.MMFFOptimizeMolecule(with_hydrogens, maxIters=500)
    return with_hydrogens


def to_pdbqt(mol: Chem.Mol) -> str:
    """PDBQT text of a molecule with hydrogens and a conformer; raises :class:`LigandError`."""
    from meeko import MoleculePreparation, PDBQTWriterLegacy

    try:
        setups = MoleculePreparation().prepare(mol)
        text, ok, problem = PDBQTWriterLegacy.write_string(setups[0])
    except (
        Exception
    ) as error:  # meeko raises whatever its typer meets: TypeError for boron, ValueError for salts
        first = next(iter(str(error).splitlines()), "")
        raise LigandError(f"meeko: {type(error).__name__}: {first[:120]}") from error
    if not ok:
        raise LigandError(f"meeko: {problem.strip()[:120]}")
    torsions = text.count("BRANCH") // 2
    if torsions > MAX_TORSIONS:
        raise LigandError(f"too flexible: {torsions} torsions (at most {MAX_TORSIONS})")
    return str(text)


def canonical(smiles: str) -> str:
    """The canonical SMILES, whose atoms have one order however the molecule is written."""
    return str(Chem.MolToSmiles(parse(smiles)))


def seed_of(campaign: int, smiles: str, search: Search) -> int:
    """The seed of a search of a molecule in one of its forms: of the campaign's seed and the canonical SMILES.

    It does not depend on what else is docked, in which order, or where.
    """
    effort = f" {search.exhaustiveness}" if search.exhaustiveness else ""
    text = f"{campaign} {canonical(smiles)} {search.number}{effort}"
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") % (2**31 - 1) + 1


def prepare(smiles: str, seed: int) -> str:
    """PDBQT text of ``smiles`` from the conformer of ``seed``, turned at random; raises :class:`LigandError` with the
    reason.

    Vina turns and bends what it is given by its own random numbers, which are the same in each search of an engine: a
    search is independent of others by what it is given.
    """
    mol = embed(parse(canonical(smiles)), seed)
    rdMolTransforms.TransformConformer(mol.GetConformer(), _rotation(seed))
    return to_pdbqt(mol)


def _rotation(seed: int) -> np.ndarray:
    """A rotation as a matrix of 4 x 4, all of them equally likely (K. Shoemake, Graphics Gems III, 124 (1992))."""
    w, x, y, z = (q := np.random.default_rng(seed).normal(size=4)) / np.linalg.norm(q)
    matrix = np.eye(4)
    matrix[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return matrix


def pose_to_mol(pose: str) -> Chem.Mol:
    """The RDKit molecule, hydrogens included, of a docked ``pose`` (PDBQT text of one model)."""
    from meeko import PDBQTMolecule, RDKitMolCreate

    mols = RDKitMolCreate.from_pdbqt_mol(PDBQTMolecule(pose, skip_typing=True))
    if not mols or mols[0] is None:
        raise LigandError("the docked pose cannot be read back")
    return mols[0]
