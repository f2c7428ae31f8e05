"""The forms of a molecule that are docked: its isomers where stereo is open, protonated as in water at a pH.

Sites are protonated one by one by dimorphite_dl (Ropp et al., J. Cheminform. 11, 14 (2019)), each as most of it is
at that pH. Tautomers are docked as given.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem, rdmolops
from rdkit.Chem.EnumerateStereoisomers import (
    EnumerateStereoisomers,
    GetStereoisomerCount,
    StereoEnumerationOptions,
)
from rdkit.Chem.rdMolDescriptors import CalcNumBridgeheadAtoms

from docking.domain import parse
from docking.records import DockSettings

_AMMONIUM = Chem.MolFromSmarts("[NX4;+;!H0]")
_LOOKED_AT = 16
"""Isomers of a bridged molecule that are looked at, for each that is wanted."""
_TRIES = 5
"""To find a conformer of an isomer: one that can exist mostly has one at the first, and others take seconds to fail."""
_PROTONATING = threading.Lock()
"""dimorphite_dl loads its rules at its first call, and a call from another thread meanwhile finds none of them."""
_NEIGHBOURS = 3
"""Bonds: of two amines this near, as in piperazine, the second is some 4 units less basic, and stays neutral."""


@dataclass(frozen=True, slots=True)
class Forms:
    """SMILES of the forms to dock, of ``isomers`` that there are."""

    smiles: tuple[str, ...]
    isomers: int = 1

    def note(self, docked: int) -> str:
        """What the score of a molecule is the best of, when so many forms docked; the others cannot exist."""
        if self.isomers > len(self.smiles):
            return f"best of {docked} of {self.isomers} stereoisomers"
        return f"best of {docked} stereoisomers" if docked > 1 else ""


def forms_of(smiles: str, settings: DockSettings) -> Forms:
    """The forms of a molecule to dock by ``settings``: the same for the same molecule and settings."""
    mol = parse(smiles)
    chosen, total = isomers(mol, settings.isomers)
    found = [protonated(text, settings.ph) if settings.ph is not None else text for text in chosen]
    return Forms(tuple(dict.fromkeys(found)), total)


def isomers(mol: Chem.Mol, most: int) -> tuple[list[str], int]:
    """(SMILES of at most so many stereoisomers of what is open, how many there are); with ``most`` 0 the molecule as
    given, whose open centres the conformer decides."""
    options = StereoEnumerationOptions(unique=True, maxIsomers=max(most, 1), rand=1)
    total = GetStereoisomerCount(mol, options)
    if most == 0 or total == 1:
        return [Chem.MolToSmiles(mol)], total
    with rdBase.BlockLogs():
        if CalcNumBridgeheadAtoms(mol):
            found = _possible(mol, most)
        else:
            found = sorted({Chem.MolToSmiles(isomer) for isomer in EnumerateStereoisomers(mol, options)})
    # Meso forms and the like are counted twice; what was enumerated completely is what there is.
    return found, total if total > most else len(found)


def _possible(mol: Chem.Mol, most: int) -> list[str]:
    """At most so many isomers of a bridged molecule that have a conformer: most ways to tell its bridgeheads have none.
    Where none is found, as many of all."""
    options = StereoEnumerationOptions(unique=True, maxIsomers=_LOOKED_AT * most, rand=1)
    parameters = AllChem.ETKDGv3()
    parameters.randomSeed, parameters.maxIterations = 1, _TRIES
    tried, found = set(), set()
    for isomer in EnumerateStereoisomers(mol, options):
        tried.add(Chem.MolToSmiles(isomer))
        if AllChem.EmbedMolecule(Chem.AddHs(isomer), parameters) == 0:
            found.add(Chem.MolToSmiles(isomer))
        if len(found) == most:
            break
    return sorted(found or sorted(tried)[:most])


def protonated(smiles: str, ph: float) -> str:
    """The form of a molecule at ``ph``; as given where the rules of dimorphite_dl make no sense of it."""
    from dimorphite_dl import protonate_smiles

    mol = Chem.MolFromSmiles(smiles)
    try:
        with rdBase.BlockLogs():
            with _PROTONATING:
                (found,) = protonate_smiles(smiles, ph_min=ph, ph_max=ph, precision=0.0, max_variants=1)
            form = Chem.MolFromSmiles(found)
    except Exception:  # whatever its rules meet in an odd molecule; the molecule as given can be docked
        return smiles
    if form is None or form.GetNumHeavyAtoms() != mol.GetNumHeavyAtoms() or _centres(form) < _centres(mol):
        return smiles
    form = _one_charge_of_two(form)
    if Chem.MolToSmiles(form, isomericSmiles=False) == Chem.MolToSmiles(mol, isomericSmiles=False):
        return smiles  # as it is given, which may tell the sides of charged nitrogens as well
    return str(Chem.MolToSmiles(form))


def _one_charge_of_two(mol: Chem.Mol) -> Chem.Mol:
    """``mol`` where of two charged amines near each other one is neutral."""
    mol = Chem.RWMol(mol)
    while True:
        amines = [match[0] for match in mol.GetSubstructMatches(_AMMONIUM)]
        distances = rdmolops.GetDistanceMatrix(mol)
        near = [pair for pair in combinations(amines, 2) if distances[pair] <= _NEIGHBOURS]
        if not near:
            return mol.GetMol()
        crowded = {index for pair in near for index in pair}
        # The nitrogen that more electron-poor atoms surround is the less basic one.
        weakest = max(crowded, key=lambda index: (_withdrawing(mol, index, distances), index))
        atom = mol.GetAtomWithIdx(weakest)
        atom.SetFormalCharge(0)
        if atom.GetNoImplicit():
            atom.SetNumExplicitHs(max(atom.GetNumExplicitHs() - 1, 0))
        mol.UpdatePropertyCache()


def _withdrawing(mol: Chem.Mol, index: int, distances: NDArray[np.float64]) -> int:
    """How many atoms two or three bonds from an atom draw electrons."""
    near = [other for other in mol.GetAtoms() if distances[index, other.GetIdx()] in (2, 3)]
    return len(
        [
            other
            for other in near
            if other.GetIsAromatic() or other.GetAtomicNum() in (8, 9, 16, 17) or other.GetFormalCharge() > 0
        ]
    )


def _centres(mol: Chem.Mol) -> int:
    """How many carbon centres and double bonds have their stereo told."""
    tetrahedral = sum(
        atom.GetAtomicNum() == 6 and atom.GetChiralTag() != Chem.ChiralType.CHI_UNSPECIFIED
        for atom in mol.GetAtoms()
    )
    bonds = sum(bond.GetStereo() > Chem.BondStereo.STEREOANY for bond in _carbon_bonds(mol))
    return int(tetrahedral + bonds)


def _carbon_bonds(mol: Chem.Mol) -> Iterator[Chem.Bond]:
    for bond in mol.GetBonds():
        if bond.GetBeginAtom().GetAtomicNum() == 6 and bond.GetEndAtom().GetAtomicNum() == 6:
            yield bond
