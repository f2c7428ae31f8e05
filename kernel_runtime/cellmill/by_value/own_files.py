"""What the files of the user's modules say of imports and defaults: what was set anew is told from that."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

from .import_log import users_own, version_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ARITHMETIC = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator)
_NOT_KNOWN = (ValueError, TypeError, ArithmeticError)  # when it is evaluated


class _Written(NamedTuple):
    """``imports``: by name, the (module, level of a relative one) that it may be. ``defaults``: by name and first line
    of a function and by attribute, the literals; ``fields``: by name of a class, those of its annotated names.
    """

    imports: dict[str, frozenset[tuple[str, int]]]
    defaults: dict[tuple[str, int, str], str]
    fields: dict[str, frozenset[str]]
    bound: dict[
        str, frozenset[str]
    ]  # names that its statements bind, by the class whose they are, "" for the module's


def may_bind(module: types.ModuleType, owner: str) -> frozenset[str]:
    """Names that the import of a module may bind in it, or in the class with this qualified name."""
    return _of(module).bound.get(owner, frozenset())


def imports_as(module: types.ModuleType, name: str, value: types.ModuleType) -> bool:
    """Whether the import of a module surely binds this name in it to ``value``, another module."""
    own = vars(module)
    if not name.rpartition(".")[2].isidentifier():
        return True  # of a tool that changes the code as it is loaded, as pytest does
    if vars(value).get("__name__") == f"{own['__name__']}.{name}":  # of a package, which its own import binds
        return True
    found = set()
    for written, level in _of(module).imports.get(name, ()):
        if level:
            try:
                written = importlib.util.resolve_name("." * level + written, own.get("__package__"))
            except ImportError:
                return False
        found.add(id(sys.modules.get(written)))
    return found == {id(value)}


def import_gives(module: types.ModuleType, name: str, value: Any) -> bool | None:
    """Whether the import of a module binds this name in it to ``value``, as modules are now: code that it takes from
    another module of the user's; None where its statements do not tell.
    """
    found = None
    for written, level in _of(module).imports.get(name, ()):
        if level:
            try:
                written = importlib.util.resolve_name("." * level + written, vars(module).get("__package__"))
            except ImportError:
                return None
        owner, _, attribute = written.rpartition(".")
        other = sys.modules.get(owner)
        if type(other) is not types.ModuleType or not users_own(str(vars(other).get("__file__"))):
            return None
        if vars(other).get(attribute) is value:
            return True
        found = False if attribute in vars(other) else found
    return found


def gives_defaults(module: types.ModuleType, function: types.FunctionType, key: str) -> bool:
    """Whether a module's file surely gives a function the defaults that it has in the attribute ``key``."""
    code, held, written = function.__code__, getattr(function, key), _of(module)
    if code.co_filename == vars(module).get("__file__"):
        return written.defaults.get((code.co_name, code.co_firstlineno, key)) == repr(held)
    values = (
        held.values() if type(held) is dict else held or ()
    )  # of a method that a dataclass has been given
    fields = written.fields.get(function.__qualname__.rpartition(".")[0].rpartition(".")[2], frozenset())
    return fields.issuperset(map(repr, values))


def _of(module: types.ModuleType) -> _Written:
    file = str(vars(module).get("__file__"))
    return _read(file, version_of(file))


@functools.lru_cache(maxsize=64)
def _read(file: str, _: object) -> _Written:
    found = _Written({}, {}, {}, {})
    try:
        with open(file, "rb") as source:
            tree = ast.parse(source.read())
    except (OSError, SyntaxError, ValueError):
        return found
    found.bound.update(_names_bound(tree.body, ""))
    for node in _statements(tree.body):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name, written, level in _bound(node):
                found.imports[name] = found.imports.get(name, frozenset()) | {(written, level)}
    for each in ast.walk(tree):
        if isinstance(each, _FUNCTIONS):
            first = min(line.lineno for line in (each, *each.decorator_list))
            for key, text in _defaults(each):
                found.defaults[each.name, first, key] = text
        elif isinstance(each, ast.ClassDef):
            found.fields[each.name] = found.fields.get(each.name, frozenset()).union(_fields(each))
    return found


def _names_bound(body: list[ast.stmt], owner: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield (qualified name of a class, names that are bound in it) of these statements, which are those of ``owner``,
    and of classes in them that nothing decorates: a decorator may take names away, as that of dataclasses does.
    """
    names, deleted = set[str](), set[str]()
    for node in _statements(body):
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(name for name, *_ in _bound(node))
        elif not isinstance(node, ast.AnnAssign) or node.value is not None:
            used = [each for each in ast.walk(node) if isinstance(each, ast.Name)]
            names.update(each.id for each in used if isinstance(each.ctx, ast.Store))
            deleted.update(each.id for each in used if isinstance(each.ctx, ast.Del))
        if isinstance(node, ast.ClassDef) and not node.decorator_list:
            yield from _names_bound(node.body, f"{owner}.{node.name}".lstrip("."))
    yield owner, frozenset(names - deleted)


def _defaults(node: _Function) -> Iterator[tuple[str, str]]:
    """Yield (attribute, text) of the defaults of a function that are literals, or arithmetic of these."""
    named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    with contextlib.suppress(*_NOT_KNOWN):
        yield "__defaults__", repr(tuple(map(_value_of, node.args.defaults)))
    with contextlib.suppress(*_NOT_KNOWN):
        yield "__kwdefaults__", repr({arg.arg: _value_of(x) for arg, x in named if x is not None})


def _fields(node: ast.ClassDef) -> Iterator[str]:
    """Yield the literals, as texts, that a class gives to annotated names."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and each.value is not None:
            with contextlib.suppress(*_NOT_KNOWN):
                yield repr(_value_of(each.value))


def _value_of(node: ast.expr) -> Any:
    """The value of an expression that is the same in each process; raises one of `_NOT_KNOWN` for others."""
    if not all(isinstance(each, _ARITHMETIC) for each in ast.walk(node)):
        return ast.literal_eval(node)
    return eval(compile(ast.Expression(node), "<default>", "eval"))  # as the module's import did


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module outside of functions and classes."""
    for node in body:
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
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
