"""The forms of a molecule that are docked: its isomers where stereo is open, its tautomers, protonated as at a pH.

Sites are protonated one by one by dimorphite_dl (Ropp et al., J. Cheminform. 11, 14 (2019)), each as most of it is
at that pH. Tautomers are RDKit's; its rating does not tell which of them there are in water, so that the one that is
given is docked beside those that are rated as high.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, rdBase
from rdkit.Chem import AllChem, rdmolops
from rdkit.Chem.EnumerateStereoisomers import (
    EnumerateStereoisomers,
    GetStereoisomerCount,
    StereoEnumerationOptions,
)
from rdkit.Chem.MolStandardize import rdMolStandardize
from rdkit.Chem.rdMolDescriptors import CalcNumBridgeheadAtoms

from docking.domain import parse
from docking.records import DockSettings

_AMMONIUM = Chem.MolFromSmarts("[NX4;+;!H0]")
_LOOKED_AT = 16
"""Isomers of a bridged molecule that are looked at, for each that is wanted."""
_TRIES = 5
"""To find a conformer of an isomer: one that can exist mostly has one at the first, and others take seconds to fail."""
_TAUTOMERS, _TRANSFORMS = 64, 200
"""Tautomers that are looked at, and steps to find them: a bound on time, some 3 ms for most molecules."""
_PROTONATING = threading.Lock()
"""dimorphite_dl loads its rules at its first call, and a call from another thread meanwhile finds none of them."""
_NEIGHBOURS = 3
"""Bonds: of two amines this near, as in piperazine, the second is some 4 units less basic, and stays neutral."""


@dataclass(frozen=True, slots=True)
class Forms:
    """SMILES of the forms to dock, of ``isomers`` that there are; ``moved``: of another tautomer than is given."""

    smiles: tuple[str, ...]
    isomers: int = 1
    moved: frozenset[str] = frozenset()

    def note(self, docked: int, best: str = "") -> str:
        """What the score of a molecule is the best of, when so many forms docked, the others cannot exist; and that the
        ``best`` one is another tautomer than is given."""
        isomers = f"{docked} stereoisomers"
        if self.moved:
            isomers = f"{docked} tautomers" if self.isomers == 1 else f"{docked} stereoisomers and tautomers"
        elif self.isomers > len(self.smiles):
            isomers = f"{docked} of {self.isomers} stereoisomers"
        several = docked > 1 or (self.isomers > len(self.smiles) and not self.moved)
        told = f"best of {isomers}" if several else ""
        other = "docked as another tautomer than given" if best in self.moved else ""
        return "; ".join(filter(None, (told, other)))


def forms_of(smiles: str, settings: DockSettings) -> Forms:
    """The forms of a molecule to dock by ``settings``: the same for the same molecule and settings."""
    mol = parse(smiles)
    chosen, total = isomers(mol, settings.isomers)
    given, others = [], []
    for isomer in chosen:
        first, *rest = (_at(text, settings.ph) for text in tautomers(isomer, settings.tautomers))
        given.append(first)
        others += rest
    known = {_hydrogens(form) for form in given}
    moved = []
    for form in others:  # a charge may make two tautomers the same, as in guanidines
        if _hydrogens(form) not in known:
            known.add(_hydrogens(form))
            moved.append(form)
    return Forms((*dict.fromkeys(given), *moved), total, frozenset(moved))


def _at(smiles: str, ph: float | None) -> str:
    return smiles if ph is None else protonated(smiles, ph)


def _hydrogens(smiles: str) -> str:
    """Where the hydrogens of a molecule are, whichever way its double bonds and charges are drawn."""
    mol = Chem.RWMol(Chem.MolFromSmiles(smiles))
    for atom in mol.GetAtoms():
        atom.SetIsotope(1 + atom.GetTotalNumHs())  # a label that is written whatever the bonds are
        atom.SetNumExplicitHs(0)
        atom.SetNoImplicit(True)
        atom.SetFormalCharge(0)
        atom.SetIsAromatic(False)
    for bond in mol.GetBonds():
        bond.SetBondType(Chem.BondType.SINGLE)
        bond.SetIsAromatic(False)
    return str(Chem.MolToSmiles(mol))


def tautomers(smiles: str, most: int) -> list[str]:
    """The molecule as given, and at most so many tautomers in all: others that RDKit rates at least as high, and whose
    stereo is as much told, the highest first.

    Source: Sitzmann, Ihlenfeldt and Nicklaus, J. Comput. Aided Mol. Des. 24, 521 (2010).
    """
    if most < 2:
        return [smiles]
    mol = Chem.MolFromSmiles(smiles)
    rate = rdMolStandardize.TautomerEnumerator.ScoreTautomer
    own, ranked = rate(mol), []
    with rdBase.BlockLogs():
        for other in _enumerator().Enumerate(mol):
            text = str(Chem.MolToSmiles(other))
            if text != smiles and rate(other) >= own and _centres(other) >= _centres(mol):
                ranked.append((-rate(other), text))
    return [smiles, *(text for _rating, text in sorted(ranked)[: most - 1])]


@cache
def _enumerator() -> Any:
    """RDKit's enumerator, bounded, which leaves stereo as it is."""
    enumerator = rdMolStandardize.TautomerEnumerator()
    enumerator.SetMaxTautomers(_TAUTOMERS)
    enumerator.SetMaxTransforms(_TRANSFORMS)
    enumerator.SetRemoveSp3Stereo(False)
    enumerator.SetRemoveBondStereo(False)
    return enumerator


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
