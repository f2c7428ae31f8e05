"""What a function depends on: the globals and closure variables that it and its helpers refer to."""

from __future__ import annotations

import builtins
import sys
import types
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import cloudpickle

ABSENT = object()
MOST_COMPARED = 32
_CONTAINERS = (list, dict, set, bytearray, deque)
_LENGTHS = [kind.__len__ for kind in _CONTAINERS]  # subclasses may count in their own way
_UNCHANGING = (
    *(int, float, complex, bool, str, bytes, range, type(None), type(Ellipsis), type(NotImplemented)),
    *(types.ModuleType, types.BuiltinFunctionType),
)


class References(NamedTuple):
    """What a function depends on, through its helpers too.

    ``bindings``: (namespace, name, value) or, for a closure variable, (None, cell, value). ``members``: containers
    among the values, with their lengths and, of small ones, their members. ``changing``: whether there are values
    that can be changed in place at all.
    """

    bindings: list[tuple[dict[str, Any] | None, Any, Any]]
    members: list[tuple[Any, int, list[Any] | None]]
    changing: bool


def cell_value(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def members_of(container: Any) -> Iterable[Any]:
    """Members in order; of a dict keys and values."""
    return chain(container, container.values()) if isinstance(container, dict) else container


def importable(function: Any) -> bool:
    """A worker finds this very object by importing its module."""
    name = getattr(function, "__module__", None)
    module = sys.modules.get(name) if name else None
    if module is None or name in ("__main__", "__mp_main__"):
        return False
    if name in cloudpickle.list_registry_pickle_by_value():
        return False
    if getattr(module, "__spec__", None) is None and module is not builtins:
        return False
    found: Any = module
    for part in getattr(function, "__qualname__", "<locals>").split("."):
        found = getattr(found, part, None)
    return found is function


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def named_references(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    for name in sorted(names & function.__globals__.keys()):
        yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        value = cell_value(cell)
        if value is not ABSENT:
            yield name, value


def unwrapped(value: Any) -> Any:
    """The plain function behind a parallel one or another wrapper of ours."""
    return getattr(value, "__wrapped__", value) if type(value).__module__ == "cellmill.parallel" else value


def references_of(function: Any) -> References:
    """The present references of a function or a class."""
    bindings: list[tuple[dict[str, Any] | None, Any, Any]] = []
    members: list[tuple[Any, int, list[Any] | None]] = []
    changing = False
    seen: set[int] = set()
    todo = [function]
    while todo:
        current = unwrapped(todo.pop())
        if id(current) in seen:
            continue
        seen.add(id(current))
        if issubclass(type(current), type):
            if not importable(current):
                todo.extend(v for v in vars(current).values() if type(v) is types.FunctionType)
            continue
        if type(current) is not types.FunctionType:
            changing = changing or (type(current) not in _UNCHANGING and current is not ABSENT)
            if getattr(type(current), "__len__", None) in _LENGTHS:
                length = len(current)
                members.append((current, length, [*members_of(current)] if length <= MOST_COMPARED else None))
            continue
        if current is not function and importable(current):
            continue
        namespace = current.__globals__
        for name in {name for code in _codes(current.__code__) for name in code.co_names}:
            if name in namespace or not hasattr(builtins, name):
                value = namespace.get(name, ABSENT)
                bindings.append((namespace, name, value))
                todo.append(value)
        for cell in current.__closure__ or ():
            value = cell_value(cell)
            bindings.append((None, cell, value))
            todo.append(value)
    return References(bindings, members, changing)
