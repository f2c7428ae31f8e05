"""Items of `%%pfor` that only their own code knows: what changes them reaches the notebook, or the loop is refused."""

from __future__ import annotations

import pytest

from tests.support.notebook import Notebook

MOLECULES = """
from rdkit import Chem
from rdkit.Chem import AllChem, Crippen
mols = [Chem.AddHs(Chem.MolFromSmiles(text)) for text in ("CCO", "CCN", "C[C@H](F)O")]
plain = [Chem.Mol(mol) for mol in mols]
def told(mol):
    atoms = [atom.GetPropsAsDict(False, False) for atom in mol.GetAtoms()]
    positions = [conformer.GetPositions().tolist() for conformer in mol.GetConformers()]
    return mol.GetPropsAsDict(True, False), atoms, positions, vars(mol), Chem.MolToSmiles(mol)
"""
BODIES = {
    "conformers": "AllChem.EmbedMolecule(mol, randomSeed=7)\nAllChem.MMFFOptimizeMolecule(mol)",
    "properties": "mol.SetProp('_Name', 'x')\nmol.SetDoubleProp('logp', Crippen.MolLogP(mol))\nmol.SetIntProp('n', 3)",
    "properties that go": "mol.SetProp('a', '1')\nmol.ClearProp('a')\nmol.SetBoolProp('b', True)",
    "atoms": "for atom in mol.GetAtoms():\n    atom.SetProp('atomNote', str(atom.GetIdx()))",
    "attributes": "mol.note = [mol.GetNumAtoms()]",
    "reading": "Crippen.MolLogP(mol)\nChem.MolToSmiles(mol)",
}


@pytest.fixture(scope="module")
def chemistry(kernel: Notebook) -> Notebook:
    pytest.importorskip("rdkit", reason="rdkit is not installed: pip install 'cellmill[docking]'")
    kernel.run("%cellmill backend local").ok()
    return kernel


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_molecules_become_what_the_plain_loop_makes_of_them(chemistry: Notebook, body: str) -> None:
    chemistry.run(MOLECULES).ok()
    indented = body.replace("\n", "\n    ")
    chemistry.run(f"for mol in plain:\n    {indented}").ok()
    for each in ("mols", "[(mol,) for mol in mols]"):
        chemistry.run(f"%%pfor {'mol' if each == 'mols' else '(mol,)'} in {each}\n{body}").ok()
        assert chemistry.value("[told(m) for m in mols] == [told(m) for m in plain]") == "True"


REFUSED = {
    "m in [Chem.MolFromSmiles('CO')]": "m.GetAtomWithIdx(0).SetFormalCharge(1)",
    "r in [random.Random(1)]": "r.random()",
    "r in [numpy.random.default_rng(1)]": "r.random()",
    "lines in [iter([1, 2, 3])]": "next(lines)",
    "box in [types.SimpleNamespace()]": "box.lines = (line for line in 'ab')",
}


@pytest.mark.parametrize("head", REFUSED)
def test_what_cannot_be_handed_over_is_refused(chemistry: Notebook, head: str) -> None:
    chemistry.run("from rdkit import Chem\nimport random, numpy, types\ndone = []").ok()
    output = chemistry.run(f"%%pfor {head} -> out\n{REFUSED[head]}\ndone.append(1)")
    assert "items change what they are given" in output.traceback
    assert "copy.deepcopy(" in output.traceback
    assert output.pointed_at() == head.partition(" ")[0]
    assert chemistry.value("done") == "[]"
    begun = f"import copy\n{head.partition(' ')[0]} = copy.deepcopy({head.partition(' ')[0]})"
    chemistry.run(f"%%pfor {head} -> out\n{begun}\n{REFUSED[head]}\ndone.append(1)").ok()


def test_a_value_that_cannot_be_sent_is_named_beside_changes(chemistry: Notebook) -> None:
    output = chemistry.run("%%pfor row in [[1], [2]] -> out\nrow.append(3)\n(each for each in row)")
    assert "PayloadError: what an item leaves, a generator, cannot be sent back" in output.traceback
