"""Statements of a loop's body that are done after the items, and whose errors a handler in the body waits for."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cellmill.magics.reach import Effect
from cellmill.magics.unfit import Refusal

_OF_LOOKUPS = frozenset(("KeyError", "IndexError", "LookupError", "AttributeError"))
_OF_MEMBERS = _OF_LOOKUPS | {"ValueError"}  # list.remove
_TAKE_OUT = frozenset(("pop", "popitem", "popleft", "remove"))


def awaited_errors(
    body: list[ast.stmt], effects: Iterable[Effect], namespace: Mapping[str, Any]
) -> Iterator[Refusal]:
    """Yield the changes, among these, that may find nothing where the body has a handler for that."""
    blocks: list[Any] = [block for each in body for block in ast.walk(each)]
    waiting = [(block, awaited) for block in blocks if (awaited := _awaited(block) & _OF_MEMBERS)]
    for effect in effects if waiting else ():
        raised, cure = _may_raise(effect, namespace.get(effect.name))
        for block, awaited in waiting:
            inside = block.body[0].lineno <= effect.node.lineno <= (block.body[-1].end_lineno or 0)
            if inside and awaited & raised:
                yield Refusal(
                    effect.node,
                    f"{effect.name} is changed after the items, and an error of this does not reach its handler "
                    f"(line {block.lineno}). Write {cure}; or return what is needed (-> out), and do this in a plain "
                    "loop after the cell",
                )
                break


def _awaited(block: Any) -> set[str]:
    """The names of the errors that do not leave the body of a block."""
    if isinstance(block, (ast.Try, ast.TryStar)):
        return {name for handler in block.handlers for name in _names(handler.type)}
    found: set[str] = set()
    if isinstance(block, ast.With):
        for call in (item.context_expr for item in block.items):
            if isinstance(call, ast.Call) and ast.unparse(call.func).split(".")[-1] == "suppress":
                found.update(name for argument in call.args for name in _names(argument))
    return found


def _names(kind: ast.expr | None) -> list[str]:
    if isinstance(kind, ast.Tuple):
        return [name for each in kind.elts for name in _names(each)]
    return [kind.id] if isinstance(kind, ast.Name) else []


def _may_raise(effect: Effect, value: Any) -> tuple[frozenset[str], str]:
    """The errors of a change that finds nothing, and how to write it without them."""
    node, name = effect.node, effect.name
    call = node.value if isinstance(node, ast.Expr) else node
    keyed = isinstance(value, dict)
    asked = f"an `if` that asks {name} in front of it"
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _TAKE_OUT:
        cure = f"{name}.discard(x)" if isinstance(value, set) else f"{name}.pop(k, None)" if keyed else asked
        return _OF_MEMBERS, cure
    if isinstance(node, ast.Delete):
        return _OF_LOOKUPS, f"{name}.pop(k, None)" if keyed else asked
    makes = isinstance(value, (defaultdict, Counter))
    if any(step == "[" for step, _ in effect.path[makes:]):
        return _OF_LOOKUPS, f"{name}.setdefault(k, []).append(x)" if keyed else asked
    if effect.step == "[" and isinstance(node, ast.AugAssign) and not makes:
        return _OF_LOOKUPS, f"{name}[k] = {name}.get(k, 0) + x" if keyed else asked
    return (_OF_LOOKUPS, asked) if effect.step == "[" and not keyed else (frozenset(), "")
