"""Splits of the docked molecules by what they are made of, for a validation that no near copy makes easy.

Source: Bemis and Murcko, J. Med. Chem. 39, 2887 (1996), for scaffolds. A molecule of the generated library is an amide
of an acid and an amine (:mod:`docking.blocks`): such blocks belong together when their scaffold is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from rdkit import Chem
from rdkit.Chem import AllChem

from docking.acquisition import scaffold
from docking.blocks import acids, amines
from docking.features import features, heavy_atoms
from docking.intervals import UNKNOWN, Interval, paired, spearman, spearman_difference
from docking.surrogate import OUTER_FOLDS, held_out

_CUT = "[C:1](=[O:2])!@[N;!$(N-C(=O)-N):3]>>[C:1](=[O:2])O.[N:3]"
"""An amide coupling backwards."""


@dataclass(frozen=True, slots=True)
class Split:
    """Held-out rank correlation of ``n`` molecules in so many ``groups``, none of which is both learned from and
    predicted; ``difference``: how much better than size alone. ``reason``: why there is none."""

    name: str
    n: int = 0
    groups: int = 0
    surrogate: Interval = UNKNOWN
    difference: Interval = UNKNOWN
    reason: str = ""

    def __str__(self) -> str:
        if self.reason:
            return f"held out by {self.name}: not done, {self.reason}"
        better = ", which includes zero" if self.difference.includes(0) else ""
        return (
            f"held out by {self.name}: Spearman {self.surrogate}; less heavy atoms alone {self.difference}{better} "
            f"(n = {self.n} in {self.groups} groups)"
        )


def blocks_of(smiles: str) -> tuple[str, str] | None:
    """The acid and the amine of which the generated library makes this molecule; None where there are none."""
    mol = Chem.MolFromSmiles(smiles)
    for products in _cut().RunReactants((mol,)):
        for product in products:
            Chem.SanitizeMol(product)
        acid, amine = (Chem.CanonSmiles(Chem.MolToSmiles(product)) for product in products)
        if acid in _known(acids) and amine in _known(amines):
            return acid, amine
    return None


def groups(name: str, smiles: Sequence[str]) -> list[str] | str:
    """For each of ``smiles`` the group that a split by ``name`` (a key of :data:`SPLITS`) puts it into, or why not."""
    found = [SPLITS[name](text) for text in smiles]
    several = [group for group in found if group is not None]
    if len(several) < len(found):
        return "not all molecules are made of known building blocks"
    if len(set(several)) < 2:
        return "all molecules are of one group"
    if len(set(several)) == len(several):
        return "no two molecules share a group, so a random split is one by group"
    return several


def validate_by(name: str, smiles: Sequence[str], scores: Sequence[float]) -> Split:
    """Nested cross-validation of which no group is both in a training and in a test part."""
    import numpy as np
    from sklearn.model_selection import GroupKFold

    found = groups(name, smiles)
    if isinstance(found, str):
        return Split(name, reason=found)
    count = len(set(found))
    parts = GroupKFold(min(OUTER_FOLDS, count)).split(np.zeros(len(smiles)), groups=found)
    rows, target = features(smiles), np.asarray(scores, dtype=np.float64)
    predictions, _chosen = held_out(rows, target, list(parts))
    return Split(
        name,
        len(smiles),
        count,
        paired(spearman, predictions, target),
        paired(spearman_difference, predictions, -heavy_atoms(smiles), target),
    )


def _acid(smiles: str) -> str | None:
    blocks = blocks_of(smiles)
    return scaffold(blocks[0]) if blocks else None


def _amine(smiles: str) -> str | None:
    blocks = blocks_of(smiles)
    return scaffold(blocks[1]) if blocks else None


SPLITS: dict[str, Callable[[str], str | None]] = {
    "scaffold": scaffold,
    "acid block": _acid,
    "amine block": _amine,
}
"""Name to what of a molecule is its group; None: it has none."""


@cache
def _cut() -> AllChem.ChemicalReaction:
    return AllChem.ReactionFromSmarts(_CUT)


@cache
def _known(blocks: Callable[[], tuple[str, ...]]) -> frozenset[str]:
    return frozenset(blocks())
