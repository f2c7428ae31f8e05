"""What import statements in the files of the user's modules bind: what was bound anew is told from that."""

from __future__ import annotations

import ast
import functools
import importlib.util
import sys
import types
from collections.abc import Iterator

from .import_log import version_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_Imports = dict[str, frozenset[tuple[str, int]]]


def imports_as(module: types.ModuleType, name: str, value: types.ModuleType) -> bool:
    """Whether the import of a module surely binds this name in it to ``value``, another module."""
    own = vars(module)
    if vars(value).get("__name__") == f"{own['__name__']}.{name}":  # of a package, which its own import binds
        return True
    file = str(own.get("__file__"))
    found = set()
    for written, level in _imports(file, version_of(file)).get(name, ()):
        if level:
            try:
                written = importlib.util.resolve_name("." * level + written, own.get("__package__"))
            except ImportError:
                return False
        found.add(id(sys.modules.get(written)))
    return found == {id(value)}


@functools.lru_cache(maxsize=64)
def _imports(file: str, _: object) -> _Imports:
    """By name, the (module, level of a relative one) that it may be; {} for a file that cannot be read."""
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return {}
    found: _Imports = {}
    for node in _statements(tree.body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, written, level in _bound(node):
                found[name] = found.get(name, frozenset()) | {(written, level)}
    return found


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module outside of functions and classes."""
    for node in body:
        yield node
        if not isinstance(node, _FUNCTIONS):
            for key in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, key, []))
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _bound(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, int]]:
    """Yield (name, module that it may be, level) of what an import statement binds."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            dot = "." if node.module else ""
            yield alias.asname or alias.name, f"{node.module or ''}{dot}{alias.name}", node.level
        elif alias.asname:
            yield alias.asname, alias.name, 0
        else:
            first = alias.name.partition(".")[0]
            yield first, first, 0
