"""Functions that bear the names of those they replace: ``losses.loss = functools.wraps(losses.loss)(mine)``.

By such a name a worker would find the function that was replaced, as the module's file makes it. So these functions
travel by value. What a module's file decorates itself bears its name rightly: a worker's import makes it again.
"""

from __future__ import annotations

import ast
import functools
import sys
import types
from importlib.machinery import SourceFileLoader
from typing import Any

from .bindings import is_bound_anew
from .import_log import users_own, version_of

MAINS = frozenset(("__main__", "__mp_main__"))


_modules: set[bytes] = set()  # that have had some


def note(module: str) -> None:
    """A module has a replacement among its names."""
    _modules.add(module.encode())


def look_at(function: types.FunctionType) -> None:
    """Note the module whose name a function bears, if the function is a replacement."""
    if is_replacement(function):
        note(function.__module__)


def may_be_in(texts: bytes) -> bool:
    """Whether a pickle, of which these are the texts, may refer to one by its name."""
    return bool(_modules) and any(name in texts for name in _modules)


def home(value: Any) -> Any:
    """The name of the module whose code a function is, whatever its ``__module__`` says; that of other objects."""
    if type(value) is types.FunctionType:
        return value.__globals__.get("__name__")
    return getattr(value, "__module__", None)


def is_replacement(function: types.FunctionType) -> bool:
    """Whether a function has taken the name of another one, which its module's file makes under that name."""
    named, made_in = function.__module__, home(function)
    if named == made_in and function.__code__.co_name == function.__name__:
        return False
    if named in MAINS or named is None:
        return False
    if made_in in MAINS:
        return True
    module = sys.modules.get(named)
    if module is not None and _is_users(module):
        name = function.__qualname__
        return is_other_than_defined(module, name, function) or is_bound_anew(module, name, function)
    return _is_users(sys.modules.get(made_in))  # packages do not import modules of the user's


def _is_users(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return bool(file) and users_own(str(file))


def is_other_than_defined(module: Any, name: str, value: Any) -> bool:
    """Whether a module's file surely defines another function under this qualified name: once, without decorators."""
    if type(value) is types.FunctionType:
        code = value.__code__
        if code.co_filename == module.__file__ and code.co_name == name.rpartition(".")[2]:
            return False
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    if type(loader) is not SourceFileLoader:  # others may change what the file makes
        return False
    return name in _plain_definitions(module.__file__, version_of(module.__file__))


@functools.lru_cache(maxsize=64)
def _plain_definitions(file: str, _: Any) -> frozenset[str]:
    """Qualified names that a file gives to a function without decorators, and to nothing else."""
    try:
        with open(file, "rb") as source:
            text = source.read()
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    if any(word in text for word in _WAYS):
        return frozenset()
    definitions = _Definitions()
    definitions.visit(tree)
    return frozenset(definitions.plain - definitions.others)


_WAYS = (
    b"globals(",
    b"setattr(",
    b"vars(",
    b"sys.modules",
    b"__dict__",
    b"import *",
)  # to names that no one can tell


class _Definitions(ast.NodeVisitor):
    """Names that a module and its classes define, and those that they bind in any other way."""

    def __init__(self) -> None:
        self.plain: set[str] = set()
        self.others: set[str] = set()
        self._within = ""

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        (self.others if node.decorator_list else self.plain).add(self._within + node.name)
        for each in ast.walk(node):
            if isinstance(each, ast.Global):
                self.others.update(each.names)
            elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
                self.others.update((self._within + each.attr, ast.unparse(each)))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if node.decorator_list or node.keywords:  # which may change its methods
            return
        before, self._within = self._within, f"{self._within}{node.name}."
        for each in node.body:
            self.visit(each)
        self._within = before

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.others.add(self._within + node.id)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Store):  # Kind.method = ...
            self.others.add(ast.unparse(node))
        self.generic_visit(node)

    def visit_alias(self, node: ast.alias) -> None:
        self.others.add(self._within + (node.asname or node.name.partition(".")[0]))
