"""What the import of each of the user's modules has bound, and to which functions and classes.

A worker's import binds them to the like. What the user binds a name to afterwards may have the code and the name of
what was there (``own.loss = own.scaled(5)(own.other)``), so that nothing else tells them apart.
"""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any, NamedTuple


class _Bound(NamedTuple):
    """``spec``: of that import; ``code``: functions and classes by name."""

    spec: Any
    names: frozenset[str]
    code: dict[str, weakref.ref[Any]]


_NOTHING = _Bound(None, frozenset(), {})
_of_imports: dict[str, _Bound] = {}  # by module


def note(module: str) -> None:
    """Take what the module has now for what its import has made."""
    found = sys.modules.get(module)
    if found is None:
        return
    held = vars(found).copy()
    code = {
        name: weakref.ref(value)
        for name, value in held.items()
        if type(value) is types.FunctionType or issubclass(type(value), type)
    }
    _of_imports[module] = _Bound(found.__spec__, frozenset(held), code)


def was_bound(module: types.ModuleType, name: str) -> bool:
    """Whether the import of a module has bound this name, as far as is known."""
    bound = _of_imports.get(module.__name__, _NOTHING)
    return bound.spec is module.__spec__ and name in bound.names


def is_bound_anew(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a module has this function or class under a name that its import has not given it, as far as is known."""
    bound = _of_imports.get(module.__name__, _NOTHING)
    if bound.spec is None or bound.spec is not module.__spec__ or vars(module).get(name) is not value:
        return False
    first = bound.code.get(name)
    return first is None or first() is not value
