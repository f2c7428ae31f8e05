"""The building blocks of the generated library: carboxylic acids and amines a medicinal chemist would
order.

They are enumerated from scaffolds with one attachment point ``*`` and substituents, checked with RDKit
(one acid, or one acylable amine, per block; at most 260 and 230 g/mol) and sorted, so that the lists are
the same everywhere. A block whose stereo is open is one of its isomers, as it would be ordered.
"""

from __future__ import annotations

from functools import cache

from rdkit import Chem, rdBase
from rdkit.Chem import rdMolDescriptors
from rdkit.Chem.EnumerateStereoisomers import EnumerateStereoisomers, StereoEnumerationOptions

MAX_ACID_WEIGHT = 260.0
MAX_AMINE_WEIGHT = 230.0
MAX_ROTATABLE = 5

ACID = "[CX3;!$(C(=O)([OX2H1])[#7,#8]):1](=[O:2])[OX2H1]"
"""Carboxylic acids; carbamic and carbonic acids are excluded."""
AMINE = "[NX3;H1,H2;!$(N-C=[O,S,N]);!$(N-S=O);!$(N-[#7,#8]);!$(N-C#N):3]"
"""Primary and secondary amines and anilines; amides, sulfonamides, amidines and hydrazines are excluded."""
COUPLING = f"{ACID}.{AMINE}>>[C:1](=[O:2])[N:3]"
"""Amide coupling as reaction SMARTS."""

SUBSTITUENTS = (
    "F", "Cl", "Br", "C", "CC", "C(C)C", "OC", "OCC", "C(F)(F)F", "OC(F)F", "C#N", "N(C)C", "S(C)(=O)=O",
    "C1CC1",
)  # fmt: skip

# "*" is where a substituent goes; every scaffold is also taken without one. The bridgeheads of adamantane are told:
# RDKit takes them for centres of stereo, and of its isomers only this one can exist.
ACID_SCAFFOLDS = (
    "OC(=O)c1ccc(*)cc1", "OC(=O)c1cccc(*)c1", "OC(=O)c1ccccc1*", "OC(=O)c1cc(F)cc(*)c1",
    "OC(=O)Cc1ccc(*)cc1", "OC(=O)Cc1cccc(*)c1", "OC(=O)CCc1ccc(*)cc1", "OC(=O)COc1ccc(*)cc1",
    "OC(=O)/C=C/c1ccc(*)cc1", "OC(=O)C1CC1c1ccc(*)cc1", "OC(=O)c1ccc2cc(*)ccc2c1",
    "OC(=O)c1cc2cc(*)ccc2[nH]1", "OC(=O)c1c[nH]c2ccc(*)cc12", "OC(=O)c1cc2cc(*)ccc2o1",
    "OC(=O)c1cc2cc(*)ccc2s1", "OC(=O)c1ccc(*)nc1", "OC(=O)c1cncc(*)c1", "OC(=O)c1cc(*)ccn1",
    "OC(=O)c1ccc(*)o1", "OC(=O)c1ccc(*)s1", "OC(=O)c1csc(*)c1", "OC(=O)c1cc(*)no1", "OC(=O)c1cc(*)n(C)n1",
    "OC(=O)c1cn(C)nc1*", "OC(=O)c1csc(*)n1", "OC(=O)c1coc(*)n1", "OC(=O)c1cnc2cc(*)ccc2c1",
    "OC(=O)c1cc(-c2ccc(*)cc2)no1", "OC(=O)c1cnn(-c2ccc(*)cc2)c1", "OC(=O)c1nc(-c2ccc(*)cc2)cs1",
    "OC(=O)c1ccc(-c2ccc(*)cc2)cc1", "OC(=O)c1ccc(Oc2ccc(*)cc2)cc1", "OC(=O)C1CCN(c2ccc(*)cc2)CC1",
    "OC(=O)C1CCN(C(=O)c2ccc(*)cc2)CC1", "OC(=O)C1CCC(*)CC1", "OC(=O)C1(c2ccc(*)cc2)CC1",
    "OC(=O)C1Cc2ccc(*)cc2O1", "OC(=O)c1cnc(*)nc1", "OC(=O)c1nc2ccc(*)cc2[nH]1",
    "OC(=O)c1n[nH]c2ccc(*)cc12", "OC(=O)c1cc(=O)c2cc(*)ccc2[nH]1", "OC(=O)c1ccc2c(c1)OCCO2",
    "OC(=O)c1ccc2c(c1)OCO2", "OC(=O)C1CCOCC1", "OC(=O)C1CCCO1", "OC(=O)C1CCC1", "OC(=O)C1CCCC1",
    "OC(=O)CC1CCCCC1", "OC(=O)CC(C)C", "OC(=O)[C@]12C[C@H]3C[C@H](C[C@H](C3)C1)C2", "OC(=O)CN1CCOCC1",
    "OC(=O)CN1CCCCC1",
    "OC(=O)CCC(=O)c1ccc(*)cc1", "OC(=O)Cc1csc(*)n1", "OC(=O)Cc1c[nH]c2ccc(*)cc12",
    "OC(=O)c1ccnc2ccc(*)cc12",
)  # fmt: skip

