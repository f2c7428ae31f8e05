"""Objects that cannot be changed, by their types, and what elements of maps weigh."""

from __future__ import annotations

import sys
from itertools import chain
from typing import Any

ATOM_BYTES = 32  # of most numbers
_ATOMS: frozenset[type] = frozenset((int, float, complex, bool, type(None), type(Ellipsis)))
FIXED: set[type] = {*_ATOMS, str, bytes, range}  # kinds of objects that cannot be changed; numpy's are added


def fixed(items: list[Any]) -> bool:
    """Whether none of them can be changed: decided by their types, and in tuples by those of their parts."""
    kinds = set(map(type, items)) - FIXED
    if tuple in kinds:
        kinds.remove(tuple)
        kinds.update(set(map(type, chain.from_iterable(i for i in items if type(i) is tuple))) - FIXED)
    return all(map(_is_fixed, kinds))


def _is_fixed(kind: type) -> bool:
    """Numpy's numbers cannot be changed, but for records."""
    if kind in FIXED:
        return True
    numpy = sys.modules.get("numpy") if kind.__module__ == "numpy" else None
    if numpy is None or not issubclass(kind, numpy.generic) or issubclass(kind, (numpy.void, numpy.object_)):
        return False
    FIXED.add(kind)
    return True


def size_of(items: list[Any]) -> int:
    """Bytes that they hold, about; pieces are counted when they are made."""
    if _ATOMS.issuperset(map(type, items)):
        return ATOM_BYTES * len(items)
    return sum(map(_size, items))


def _size(item: Any) -> int:
    kind = type(item)
    if kind is tuple:
        return sum(map(_size, item))
    if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
        return int(item.nbytes)
    return sys.getsizeof(item) if kind in FIXED or kind is bytearray else ATOM_BYTES
