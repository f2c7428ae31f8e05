"""Statements of a loop's body that are done after the items, and whose errors a handler in the body waits for, or a
`finally` that changes something.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from cellmill.magics.reach import Effect
from cellmill.magics.unfit import Refusal

_OF_LOOKUPS = frozenset(("KeyError", "IndexError", "LookupError", "AttributeError"))
_OF_MEMBERS = _OF_LOOKUPS | {"ValueError"}  # list.remove
_TAKE_OUT = frozenset(("pop", "popitem", "popleft", "remove"))


def awaited_errors(
    body: list[ast.stmt], effects: Iterable[Effect], namespace: Mapping[str, Any]
) -> Iterator[Refusal]:
    """Yield the changes, among these, that may find nothing where the body has a handler for that, or a `finally` whose
    changes would be lost with them.
    """
    blocks: list[Any] = [block for each in body for block in ast.walk(each)]
    effects = list(effects)
    waiting: list[tuple[int, range, Set[str], str]] = []
    for block in blocks:
        if awaited := _awaited(block) & _OF_MEMBERS:
            waiting.append((block.lineno, _lines(block.body), awaited, "reach its handler"))
        last: list[ast.stmt] = getattr(block, "finalbody", [])
        if last and any(effect.node.lineno in _lines(last) for effect in effects):
            before = range(block.lineno, last[0].lineno)
            waiting.append((block.lineno, before, _OF_MEMBERS, "run its finally"))
    for effect in effects if waiting else ():
        raised, cure = _may_raise(effect, namespace.get(effect.name))
        for line, lines, errors, fails in waiting:
            if effect.node.lineno in lines and errors & raised:
                instead = f"Write {cure}; or return" if cure else "Return"
                yield Refusal(
                    effect.node,
                    f"{effect.name} is changed after the items, and an error of this does not {fails} "
                    f"(line {line}). {instead} what is needed (-> out), and do this in a plain loop after the cell",
                )
                break


def not_reached(
    body: list[ast.stmt], line: int, error: BaseException, effects: Iterable[ast.stmt]
) -> Iterator[str]:
    """Yield what a plain loop does after this error of the change in this line, and what is not done here, as it comes
    after the items: for a note. ``effects``: all changes of the body.
    """
    changing = [effect.lineno for effect in effects]
    around: list[Any] = [
        block
        for each in body
        for block in ast.walk(each)
        if isinstance(block, (ast.Try, ast.TryStar, ast.With)) and line in _lines([block])
    ]
    for block in sorted(around, key=lambda each: len(_lines([each]))):  # from the inside
        if line in _lines(block.body) and _handles(block, error):
            yield (
                f"A plain loop goes on after this error: line {block.lineno} handles it. Here changes of outside "
                "objects are made after the items, where no handler is reached. Return what is needed (-> out), and "
                "make them in a plain loop after the cell."
            )
            return
        last: list[ast.stmt] = getattr(block, "finalbody", [])
        if last and line < last[0].lineno and any(each in _lines(last) for each in changing):
            yield f"The changes in the finally of line {block.lineno} are not made for this item."


def _handles(block: Any, error: BaseException) -> bool:
    handlers = getattr(block, "handlers", ())
    names = {kind.__name__ for kind in type(error).__mro__}
    return any(handler.type is None for handler in handlers) or not names.isdisjoint(_awaited(block))


def _lines(statements: list[ast.stmt]) -> range:
    return range(statements[0].lineno, (statements[-1].end_lineno or 0) + 1)


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
    """The errors of a change that finds nothing, and how to write it without them; "" where a loop has no way: it may
    not ask for what it takes out of.
    """
    node, name = effect.node, effect.name
    call = node.value if isinstance(node, ast.Expr) else node
    keyed = isinstance(value, dict)
    asked = f"an `if` that asks {name} in front of it"
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _TAKE_OUT:
        cure = f"{name}.discard(x)" if isinstance(value, set) else f"{name}.pop(k, None)" if keyed else ""
        return _OF_MEMBERS, cure
    if isinstance(node, ast.Delete):
        return _OF_LOOKUPS, f"{name}.pop(k, None)" if keyed else ""
    makes = isinstance(value, (defaultdict, Counter))
    if any(step == "[" for step, _ in effect.path[makes:]):
        return _OF_LOOKUPS, f"{name}.setdefault(k, []).append(x)" if keyed else asked
    if effect.step == "[" and isinstance(node, ast.AugAssign) and not makes:
        return _OF_LOOKUPS, f"{name}[k] = {name}.get(k, 0) + x" if keyed else asked
    return (_OF_LOOKUPS, asked) if effect.step == "[" and not keyed else (frozenset(), "")
