"""A molecule of RDKit is in a task what it is here, and the other way round: properties, coordinates, attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS

Chem: Any = pytest.importorskip(
    "rdkit.Chem", reason="rdkit is not installed: pip install 'cellmill[docking]'"
)
Cell = Callable[[str], dict[str, Any]]


@pytest.fixture
def mol() -> Any:
    """With a name, other properties of each kind, positions that 32 bits cannot hold, and an attribute."""
    mol = Chem.MolFromSmiles("CC(=O)N")
    conformer = Chem.Conformer(mol.GetNumAtoms())
    for atom in range(mol.GetNumAtoms()):
        conformer.SetAtomPosition(atom, (atom + 0.1, atom / 3, 1e-9))
    mol.AddConformer(conformer)
    mol.SetProp("_Name", "acetamide")
    mol.SetProp("id", "A-1")
    mol.SetDoubleProp("score", -7.1)
    mol.GetAtomWithIdx(1).SetProp("atomNote", "carbonyl")
    mol.GetBondWithIdx(1).SetIntProp("order", 2)
    mol.note = ["mine"]
    return mol


def told(mol: Any) -> list[Any]:
    """All that is to be the same."""
    atoms = [atom.GetPropsAsDict(False, False) for atom in mol.GetAtoms()]
    bonds = [bond.GetPropsAsDict(False, False) for bond in mol.GetBonds()]
    positions = [conformer.GetPositions().tolist() for conformer in mol.GetConformers()]
    kind, name = type(mol).__name__, mol.GetProp("_Name")
    return [kind, name, mol.GetPropsAsDict(), atoms, bonds, positions, vars(mol), Chem.MolToSmiles(mol)]


CELL = "from tests.contract.test_molecules import told\ndef f(mol): return told(mol)\ndef g(_): return told(kept)\n"


def test_arguments_and_results(ex: Executor, cell: Cell, mol: Any) -> None:
    f = cell(CELL)["f"]
    for each in (mol, Chem.RWMol(mol)):
        each.note = mol.note
        assert ex.submit(f, each).result(SECONDS) == told(each)
        assert told(ex.submit(tasks.same, each).result(SECONDS)) == told(each)


def test_maps(ex: Executor, cell: Cell, mol: Any) -> None:
    f = cell(CELL)["f"]
    assert list(ex.map(f, [mol] * 3)) == [told(mol)] * 3
    assert list(map(told, ex.map(tasks.same, [mol, Chem.Mol(mol)]))) == [
        told(mol),
        [*told(mol)[:-2], {}, "CC(N)=O"],
    ]
    assert [told(found[0]["m"]) for found in ex.map(tasks.same, [[{"m": mol}]])] == [told(mol)]


def test_variables(ex: Executor, cell: Cell, mol: Any) -> None:
    space = cell(CELL)
    space["kept"] = mol
    assert ex.submit(space["g"], 0).result(SECONDS) == told(mol)


def hydrogens(mol: Any) -> list[Any]:
    """Of each atom, or that they are not computed yet."""
    return [atom.NeedsUpdatePropertyCache() or atom.GetTotalNumHs() for atom in mol.GetAtoms()]


def test_valences_that_are_not_computed(ex: Executor) -> None:
    """RDKit refuses to tell the hydrogens of such atoms; its own pickles say that there are none."""
    edited = Chem.RWMol(Chem.MolFromSmiles("CCO"))
    edited.AddBond(2, edited.AddAtom(Chem.Atom(7)), Chem.BondType.SINGLE)
    for each in (Chem.MolFromSmiles("CCN", sanitize=False), edited):
        expected = hydrogens(each)
        assert True in expected
        assert ex.submit(hydrogens, each).result(SECONDS) == expected
        assert hydrogens(ex.submit(tasks.same, each).result(SECONDS)) == expected
        assert [hydrogens(found) for found in ex.map(tasks.same, [each])] == [expected]


def test_reactions(ex: Executor) -> None:
    reactions: Any = pytest.importorskip("rdkit.Chem.rdChemReactions")
    reaction = reactions.ReactionFromSmarts("[C:1]O>>[C:1]N")
    reaction.SetProp("name", "amination")
    assert ex.submit(tasks.same, reaction).result(SECONDS).GetProp("name") == "amination"


def test_reading_one_is_no_change(
    ex: Executor, cell: Cell, mol: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    """RDKit keeps in a molecule what it has computed of it."""
    space = cell("from rdkit.Chem import Crippen\ndef h(x): return Crippen.MolLogP(kept)")
    space["kept"] = mol
    assert len({ex.submit(space["h"], x).result(SECONDS) for x in range(4)}) == 1
    assert "kept" not in capfd.readouterr().err


@pytest.mark.parametrize("make", ["GetMorganGenerator", "GetRDKitFPGenerator", "GetAtomPairGenerator"])
def test_generators_of_fingerprints(ex: Executor, make: str) -> None:
    """As a variable of the function and as an argument: the fingerprints are the kernel's own."""
    from rdkit.Chem import rdFingerprintGenerator

    generator = getattr(rdFingerprintGenerator, make)(fpSize=128)

    def bits(smiles: str) -> str:
        found: str = generator.GetFingerprint(Chem.MolFromSmiles(smiles)).ToBitString()
        return found

    def bits_by(given: Any, smiles: str) -> str:
        found: str = given.GetFingerprint(Chem.MolFromSmiles(smiles)).ToBitString()
        return found

    for smiles in ("CCO", "c1ccccc1C(=O)N"):
        expected = bits(smiles)
        assert ex.submit(bits, smiles).result(SECONDS) == expected
        assert ex.submit(bits_by, generator, smiles).result(SECONDS) == expected
