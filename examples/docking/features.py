"""What the surrogate sees of a molecule: Morgan counts and a few cheap descriptors, as one array row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import rdFingerprintGenerator
from rdkit.Chem import rdMolDescriptors as descriptors

FINGERPRINT_SIZE = 2048
RADIUS = 2

_ROTATABLE = descriptors.NumRotatableBondsOptions.NonStrict
DESCRIPTORS = (
    ("heavy atoms", Chem.Mol.GetNumHeavyAtoms, 5.0),
    ("rotatable bonds", lambda mol: descriptors.CalcNumRotatableBonds(mol, _ROTATABLE), 3.0),
    ("polar surface", descriptors.CalcTPSA, 30.0),
    ("hydrogen-bond donors", descriptors.CalcNumLipinskiHBD, 2.0),
    ("hydrogen-bond acceptors", descriptors.CalcNumLipinskiHBA, 2.0),
    ("rings", descriptors.CalcNumRings, 1.0),
    ("aromatic rings", descriptors.CalcNumAromaticRings, 1.0),
    ("fraction sp3", descriptors.CalcFractionCSP3, 0.3),
)
"""Names, functions, and how far past what was seen a value is still no surprise. Each takes less than 20 us a molecule;
Crippen's logP (220 us) would cost more than all the rest."""

WIDTH = FINGERPRINT_SIZE + len(DESCRIPTORS)
"""Columns of a feature row: the counts, then the descriptors."""

_ATOM = re.compile(r"\[[^\]]*\]|Br|Cl|[BCNOPSFIbcnops*]")
_HYDROGEN = re.compile(r"\[\d*H[-+\d]*(:\d+)?\]")
_GENERATOR = rdFingerprintGenerator.GetMorganGenerator(radius=RADIUS, fpSize=FINGERPRINT_SIZE)


@dataclass(frozen=True, slots=True)
class Domain:
    """The range of features that a model has seen: ``low`` and ``high``, (WIDTH,) each."""

    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.float32]) -> Domain:
        """The range of feature ``rows``: of the counts as it is, of the descriptors with a quarter of it on each side,
        or the margin of :data:`DESCRIPTORS` where that is more."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        margin = np.array([least for _, _, least in DESCRIPTORS], dtype=np.float32)
        margin = np.maximum(margin, (high - low)[FINGERPRINT_SIZE:] / 4)
        low[FINGERPRINT_SIZE:] -= margin
        high[FINGERPRINT_SIZE:] += margin
        return cls(low, high)

    def inside(self, rows: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Which of ``rows`` have all descriptors in the range: (n,) booleans."""
        described = rows[:, FINGERPRINT_SIZE:]
        within = (described >= self.low[FINGERPRINT_SIZE:]) & (described <= self.high[FINGERPRINT_SIZE:])
        result: NDArray[np.bool_] = np.logical_and.reduce(within, axis=1)
        return result

    def clip(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """``rows`` with what lies outside put at the edge: a model says nothing of what it never saw."""
        return np.clip(rows, self.low, self.high)


def features(smiles: Sequence[str]) -> NDArray[np.float32]:
    """Feature rows of ``smiles``: (n, WIDTH) float32; a row of nan where a SMILES does not parse.

    Morgan counts of radius 2 folded to 2048 (Rogers and Hahn, J. Chem. Inf. Model. 50, 742 (2010)).
    """
    rows = np.empty((len(smiles), WIDTH), dtype=np.float32)
    parse = Chem.MolFromSmiles
    counts = _GENERATOR.GetCountFingerprintAsNumPy
    functions = [function for _, function, _ in DESCRIPTORS]
    with rdBase.BlockLogs():
        for row, text in zip(rows, smiles, strict=True):
            mol = parse(text)
            if mol is None:
                row[:] = np.nan
                continue
            row[:FINGERPRINT_SIZE] = counts(mol)
            row[FINGERPRINT_SIZE:] = [function(mol) for function in functions]
    return rows


def heavy_count(smiles: str) -> int:
    """Number of heavy atoms, read from the text of a SMILES: for a library, whose molecules take too long to build."""
    return sum(not _HYDROGEN.match(atom) for atom in _ATOM.findall(smiles))


def heavy_atoms(smiles: Sequence[str]) -> NDArray[np.float64]:
    """Number of heavy atoms of each of ``smiles``: (n,); the baseline every surrogate must beat."""
    return np.array([Chem.MolFromSmiles(text).GetNumHeavyAtoms() for text in smiles], dtype=np.float64)


def published_bits(smiles: Sequence[str]) -> NDArray[np.bool_]:
    """The fingerprint of the published surrogate: Morgan bits of radius 4 folded to 256, (n, 256)."""
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=4, fpSize=256)
    return np.array(
        [generator.GetFingerprintAsNumPy(Chem.MolFromSmiles(text)) for text in smiles], dtype=bool
    )
