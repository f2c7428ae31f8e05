"""What the surrogate sees of a molecule: Morgan counts and a few cheap descriptors, as one array row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem import rdMolDescriptors as descriptors

FINGERPRINT_SIZE = 2048
RADIUS = 2

_ROTATABLE = descriptors.NumRotatableBondsOptions.NonStrict
DESCRIPTORS = (
    ("heavy atoms", Chem.Mol.GetNumHeavyAtoms),
    ("rotatable bonds", lambda mol: descriptors.CalcNumRotatableBonds(mol, _ROTATABLE)),
    ("polar surface", descriptors.CalcTPSA),
    ("hydrogen-bond donors", descriptors.CalcNumLipinskiHBD),
    ("hydrogen-bond acceptors", descriptors.CalcNumLipinskiHBA),
    ("rings", descriptors.CalcNumRings),
    ("aromatic rings", descriptors.CalcNumAromaticRings),
    ("fraction sp3", descriptors.CalcFractionCSP3),
)
"""Names and functions, each below 20 us a molecule; Crippen's logP (220 us) would cost more than all the
rest."""

WIDTH = FINGERPRINT_SIZE + len(DESCRIPTORS)
"""Columns of a feature row: the counts, then the descriptors."""

_GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=FINGERPRINT_SIZE)


def features(smiles: Sequence[str]) -> NDArray[np.float32]:
    """Feature rows of ``smiles``: (n, WIDTH) float32; a row of nan where a SMILES does not parse.

    Morgan counts of radius 2 folded to 2048 (Rogers and Hahn, J. Chem. Inf. Model. 50, 742 (2010)).
    """
    rows = np.empty((len(smiles), WIDTH), dtype=np.float32)
    parse = Chem.MolFromSmiles
    counts = _GENERATOR.GetCountFingerprintAsNumPy
    functions = [function for _, function in DESCRIPTORS]
    with rdBase.BlockLogs():
        for row, text in zip(rows, smiles, strict=True):
            mol = parse(text)
            if mol is None:
                row[:] = np.nan
                continue
            row[:FINGERPRINT_SIZE] = counts(mol)
            row[FINGERPRINT_SIZE:] = [function(mol) for function in functions]
    return rows


def heavy_atoms(smiles: Sequence[str]) -> NDArray[np.float64]:
    """Number of heavy atoms of each of ``smiles``: (n,); the baseline every surrogate must beat."""
    return np.array([Chem.MolFromSmiles(text).GetNumHeavyAtoms() for text in smiles], dtype=np.float64)


def published_bits(smiles: Sequence[str]) -> NDArray[np.bool_]:
    """The fingerprint of the published surrogate: Morgan bits of radius 4 folded to 256, (n, 256)."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=4, fpSize=256)
    return np.array(
        [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], dtype=bool
    )
