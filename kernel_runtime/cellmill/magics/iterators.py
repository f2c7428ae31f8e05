"""Iterators that a `%%pfor` loop takes its items from, and that have the rest of them after a plain loop."""

from __future__ import annotations

import ast
import builtins
import csv
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cellmill.magics.reach import Reach

_LAZY: tuple[Any, ...] = (iter, csv.reader)  # beside classes of iterators, and generator functions
_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_INSTEAD = "Run over a list made before (rows = list({name})), or write the plain loop"


@dataclass(frozen=True, slots=True)
class Taken:
    """An iterator from which the loop takes its items, and where its line names it."""

    node: ast.expr
    value: Any

    @property
    def name(self) -> str:
        """As the line has it."""
        return ast.unparse(self.node)

    def left(self, ends: ast.stmt) -> str:
        """What is said where a statement of the body ends the loop before the iterator is at its end."""
        word = "break" if isinstance(ends, ast.Break) else "raise"
        return (
            f"the items come from the iterator {self.name}, and `{word}` (line {ends.lineno}) ends the loop: a plain "
            f"loop leaves the rest in {self.name}, and this one takes items ahead. "
            + _INSTEAD.format(name=self.name)
        )

    def read(self, line: int) -> str:
        """What is said where the body reads the iterator, too."""
        where = f" (line {line})" if line else ""
        return (
            f"the items come from the iterator {self.name}, which the body reads as well{where}: what it finds there "
            "depends on the items before, which run at the same time. " + _INSTEAD.format(name=self.name)
        )


def iterators_of(iterable: ast.expr, namespace: Mapping[str, Any]) -> Iterator[Taken]:
    """Yield the existing iterators from which this expression takes items as they are wanted.

    What an expression makes itself (`open(path)`, `rows()`) is not among them.
    """
    if isinstance(iterable, (ast.Name, ast.Attribute, ast.Subscript)):
        value = known_value(iterable, namespace)
        if hasattr(type(value), "__next__"):
            yield Taken(iterable, value)
    elif isinstance(iterable, ast.GeneratorExp):
        yield from iterators_of(iterable.generators[0].iter, namespace)
    elif isinstance(iterable, ast.NamedExpr):
        yield from iterators_of(iterable.value, namespace)
    elif isinstance(iterable, ast.Call) and _takes_later(_function(iterable.func, namespace)):
        for each in (*iterable.args, *(keyword.value for keyword in iterable.keywords)):
            yield from iterators_of(each, namespace)


def _function(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    builtin = isinstance(node, ast.Name) and node.id not in namespace
    return known_value(node, vars(builtins) if builtin else namespace)


def known_value(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """The value of a name, or of a part of one, as far as no code of the user's tells it; else None."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(known_value(node.value, namespace), "__dict__", {}).get(node.attr)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Constant, ast.Name)):
        value = known_value(node.value, namespace)
        key = node.slice.value if isinstance(node.slice, ast.Constant) else known_value(node.slice, namespace)
        try:
            return value[key] if type(value) in (dict, list, tuple) else None
        except (LookupError, TypeError):
            return None
    return None


def _takes_later(function: Any) -> bool:
    """Whether calls of this make an iterator over their arguments: `enumerate`, `csv.reader`, a generator function."""
    if isinstance(function, type):
        return hasattr(function, "__next__") or inspect.isgeneratorfunction(
            getattr(function, "__iter__", None)
        )
    lazy = any(function is each for each in _LAZY)
    return lazy or (isinstance(function, types.FunctionType) and inspect.isgeneratorfunction(function))


def first_exit(body: Sequence[ast.AST], *, inner: bool = False, caught: bool = False) -> ast.stmt | None:
    """The first `break` or `raise` by which the body ends its loop. ``inner``: it is that of a loop in it."""
    for each in body:
        if (isinstance(each, ast.Break) and not inner) or (isinstance(each, ast.Raise) and not caught):
            return each
        if isinstance(each, _INNER):
            continue
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            within = part == "body" and isinstance(each, _LOOPS)
            handled = part == "body" and bool(getattr(each, "handlers", ()))
            found = first_exit(getattr(each, part, ()), inner=inner or within, caught=caught or handled)
            if found is not None:
                return found
    return None


def read_by(variables: Mapping[str, Any], taken: Taken) -> str:
    """The variable of the body that is the iterator, or leads to it; "" if there is none."""
    for name, value in variables.items():
        walk = Reach()
        walk.go(value, name)
        if walk.reaches(id(taken.value)):
            return name
    return ""
