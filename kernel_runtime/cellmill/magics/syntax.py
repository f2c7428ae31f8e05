"""Copies of syntax trees."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

_Tree = TypeVar("_Tree", ast.expr, ast.stmt, list[ast.stmt])


def copied(tree: _Tree) -> _Tree:
    """A tree, or a list of them, of new nodes, in the place of `copy.deepcopy`.

    Nodes without fields (`ast.Load()`) are one object in all trees of a process, and what shows IPython's errors
    (`executing`) hangs a node's parent on each: a deep copy of a name is one of the whole file that was shown last.
    """
    found: _Tree = _copied(tree)
    return found


def _copied(part: Any) -> Any:
    if isinstance(part, list):
        return [_copied(each) for each in part]
    if not isinstance(part, ast.AST) or not part._fields:
        return part
    names = (*part._fields, *part._attributes)
    return type(part)(**{name: _copied(getattr(part, name)) for name in names if hasattr(part, name)})
