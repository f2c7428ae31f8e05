"""Functions that a `%%task` cell is given and that read, by name, what the cell or a task before it assigns.

In its worker such a function is a copy, which has these names as the notebook had them when the cell was submitted.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Mapping
from types import CodeType
from typing import Any

from cellmill.by_value.capture_entries import ITEM
from cellmill.by_value.references import names_of
from cellmill.magics.flow import binds, in_scope, target_names
from cellmill.magics.reach import Reach

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ALONE = (ast.Assign, ast.AnnAssign, ast.ClassDef, ast.Import, ast.ImportFrom, *_DEFINITIONS)
_ABSENT = object()


def former_read(
    tree: ast.Module, given: Mapping[str, Any], assigned: Collection[str], namespace: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Return (variable, name) for a variable that leads to a function which reads an assigned name, if there is one.

    ``given``: what the cell is given of the notebook, whose variables are the ``namespace``.
    """
    changing = set(assigned) - _imported_anew(tree, namespace)
    if not changing:
        return None
    own = bound_first(tree)
    for variable, value in given.items():
        if variable in own:
            continue
        walk = Reach()
        walk.go(value, variable)
        read = {key for kind, owner, key, _ in walk.entries if kind == ITEM and owner is namespace}
        if read & changing:
            return variable, min(read & changing)
    return None


def definitions_in(code: CodeType) -> dict[str, frozenset[str]]:
    """The functions and classes that a cell defines, with the globals that they read or set."""
    nested = [each for each in code.co_consts if isinstance(each, CodeType)]
    return {each.co_name: frozenset(names_of(each)) for each in nested}


def read_by(names: Collection[str], definitions: Mapping[str, frozenset[str]]) -> set[str]:
    """The globals that functions and classes of these names read, and those that they lead to."""
    seen: set[str] = set()
    pending = set(names) & definitions.keys()
    found: set[str] = set()
    while pending:
        seen |= pending
        found = found.union(*(definitions[name] for name in pending))
        pending = (found & definitions.keys()) - seen
    return found


def bound_first(tree: ast.Module) -> set[str]:
    """The names that a cell binds before anything in it can read them: it has no use for the notebook's."""
    bound: set[str] = set()
    read: set[str] = set()
    later: set[str] = set()  # read in the bodies of functions, when they are called
    for node in tree.body:
        running, nested = _parts(node)
        now = _loaded(running)
        later |= _loaded(nested)
        if any(isinstance(each, (ast.Call, ast.With, ast.For)) or _decorates(each) for each in running):
            now |= later
        read |= now - bound
        if isinstance(node, _ALONE):
            bound.update(_bound_by(node))
    return bound - read - (later - bound)


def _parts(statement: ast.stmt) -> tuple[list[ast.AST], list[ast.AST]]:
    """The nodes that run with a statement, and those in the functions that it makes."""
    running: list[ast.AST] = []
    nested: list[ast.AST] = []
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        running.append(node)
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            nested += [part for each in body for part in ast.walk(each)]
            children = [each for each in children if each not in body]
        pending += children
    return running, nested


def _decorates(node: ast.AST) -> bool:
    return bool(getattr(node, "decorator_list", ()))


def _loaded(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these read, delete or assign anew with their own value."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.AugAssign):
            found.update(target_names(node.target))
    return found


def _bound_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Assign):
        return [name for target in node.targets for name in target_names(target)]
    if isinstance(node, ast.AnnAssign):
        return target_names(node.target) if node.value is not None else []
    return binds(node)


def _imported_anew(tree: ast.Module, namespace: Mapping[str, Any]) -> set[str]:
    """The names that a cell binds by imports alone, and to what they have in the notebook already."""
    same: set[str] = set()
    other: set[str] = set()
    for node in in_scope(tree.body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                known = namespace.get(name, _ABSENT)
                (same if known is _imported(node, alias) else other).add(name)
        else:
            other.update(binds(node))
    return same - other


def _imported(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> Any:
    """What an import gives, as far as it is imported already."""
    if isinstance(node, ast.Import):
        return sys.modules.get(alias.name if alias.asname else alias.name.partition(".")[0])
    return getattr(sys.modules.get(node.module or ""), alias.name, None)
