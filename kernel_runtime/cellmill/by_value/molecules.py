"""Molecules and reactions of RDKit, with what its own pickles leave out.

By itself RDKit pickles no properties (a molecule's name, the fields of an SD file, notes on atoms and bonds), rounds
coordinates to 32 bits, and gives atoms whose valence was not computed (``sanitize=False``) one of 0, with no hydrogens:
a task would get, and give back, something else than the plain loop has.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

PICKLED = b"rdkit.Chem."  # what the pickle of one has in it, by the plain pickler

_ALL = 0xFFFF | 1 << 16  # PropertyPickleOptions.AllProps and CoordsAsDouble
_COMPUTED = 1 << 5  # what functions of RDKit keep in a molecule that they read: caches
_GRAPH = 1 << 17  # NoConformers, and no properties
_SETTERS = {str: "SetProp", int: "SetIntProp", float: "SetDoubleProp", bool: "SetBoolProp"}
_KINDS = (("rdkit.Chem.rdchem", "Mol"), ("rdkit.Chem.rdChemReactions", "ChemicalReaction"))


def reduced(value: Any, *, caches: bool) -> tuple[Any, ...] | None:
    """Return a molecule's or reaction's reduction; None for others. ``caches``: with computed properties."""
    for module, name in _KINDS:
        kind = getattr(sys.modules.get(module), name, None)
        if kind is not None and issubclass(type(value), kind):
            data = value.ToBinary(_ALL if caches else _ALL & ~_COMPUTED)
            if type(value).__module__ == module and not value.__dict__:  # all of it is in its data
                return _making(value, type(value), data)
            found = value.__reduce_ex__(2)
            if type(found) is tuple and type(found[1]) is tuple and tuple(map(type, found[1])) == (bytes,):
                return *_making(value, found[0], data), *found[2:]
    return None


def _making(value: Any, maker: Any, data: bytes) -> tuple[Any, tuple[Any, ...]]:
    if not is_molecule(value) or not value.NeedsUpdatePropertyCache():
        return maker, (data,)
    open_atoms = [atom.GetIdx() for atom in value.GetAtoms() if atom.NeedsUpdatePropertyCache()]
    return _with_open_valences, (maker, data, open_atoms)


def _with_open_valences(maker: Any, data: bytes, open_atoms: list[int]) -> Any:
    """A molecule of which the valences of some atoms are not computed yet."""
    made = maker(data)
    for index in open_atoms:
        made.GetAtomWithIdx(index).ClearPropertyCache()
    return made


def reduced_generator(value: Any) -> tuple[Any, ...] | None:
    """Return the reduction of a generator of fingerprints whose JSON tells all of it; None for others."""
    module: Any = sys.modules.get("rdkit.Chem.rdFingerprintGenerator")
    if type(value).__module__ != "rdkit.Chem.rdFingerprintGenerator" or not hasattr(value, "ToJSON"):
        return None
    text = value.ToJSON()
    return (_generator, (text,)) if module.FingerprintGeneratorFromJSON(text).ToJSON() == text else None


def _generator(text: str) -> Any:
    module: Any = importlib.import_module("rdkit.Chem.rdFingerprintGenerator")
    return module.FingerprintGeneratorFromJSON(text)


def is_molecule(value: Any) -> bool:
    """Whether it is a molecule of RDKit."""
    kind = getattr(sys.modules.get("rdkit.Chem.rdchem"), "Mol", None)
    return kind is not None and issubclass(type(value), kind)


def state_of(value: Any) -> tuple[bytes, dict[str, Any]] | None:
    """A molecule or reaction without what functions that only read it keep in it: computed properties, private
    attributes, what a reaction's first run marks in its templates. None: of others.
    """
    whole = value
    if not is_molecule(value):
        kind = getattr(sys.modules.get("rdkit.Chem.rdChemReactions"), "ChemicalReaction", None)
        if kind is None or not issubclass(type(value), kind):
            return None
        whole = kind(value)
        whole.Initialize(True)  # silent
    attributes = {name: part for name, part in vars(value).items() if not name.startswith("_")}
    return whole.ToBinary(_ALL & ~_COMPUTED), attributes


def can_become(old: Any, new: Any) -> bool:
    """Whether a molecule can be given what its copy has: other properties, other conformers."""
    if old.ToBinary(_GRAPH) != new.ToBinary(_GRAPH):
        return False
    return all(type(value) in _SETTERS for _, changed, _ in _changes(old, new) for value in changed.values())


def become(old: Any, new: Any) -> None:
    """Give a molecule the properties and conformers of its copy."""
    for owner, changed, gone in _changes(old, new):
        for name in gone:
            owner.ClearProp(name)
        for name, value in changed.items():
            getattr(owner, _SETTERS[type(value)])(name, value)
    old.RemoveAllConformers()
    for conformer in new.GetConformers():
        old.AddConformer(conformer)  # which copies it


def _changes(old: Any, new: Any) -> Iterator[tuple[Any, dict[str, Any], list[str]]]:
    """Yield (molecule, atom or bond; properties to set; names of properties to remove)."""
    atoms = zip(old.GetAtoms(), new.GetAtoms(), strict=True)
    bonds = zip(old.GetBonds(), new.GetBonds(), strict=True)
    for owner, source in ((old, new), *atoms, *bonds):
        before, after = _properties(owner), _properties(source)
        yield (
            owner,
            {k: v for k, v in after.items() if before.get(k) != v},
            [k for k in before if k not in after],
        )


def _properties(owner: Any) -> dict[str, Any]:
    found: dict[str, Any] = owner.GetPropsAsDict(
        True, False, False
    )  # private ones, none that are computed, as they are
    return found
