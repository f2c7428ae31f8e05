"""What packages' objects keep while they are read is no change; what tasks do change of them is told."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from rdkit import Chem
from rdkit.Chem import Descriptors, rdChemReactions
from scipy import sparse

from cellmill import Executor
from tests.support.helpers import SECONDS
from tests.support.told import told

pytestmark = pytest.mark.usefixtures("notices_anew")


@pytest.fixture(scope="module")
def one() -> Iterator[Executor]:
    """One worker, which imports all of this once."""
    with Executor(1) as executor:
        yield executor


def test_what_is_only_read(one: Executor) -> None:
    groups = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": list("xyx")}).groupby("b")
    matrix = sparse.csr_matrix(np.eye(3))
    molecule = Chem.MolFromSmiles("C[C@H](N)C(=O)O")
    amidation = rdChemReactions.ReactionFromSmarts("[C:1](=[O:2])[OH].[N:3]>>[C:1](=[O:2])[N:3]")

    def group(name: str) -> float:
        return float(groups.get_group(name).a.sum())

    def total(_: str) -> float:
        return float(matrix.sum() + (matrix @ matrix).sum() + matrix.tocsc().max())

    def describe(_: str) -> int:
        return len([function(molecule) for _, function in Descriptors.descList])

    def products(_: str) -> int:
        return len(amidation.RunReactants((molecule, molecule)))

    for function in (group, total, describe, products):
        assert told(lambda f=function: [one.submit(f, "x").result(SECONDS) for _ in range(3)]) == []  # type: ignore[misc]


def test_what_is_changed(one: Executor) -> None:
    matrix = sparse.lil_matrix(np.eye(3)).tocsr()
    molecule = Chem.MolFromSmiles("CO")

    def resize(size: int) -> int:
        matrix.resize(size, size)
        return size

    def name(number: int) -> int:
        molecule.SetIntProp("number", number)
        return number

    for function, variable in ((resize, "matrix"), (name, "molecule")):
        (text,) = told(lambda f=function: one.submit(f, 2).result(SECONDS))  # type: ignore[misc]
        assert f"change {variable}" in text


def test_a_compiled_form(one: Executor) -> None:
    """`struct.Struct` is made anew from its format."""
    form = struct.Struct("<Id")

    def packed(given: struct.Struct) -> tuple[bytes, bytes]:
        return form.pack(1, 2.0), given.pack(3, 4.0)

    assert one.submit(packed, form).result(SECONDS) == packed(form)
