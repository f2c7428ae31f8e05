"""Arguments that a function changes in place, by its source: tasks change only copies of them.

Read are statements whose effect is plain: `rows[0] = x`, `row.total += 1`, `del table[k]`, `rows.append(x)`,
`frame.drop(..., inplace=True)`, `np.add(a, b, out=a)`, `rng.shuffle(rows)`. A parameter that the function binds anew
(`frame = frame.copy()`) or hands back (`return frame`) is left out: its caller has what was changed.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import weakref
from collections.abc import Iterator
from typing import NamedTuple

_METHODS = frozenset(
    (
        *("append", "extend", "insert", "remove", "clear", "reverse", "sort", "pop"),  # lists
        *(
            "add",
            "discard",
            "update",
            "difference_update",
            "intersection_update",
            "symmetric_difference_update",
        ),
        *("setdefault", "popitem", "subtract", "move_to_end"),  # dicts
        *("appendleft", "extendleft", "popleft", "rotate"),  # deques
        *("fill", "itemset", "partition"),  # arrays
    )
)
_FUNCTIONS = frozenset(
    ("shuffle", "heappush", "heappop", "heapify", "heapreplace", "heappushpop", "insort", "setattr")
)
_CONTAINERS = (list, dict, set)


class _Read(NamedTuple):
    """What the source of a function says: its first line, the names that it binds and those that it hands back, and
    the statements that change what names refer to.
    """

    first: int
    bound: set[str]
    given_back: set[str]
    changes: list[tuple[str, ast.stmt]]


_known: weakref.WeakKeyDictionary[types.CodeType, _Read | None] = weakref.WeakKeyDictionary()


def changed_arguments(
    function: types.FunctionType, *, handed_back: bool = False
) -> dict[str, tuple[int, str]]:
    """Return, by parameter changed in place, the first such line number and its text; those that the function
    hands back only where ``handed_back``.
    """
    read = _read(function)
    if read is None:
        return {}
    names = _parameters(function) - read.bound
    if not handed_back:
        names -= read.given_back
    found: dict[str, tuple[int, str]] = {}
    for name, node in read.changes:
        if name in names:
            found.setdefault(name, (read.first + node.lineno - 1, ast.unparse(node)))
    return found


def _read(function: types.FunctionType) -> _Read | None:
    """Read the source of a function, or of the one that it wraps, once; None where there is none."""
    try:
        code = inspect.unwrap(function).__code__
        if code not in _known:
            _known[code] = _of_source(*inspect.getsourcelines(function))
        return _known[code]
    except (AttributeError, OSError, SyntaxError, TypeError, ValueError):
        return None


def _of_source(lines: list[str], first: int) -> _Read | None:
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    return _Read(first, _bound(definition), _given_back(definition), list(_changes(definition)))


def _parameters(function: types.FunctionType) -> set[str]:
    """Return the parameters without `self`, `cls` and those whose default is a container."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    by_place = names[: code.co_argcount]
    defaults = dict(zip(reversed(by_place), reversed(function.__defaults__ or ()), strict=False))
    defaults.update(function.__kwdefaults__ or {})
    kept = {name for name, value in defaults.items() if isinstance(value, _CONTAINERS)}
    return set(names) - kept - {"self", "cls"}


def _bound(definition: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(definition):
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and node is not definition:
            found.update(each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg))
    return found


def _given_back(definition: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(definition):
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)) and node.value is not None:
            found.update(each.id for each in _members(node.value) if isinstance(each, ast.Name))
    return found


def _members(value: ast.expr) -> Iterator[ast.expr]:
    """Yield the expressions that a returned value holds: itself, members of displays, arms of conditions."""
    if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
        parts = value.elts
    elif isinstance(value, ast.Dict):
        parts = value.values
    elif isinstance(value, ast.IfExp):
        parts = [value.body, value.orelse]
    elif isinstance(value, ast.BoolOp):
        parts = value.values
    else:
        yield value
        return
    for part in parts:
        yield from _members(part)


def _changes(definition: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the names whose objects statements change, with the statements, in the order of the lines."""
    statements = [
        node for node in ast.walk(definition) if isinstance(node, ast.stmt) and node is not definition
    ]
    for node in sorted(statements, key=lambda node: node.lineno):
        if isinstance(node, (ast.Assign, ast.Delete)):
            targets = node.targets
        elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
            targets = [node.target]
        else:
            targets = []
        for target in targets:
            for each in _members(target):
                if isinstance(each, (ast.Subscript, ast.Attribute)):
                    yield _root(each), node
        if isinstance(node, (ast.Expr, ast.Assign)) and isinstance(node.value, ast.Call):
            for name in _changed_by(node.value):
                yield name, node


def _changed_by(call: ast.Call) -> Iterator[str]:
    named = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if named in _FUNCTIONS and call.args:
        yield _root(call.args[0])
    for keyword in call.keywords:
        if keyword.arg == "out":
            yield _root(keyword.value)
    if isinstance(call.func, ast.Attribute):
        in_place = any(
            keyword.arg == "inplace"
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value is True
            for keyword in call.keywords
        )
        if in_place or named in _METHODS:
            yield _root(call.func.value)


def _root(node: ast.expr) -> str:
    """The name at the start of `name.a[b].c`; "" for anything else."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
