"""What of a row of a library can be docked: its largest molecule, within what Vina's score was made for.

A row ends with a molecule, or with the reason why there is none. A molecule that docks but that is outside of
what scores mean anything for carries a caution, and is ranked after those that carry none.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdkit import Chem, rdBase
from rdkit.Chem import rdMolDescriptors

from docking.records import DockingInputError, Entry

ELEMENTS = frozenset(["H", "C", "N", "O", "F", "Si", "P", "S", "Cl", "Br", "I"])
"""What Vina has parameters for in a ligand."""
MAX_HEAVY_ATOMS = 80
MAX_ROTATABLE = 32
"""More torsions than this Vina refuses."""
MAX_LENGTH = 2000
"""Characters of a SMILES; longer ones are polymers, or no SMILES."""
USUAL_HEAVY_ATOMS = (6, 50)
USUAL_ROTATABLE = 15
"""Sizes for which scores can be compared: smaller and larger molecules, and more flexible ones, are marked."""
_PROBLEMS = {
    "KekulizeException": "aromatic rings that have no Kekule form",
    "AtomKekulizeException": "an aromatic atom outside of a ring",
}


class LigandError(DockingInputError):
    """A molecule that cannot be prepared; the message is the reason shown in its row."""


@dataclass(frozen=True, slots=True)
class Molecule:
    """A molecule that can be docked: canonical ``smiles``, a ``note`` on what was changed, and the ``caution``."""

    smiles: str
    note: str = ""
    caution: str = ""


def parse(smiles: str) -> Chem.Mol:
    """The molecule of ``smiles``; raises :class:`LigandError` with a reason fit for a table."""
    text = smiles.strip()
    if not text:
        raise LigandError("empty SMILES")
    if len(text) > MAX_LENGTH:
        raise LigandError(f"SMILES of {len(text):,} characters (at most {MAX_LENGTH:,})")
    with rdBase.BlockLogs():  # the reason travels with the row; RDKit need not print it as well
        mol = Chem.MolFromInchi(text) if text.startswith("InChI=") else Chem.MolFromSmiles(text)
        if mol is None:
            raise LigandError(_why_not(text))
    return mol


def examine(smiles: str) -> Molecule:
    """What of ``smiles`` is docked: its largest molecule without labels of isotopes; raises
    :class:`LigandError`."""
    return examine_mol(parse(smiles))


def examine_mol(mol: Chem.Mol) -> Molecule:
    """As :func:`examine`, of a molecule."""
    if mol.GetNumAtoms() == 0:
        raise LigandError("no atoms")
    mol, notes = _largest(mol)
    if any(atom.GetIsotope() for atom in mol.GetAtoms()):
        for atom in mol.GetAtoms():
            atom.SetIsotope(0)
        mol = Chem.RemoveHs(mol)
        notes.append("isotopes ignored")
    for atom in mol.GetAtoms():
        atom.SetAtomMapNum(0)
    _refuse(mol)
    smiles = Chem.MolToSmiles(mol)
    return Molecule(smiles, "; ".join(notes), _caution(mol))


def checked(entry: Entry) -> Entry:
    """A row with its molecule, or with the reason why it has none."""
    if entry.reason:
        return entry
    try:
        found = examine(entry.smiles)
    except LigandError as error:
        return Entry(entry.row, entry.smiles, entry.name, str(error))
    except Exception as error:  # one row's trouble must not end the reading of the others
        return Entry(entry.row, entry.smiles, entry.name, f"RDKit: {type(error).__name__}")
    return Entry(entry.row, found.smiles, entry.name, "", found.note, found.caution)


def _why_not(text: str) -> str:
    """Why RDKit makes no molecule of a text, as a chemist would say it."""
    if ">" in text:
        return "a reaction, not a molecule"
    mol = None if text.startswith("InChI=") else Chem.MolFromSmiles(text, sanitize=False)
    if mol is None:
        return "SMILES does not parse"
    mol.UpdatePropertyCache(strict=False)
    problems = Chem.DetectChemistryProblems(mol)
    if not problems:
        return "SMILES does not parse"
    kind = problems[0].GetType()
    if kind in _PROBLEMS:
        return f"SMILES has {_PROBLEMS[kind]}"
    if kind == "AtomValenceException":
        atom = mol.GetAtomWithIdx(problems[0].GetAtomIdx())
        return f"SMILES has an impossible valence at {atom.GetSymbol()} (atom {atom.GetIdx() + 1})"
    return f"SMILES cannot be understood: {problems[0].Message()[:80]}"


def _largest(mol: Chem.Mol) -> tuple[Chem.Mol, list[str]]:
    """The largest organic fragment, and what was left out."""
    fragments = list(Chem.GetMolFrags(mol, asMols=True))
    if len(fragments) == 1:
        return fragments[0], []

    def size(fragment: Chem.Mol) -> tuple[bool, int, float, str]:
        carbon = any(atom.GetAtomicNum() == 6 for atom in fragment.GetAtoms())
        weight = round(rdMolDescriptors.CalcExactMolWt(fragment), 3)
        return carbon, fragment.GetNumHeavyAtoms(), weight, Chem.MolToSmiles(fragment)

    fragments.sort(key=size, reverse=True)
    rest = sorted(
        {Chem.MolToSmiles(fragment) for fragment in fragments[1:]} - {Chem.MolToSmiles(fragments[0])}
    )
    if not rest:
        return fragments[0], [f"one of {len(fragments)} equal molecules"]
    small = fragments[1].GetNumHeavyAtoms() * 2 < fragments[0].GetNumHeavyAtoms()
    what = "salt or solvent stripped" if small else "largest of a mixture, without"
    return fragments[0], [f"{what}: {'.'.join(rest)[:60]}"]


def _refuse(mol: Chem.Mol) -> None:
    """Raise :class:`LigandError` for what Vina cannot dock."""
    symbols = {atom.GetSymbol() for atom in mol.GetAtoms()}
    if "*" in symbols or any(atom.GetAtomicNum() == 0 for atom in mol.GetAtoms()):
        raise LigandError("an open attachment point (*): not a whole molecule")
    heavy = mol.GetNumHeavyAtoms()
    if heavy == 0:
        raise LigandError("no heavy atoms")
    foreign = sorted(symbols - ELEMENTS)
    if foreign:
        raise LigandError(f"element {', '.join(foreign)}: Vina has no parameters for it")
    if "C" not in symbols:
        raise LigandError("no carbon: not an organic molecule")
    unpaired = sum(atom.GetNumRadicalElectrons() for atom in mol.GetAtoms())
    if unpaired:
        raise LigandError(f"a radical: {unpaired} unpaired electron{'s' if unpaired > 1 else ''}")
    if heavy > MAX_HEAVY_ATOMS:
        raise LigandError(f"too large: {heavy} heavy atoms (at most {MAX_HEAVY_ATOMS})")
    rotatable = rdMolDescriptors.CalcNumRotatableBonds(mol)
    if rotatable > MAX_ROTATABLE:
        raise LigandError(f"too flexible: {rotatable} rotatable bonds (at most {MAX_ROTATABLE})")


def _caution(mol: Chem.Mol) -> str:
    """Why a score of the molecule is not to be compared with others; empty when it is."""
    heavy, rotatable = mol.GetNumHeavyAtoms(), rdMolDescriptors.CalcNumRotatableBonds(mol)
    fewest, most = USUAL_HEAVY_ATOMS
    if heavy > most:
        return f"large: {heavy} heavy atoms"
    if heavy < fewest:
        return f"small: {heavy} heavy atom{'s' if heavy > 1 else ''}"
    if rotatable > USUAL_ROTATABLE:
        return f"flexible: {rotatable} rotatable bonds"
    if not any(atom.GetAtomicNum() in (7, 8, 15, 16) for atom in mol.GetAtoms()) and heavy > 20:
        return f"greasy: {heavy} heavy atoms without N, O, P or S"
    return ""