AMINE_SCAFFOLDS = (
    "Nc1ccc(*)cc1", "Nc1cccc(*)c1", "Nc1ccccc1*", "NCc1ccc(*)cc1", "NCc1cccc(*)c1", "NCc1ccccc1*",
    "NCCc1ccc(*)cc1", "CC(N)c1ccc(*)cc1", "CNCc1ccc(*)cc1", "NCc1ccc(*)nc1", "NCc1ccc(*)o1",
    "NCc1ccc(*)s1", "NCCc1c[nH]c2ccc(*)cc12", "NCc1cc2cc(*)ccc2[nH]1", "Nc1ccc(*)cn1",
    "Nc1cnn(-c2ccc(*)cc2)c1", "Nc1nc(-c2ccc(*)cc2)cs1", "C1CN(c2ccc(*)cc2)CCN1", "C1CN(Cc2ccc(*)cc2)CCN1",
    "C1CN(c2ccc(*)cn2)CCN1", "C1CC(c2ccc(*)cc2)CCN1", "C1CCC(c2ccc(*)cc2)N1", "C1CC(Oc2ccc(*)cc2)CCN1",
    "C1CC(Cc2ccc(*)cc2)CCN1", "c1cc2c(cc1*)CNCC2", "C1Cc2cc(*)ccc2N1", "C1Cc2[nH]c3ccc(*)cc3c2CN1",
    "NC1CCN(c2ccc(*)cc2)CC1", "NC1CCN(Cc2ccc(*)cc2)CC1", "NC1CCc2cc(*)ccc21", "NC1CCCc2cc(*)ccc21",
    "NCC1COc2cc(*)ccc2O1", "NCCOc1ccc(*)cc1", "NC1CC1c1ccc(*)cc1", "NCc1cn(-c2ccc(*)cc2)nn1",
    "NCc1nc(-c2ccc(*)cc2)no1", "NC1CCC(*)CC1", "Nc1ccc2[nH]nc(*)c2c1", "Nc1ccc2ncccc2c1",
    "Nc1ccc(N2CCOCC2)cc1", "Nc1ccc(C(=O)N2CCCC2)cc1", "C1COCCN1", "C1CCNCC1", "C1CCNC1", "CC1CCNCC1",
    "NC1CCCCC1", "NC1CCOCC1", "NCC1CCOCC1", "NCC1CCCO1", "NCCN1CCOCC1", "NCCCN1CCCC1=O", "NCC(C)C",
    "NCC1CC1", "N[C@]12C[C@H]3C[C@H](C[C@H](C3)C1)C2", "CN1CCNCC1", "CC(=O)N1CCNCC1", "O=S1(=O)CCNCC1",
    "NCc1ccc2c(c1)OCO2",
)  # fmt: skip


@cache
def acids() -> tuple[str, ...]:
    """Canonical SMILES of the carboxylic acids, sorted."""
    return _blocks(ACID_SCAFFOLDS, ACID, AMINE, MAX_ACID_WEIGHT)


@cache
def amines() -> tuple[str, ...]:
    """Canonical SMILES of the amines, sorted."""
    return _blocks(AMINE_SCAFFOLDS, AMINE, ACID, MAX_AMINE_WEIGHT)


def _blocks(scaffolds: tuple[str, ...], wanted: str, unwanted: str, max_weight: float) -> tuple[str, ...]:
    """Every scaffold with and without each substituent that has exactly one ``wanted`` group and is small."""
    group, other = Chem.MolFromSmarts(wanted), Chem.MolFromSmarts(unwanted)
    found: set[str] = set()
    with rdBase.BlockLogs():
        for scaffold in scaffolds:
            plain = scaffold.replace("(*)", "").replace("*", "")
            variants = [plain]
            if "(*)" in scaffold or scaffold.endswith("*"):
                variants += [_substituted(scaffold, substituent) for substituent in SUBSTITUENTS]
            for smiles in variants:
                mol = Chem.MolFromSmiles(smiles)
                if mol is None or len(mol.GetSubstructMatches(group)) != 1 or mol.HasSubstructMatch(other):
                    continue
                if rdMolDescriptors.CalcExactMolWt(mol) > max_weight:
                    continue
                if rdMolDescriptors.CalcNumRotatableBonds(mol) > MAX_ROTATABLE:
                    continue
                found.add(_one_isomer(mol))
    return tuple(sorted(found))


def _one_isomer(mol: Chem.Mol) -> str:
    """SMILES of the isomer of ``mol`` that comes first in the alphabet."""
    options = StereoEnumerationOptions(unique=True)
    return min(str(Chem.MolToSmiles(isomer)) for isomer in EnumerateStereoisomers(mol, options))


def _substituted(scaffold: str, substituent: str) -> str:
    # Ring closure 1 is open inside most scaffolds, so a ring in a substituent takes number 9.
    text = substituent.replace("1", "9")
    return scaffold.replace("(*)", f"({text})") if "(*)" in scaffold else scaffold[:-1] + text
