"""From a SMILES to the PDBQT text Vina reads, in memory: RDKit's ETKDGv3 and MMFF94, then meeko."""

from __future__ import annotations

from rdkit import Chem
from rdkit.Chem import AllChem

from docking.domain import LigandError, parse

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


def prepare(smiles: str, seed: int) -> str:
    """PDBQT text of ``smiles`` from the conformer of ``seed``; raises :class:`LigandError` with the
    reason."""
    return to_pdbqt(embed(parse(smiles), seed))


def pose_to_mol(pose: str) -> Chem.Mol:
    """The RDKit molecule, hydrogens included, of a docked ``pose`` (PDBQT text of one model)."""
    from meeko import PDBQTMolecule, RDKitMolCreate

    mols = RDKitMolCreate.from_pdbqt_mol(PDBQTMolecule(pose, skip_typing=True))
    if not mols or mols[0] is None:
        raise LigandError("the docked pose cannot be read back")
    return mols[0]
