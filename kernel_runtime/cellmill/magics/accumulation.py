"""Statements that go on from the value of the item before: which they are, and which names belong to the body."""

from __future__ import annotations

import ast

from cellmill.magics.flow import SCOPES, binds, in_scope

_PASSING = ("setdefault", "get")


def root_of(node: ast.expr) -> ast.Name | None:
    """The name at the start of `name.a[b].setdefault(c, [])`."""
    if isinstance(node, ast.Name):
        return node
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return root_of(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PASSING:
        return root_of(node.func.value)
    return None


def accumulates(name: str, value: ast.expr) -> bool:
    """Whether `name = value` is of the kind of `name = name + x` or `name = max(name, x)`."""
    if sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(value)) != 1:
        return False
    while not isinstance(value, ast.Name):
        if isinstance(value, ast.BinOp):
            parts: list[ast.expr] = [value.left, value.right]
        elif _is_extreme(value):
            parts = value.args  # type: ignore[attr-defined]
        else:
            return False
        value = next(p for p in parts if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(p)))
    return True


def _is_extreme(node: ast.expr) -> bool:
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max")
    return named and not node.keywords and len(node.args) > 1  # type: ignore[attr-defined]


_CHEAP = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitOr, ast.BitAnd, ast.BitXor)


def is_present_value(place: ast.Attribute | ast.Subscript, node: ast.expr) -> bool:
    """Whether `node` reads the place: `table[k]`, or `table.get(k, 0)` for the same key."""
    if _same(place, node):
        return True
    if not isinstance(place, ast.Subscript) or not isinstance(node, ast.Call):
        return False
    func, args = node.func, node.args
    asks = isinstance(func, ast.Attribute) and func.attr == "get" and _same(func.value, place.value)
    return asks and not node.keywords and 1 <= len(args) <= 2 and _same(args[0], place.slice)


def goes_on_from(place: ast.Attribute | ast.Subscript, value: ast.expr) -> bool:
    """Whether `place = value` is of the kind of `table[k] = table.get(k, 0) + x` or `best[k] = max(best[k], x)`."""
    if is_present_value(place, value):
        return True
    if isinstance(value, ast.BinOp) and isinstance(value.op, _CHEAP):
        return goes_on_from(place, value.left) or goes_on_from(place, value.right)
    return _is_extreme(value) and any(goes_on_from(place, each) for each in value.args)  # type: ignore[attr-defined]


def _same(one: ast.expr, other: ast.expr) -> bool:
    """Whether two expressions are written alike, assigned to or read."""
    return ast.unparse(one) == ast.unparse(other)


def _accumulated(node: ast.AST) -> ast.Name | None:
    """The name that a statement accumulates, as written."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        return node.target
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        return node.targets[0] if accumulates(node.targets[0].id, node.value) else None
    return None


def names_bound(body: list[ast.stmt], targets: set[str]) -> set[str]:
    """The names that the body binds by other means than accumulating them."""
    everywhere = list(ast.walk(ast.Module(body, [])))
    skipped = {id(name) for node in everywhere if (name := _accumulated(node)) and name.id not in targets}
    bound = {name for node in in_scope(body) if id(node) not in skipped for name in binds(node)}
    for function in everywhere:
        if isinstance(function, SCOPES) and not isinstance(function, ast.Lambda):
            inside = list(in_scope(function.body))
            declared = {name for node in inside if isinstance(node, ast.Global) for name in node.names}
            bound |= {n for node in inside if id(node) not in skipped for n in binds(node) if n in declared}
    return bound
