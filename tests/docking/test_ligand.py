"""Molecules: prepared in memory, reproducibly, or refused with a reason."""

from __future__ import annotations

import pytest

from docking.ligand import LigandError, embed, parse, prepare, to_pdbqt


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [
        ("", "empty SMILES"),
        ("not-a-molecule", "does not parse"),
        ("C1CC", "does not parse"),
        ("CC(=O)[O-].[Na+]", "salt or mixture: 2 fragments"),
        ("C" * 100, "too large: 100 heavy atoms"),
        ("[H][H]", "no heavy atoms"),
    ],
)
def test_a_molecule_that_cannot_be_used_has_a_reason(smiles: str, reason: str) -> None:
    with pytest.raises(LigandError, match=reason):
        parse(smiles)


def test_too_many_torsions_are_refused() -> None:
    with pytest.raises(LigandError, match="too flexible"):
        prepare("CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC", seed=1)


def test_the_same_seed_gives_the_same_conformer() -> None:
    smiles = "O=C(NCc1ccccc1)c1ccncc1"
    assert prepare(smiles, seed=7) == prepare(smiles, seed=7)
    assert prepare(smiles, seed=7) != prepare(smiles, seed=8)


def test_hydrogens_are_added_and_polar_ones_reach_the_pdbqt() -> None:
    mol = embed(parse("Oc1ccccc1"), seed=1)
    assert mol.GetNumAtoms() == 13
    text = to_pdbqt(mol)
    assert text.count("ATOM") == 8
    assert sum(line.split()[-1] == "HD" for line in text.splitlines() if line.startswith("ATOM")) == 1


def test_an_element_without_a_force_field_is_a_reason_not_a_crash() -> None:
    with pytest.raises(LigandError):
        prepare("[U]", seed=1)
