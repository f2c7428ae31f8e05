"""From a SMILES to the PDBQT text Vina reads, in memory: RDKit's ETKDGv3 and MMFF94, then meeko."""

from __future__ import annotations

from rdkit import Chem, rdBase
from rdkit.Chem import AllChem

from docking.records import DockingInputError

MAX_HEAVY_ATOMS = 80
MAX_TORSIONS = 24
"""Vina's search degrades long before its own limit of 32 torsions."""


class LigandError(DockingInputError):
    """A molecule that cannot be prepared; the message is the reason shown in its row."""


def parse(smiles: str) -> Chem.Mol:
    """The molecule of ``smiles``; raises :class:`LigandError` with a reason fit for a table."""
    text = smiles.strip()
    if not text:
        raise LigandError("empty SMILES")
    with rdBase.BlockLogs():  # the reason travels with the row; RDKit need not print it as well
        mol = Chem.MolFromSmiles(text)
    if mol is None:
        raise LigandError("SMILES does not parse")
    if mol.GetNumHeavyAtoms() == 0:
        raise LigandError("no heavy atoms")
    fragments = len(Chem.GetMolFrags(mol))
    if fragments > 1:
        raise LigandError(f"salt or mixture: {fragments} fragments")
    if mol.GetNumHeavyAtoms() > MAX_HEAVY_ATOMS:
        raise LigandError(f"too large: {mol.GetNumHeavyAtoms()} heavy atoms (at most {MAX_HEAVY_ATOMS})")
    return mol


def embed(mol: Chem.Mol, seed: int) -> Chem.Mol:
    """``mol`` with hydrogens and one 3-D conformer: ETKDGv3 from ``seed``, then MMFF94 (at most 500 steps).

    Source: Wang et al., J. Chem. Inf. Model. 60, 2044 (2020). Raises :class:`LigandError`.
    """
    with_hydrogens = Chem.AddHs(mol)
    parameters = AllChem.ETKDGv3()
    parameters.randomSeed = seed
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
