"""What the import of each of the user's modules has bound its names to: functions and classes.

A worker's import binds them to the like. What the user binds a name to afterwards may have the code and the name of
what was there (``own.loss = own.scaled(5)(own.other)``), so that nothing else tells them apart.
"""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any

_of_imports: dict[
    str, tuple[Any, dict[str, weakref.ref[Any]]]
] = {}  # by module: its spec, and what has each name


def note(module: str) -> None:
    """Take what the module has now for what its import has made."""
    found = sys.modules.get(module)
    if found is None:
        return
    bound = {
        name: weakref.ref(value)
        for name, value in list(vars(found).items())
        if type(value) is types.FunctionType or issubclass(type(value), type)
    }
    _of_imports[module] = found.__spec__, bound


def is_bound_anew(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a module has this function or class under a name that its import has not given it, as far as is known."""
    spec, bound = _of_imports.get(module.__name__, (None, {}))
    if spec is None or spec is not module.__spec__ or vars(module).get(name) is not value:
        return False
    first = bound.get(name)
    return first is None or first() is not value
