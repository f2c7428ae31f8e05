"""What the code that a loop's items call may change or use beside their own values, as far as its source tells."""

from __future__ import annotations

import ast
import builtins
import inspect
import logging
import os
import sys
import sysconfig
import textwrap
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from cellmill.magics.effects import Rewriter
from cellmill.magics.reach import Reach

_QUIET = frozenset(
    (
        *(
            "builtins",
            "math",
            "cmath",
            "operator",
            "re",
            "json",
            "statistics",
            "string",
            "hashlib",
            "itertools",
        ),
        *(
            "functools",
            "zlib",
            "textwrap",
            "fractions",
            "decimal",
            "datetime",
            "collections",
            "numpy",
            "time",
        ),
        *("bisect", "heapq", "struct", "unicodedata", "difflib", "copy", "base64", "binascii", "typing"),
        *(
            "dataclasses",
            "enum",
            "random",
            "scipy",
            "_operator",
            "_functools",
            "_heapq",
            "_bisect",
            "_struct",
        ),
    )
)
"""Modules whose functions change their arguments and generators of random numbers at most: both are looked at."""
_RANDOM = frozenset(("random", "numpy.random", "numpy.random.mtrand", "numpy.random._generator"))
_CONDITIONS = {
    "print": "the order of what it prints does not matter",
    "input": "it asks nothing of a person",
    "open": "no two items write one file, or read what another writes",
}
_LOGS = "the order of its log records does not matter"
_FOLDERS = tuple({os.path.realpath(path) for path in sysconfig.get_paths().values()})


@dataclass(slots=True)
class Told:
    """``changes``: what helpers change of things that all items share; ``conditions``: what must hold, unproved.

    ``draws``: the code names a source of random numbers.
    """

    changes: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    draws: bool = False


def look(code: CodeType, variables: Mapping[str, Any], namespace: Mapping[str, Any]) -> Told:
    """Look at the code of a body, and at all functions of the user's that it leads to."""
    told = Told()
    seen: set[int] = set()
    _names(code, namespace, told, seen, list(_called(code)))
    for name, value in variables.items():
        if _own_instance(value):
            _methods(name, value, set(_called(code)), told, seen)
        for kind in _opaque(name, value):
            told.conditions.append(
                f"{name} stays as it is when it is used ({kind} does not show what it changes)"
            )
    told.conditions = list(dict.fromkeys(told.conditions))
    return told


def _called(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _called(constant)


def _names(
    code: CodeType, namespace: Mapping[str, Any], told: Told, seen: set[int], names: list[str]
) -> None:
    """The functions and modules that names of the code lead to."""
    for name in names:
        value = namespace.get(name)
        told.draws = told.draws or name == "random" or _makes_random_numbers(value)
        if name in _CONDITIONS and (name not in namespace or _is_builtin(value, name)):
            told.conditions.append(_CONDITIONS[name])
        elif value is logging or isinstance(value, (logging.Logger, logging.LoggerAdapter)):
            told.conditions.append(_LOGS)
        elif value is not None:
            _value(value, told, seen)


def _makes_random_numbers(value: Any) -> bool:
    """Whether a value is of `random` or `numpy.random`, or bound to a generator of theirs."""
    if isinstance(value, types.ModuleType):
        return value.__name__ in _RANDOM
    of = value.__self__ if isinstance(value, (types.BuiltinFunctionType, types.MethodType)) else value
    module = of.__module__ if isinstance(of, (type, types.FunctionType)) else type(of).__module__
    return module in _RANDOM or (isinstance(of, types.ModuleType) and of.__name__ in _RANDOM)


def _value(value: Any, told: Told, seen: set[int]) -> None:
    value = (
        inspect.unwrap(value)
        if isinstance(value, types.FunctionType) or hasattr(value, "__wrapped__")
        else value
    )
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, types.FunctionType) and _is_users(value):
        _function(value, value.__qualname__, told, seen)
    elif isinstance(value, type) and _is_users(value):
        for member in vars(value).values():
            if isinstance(member, types.FunctionType):
                _names(member.__code__, member.__globals__, told, seen, list(_called(member.__code__)))
    elif isinstance(value, (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)):
        module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__ or "builtins"
        if module.partition(".")[0] not in _QUIET:
            told.conditions.append(
                f"what it calls of {module.partition('.')[0]} changes nothing that items share"
            )


def _function(function: types.FunctionType, name: str, told: Told, seen: set[int]) -> None:
    for effect_line, text, changed in effects_of(function, frozenset()):
        told.changes.append(f"{name} changes {changed} (its line {effect_line}: {text})")
    namespace = dict(function.__globals__)
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            namespace[free] = cell.cell_contents
        except ValueError:
            continue
    names = [*_called(function.__code__), *function.__code__.co_freevars]
    _names(function.__code__, namespace, told, seen, names)


def _methods(name: str, value: Any, called: set[str], told: Told, seen: set[int]) -> None:
    """Methods of a shared object that the body may call."""
    for each in sorted(called & set(dir(type(value)))):
        method = inspect.getattr_static(type(value), each)
        if isinstance(method, types.FunctionType):
            for line, text, changed in effects_of(method, frozenset(method.__code__.co_varnames[:1])):
                what = name if changed in method.__code__.co_varnames[:1] else changed
                told.changes.append(f"{name}.{each} changes {what} (its line {line}: {text})")
            _names(method.__code__, method.__globals__, told, seen, list(_called(method.__code__)))


def effects_of(function: types.FunctionType, outer: frozenset[str]) -> Iterator[tuple[int, str, str]]:
    """What a function changes of what is not its own: line, statement, name. ``outer``: parameters that are shared."""
    try:
        lines, _ = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        return
    definition = tree.body[0] if tree.body else None
    if not isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    code = function.__code__
    parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    local = set(code.co_varnames) | set(code.co_cellvars)
    namespace = {**function.__globals__, **dict.fromkeys(outer, object())}
    made = Rewriter(definition.body, set(parameters) - outer, set(), namespace, valued=False)
    for changed, effects in made.reads.effects.items():
        if changed in outer or changed not in local:
            yield effects[0].node.lineno, ast.unparse(effects[0].node).splitlines()[0], changed
    declared = {
        n for each in ast.walk(definition) if isinstance(each, (ast.Global, ast.Nonlocal)) for n in each.names
    }
    for node in ast.walk(definition):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.id in declared - set(made.reads.effects)
        ):
            yield node.lineno, f"{node.id} = …", node.id


def _is_builtin(value: Any, name: str) -> bool:
    """Whether this is the function that all know by the name, or the shell's wrapper of it."""
    return inspect.unwrap(value) is inspect.unwrap(getattr(builtins, name)) if callable(value) else False


def _is_users(value: Any) -> bool:
    """Whether the function or class is of a notebook or of a file outside the installed packages."""
    if value.__module__ == "__main__":
        return True
    path = getattr(sys.modules.get(value.__module__ or ""), "__file__", None)
    return path is not None and not os.path.realpath(path).startswith(_FOLDERS)


def _own_instance(value: Any) -> bool:
    return not isinstance(value, (type, types.ModuleType, types.FunctionType)) and _is_users(type(value))


def _opaque(name: str, value: Any) -> list[str]:
    """The types of what a variable leads to whose state is not seen."""
    kinds: list[str] = []

    class Looks(Reach):
        def opaque(self, value: Any, name: str) -> None:
            kinds.append(type(value).__name__)

    Looks().go(value, name)
    return kinds[:1]
