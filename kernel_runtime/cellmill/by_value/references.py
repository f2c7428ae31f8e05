"""The dependencies of a function: the globals and closure variables that it and its helpers refer to."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import importlib.util
import re
import sys
import types
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import cloudpickle
from cloudpickle.cloudpickle import _extract_code_globals

from .replacements import MAINS, is_replacement

ABSENT = object()
CACHED: Any = type(functools.cache(len))  # what functools.cache and lru_cache make of a function
MODULES_BY_TEXT = frozenset(("import_module", "__import__", "modules"))  # ways to modules
_EVALUATORS = frozenset(("eval", "exec"))  # of whole texts
_NAMESPACES = frozenset(("globals", "vars"))  # in which texts are names
_QUERIES = frozenset(("query", "eval"))  # of pandas
_MARKED = re.compile(r"@([^\W\d]\w*)")  # a variable in such a query
_LOADS_OUTER = ("LOAD_GLOBAL", "LOAD_DEREF")
_DISPATCHER = functools.singledispatch(len).__code__  # type: ignore[attr-defined]


def cell_value(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ABSENT


def importable(function: Any) -> bool:
    """Return whether a worker finds this very object by importing its module."""
    name = getattr(function, "__module__", None)
    module = sys.modules.get(name) if name else None
    if module is None or name in MAINS:
        return False
    if name in cloudpickle.list_registry_pickle_by_value():
        return False
    if getattr(module, "__spec__", None) is None and module is not builtins:
        return False
    found: Any = module
    for part in getattr(function, "__qualname__", "<locals>").split("."):
        found = getattr(found, part, None)
    if found is not function:
        return False
    plain = function.__wrapped__ if type(function) is CACHED else function
    return type(plain) is not types.FunctionType or not is_replacement(plain)


def names_of(code: types.CodeType) -> Collection[str]:
    """The globals that code reads or stores, nested code included: those that cloudpickle sends along."""
    found: dict[str, None] = _extract_code_globals(code)  # which cloudpickle keeps and asks for again
    found.update(dict.fromkeys(names_in_texts(code)))
    return found


@functools.lru_cache(maxsize=1024)
def names_in_texts(code: types.CodeType) -> tuple[str, ...]:
    """The names in texts that code may evaluate, nested code included: ``eval("rate * 2")``, ``globals()["rate"]``,
    ``frame.query("price > @rate")``.
    """
    found: dict[str, None] = {}
    texts = [constant for constant in code.co_consts if type(constant) is str]
    used = frozenset(code.co_names)
    if not used.isdisjoint(_EVALUATORS):
        for text in texts:
            found.update(dict.fromkeys(_names_in_source(text)))
    if not used.isdisjoint(_NAMESPACES):
        found.update(dict.fromkeys(filter(str.isidentifier, texts)))
    if not used.isdisjoint(_QUERIES):
        found.update(dict.fromkeys(name for text in texts for name in _MARKED.findall(text)))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(names_in_texts(constant)))
    return tuple(found)


def _names_in_source(text: str) -> list[str]:
    """The variables of a text that is source; [] for others, and where an escape in it may be warned of."""
    if "\\" in text:
        return []
    try:
        return [node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # it has null bytes, or is too deep
        return []


@functools.lru_cache(maxsize=1024)
def names_stored(code: types.CodeType) -> frozenset[str]:
    """The globals that code assigns, nested code included."""
    nested = [names_stored(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    own = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")}
    return frozenset(own).union(*nested)


@functools.lru_cache(maxsize=1024)
def names_changed(code: types.CodeType) -> frozenset[str]:
    """The closure variables that code assigns, and the variables of which it sets attributes, nested code included."""
    found = set()
    before = None
    for i in dis.get_instructions(code):
        if i.opname in ("STORE_DEREF", "DELETE_DEREF"):
            found.add(i.argval)
        elif i.opname == "STORE_ATTR" and before is not None and before.opname in _LOADS_OUTER:
            found.add(before.argval)
        before = i
    nested = [names_changed(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(found).union(*nested).difference(code.co_cellvars)


@functools.lru_cache(maxsize=1024)
def attributes_stored(code: types.CodeType) -> frozenset[str]:
    """The names of attributes that code sets or deletes, nested code included."""
    nested = [
        attributes_stored(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)
    ]
    own = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_ATTR", "DELETE_ATTR")}
    return frozenset(own).union(*nested)


@functools.lru_cache(maxsize=1024)
def names_used(code: types.CodeType) -> frozenset[str]:
    """All names in code, those of attributes too, nested code included."""
    nested = [names_used(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return frozenset(code.co_names).union(*nested)


@functools.lru_cache(maxsize=1024)
def texts_used(code: types.CodeType) -> frozenset[str]:
    """All constants in code that could be names, nested code included."""
    nested = [texts_used(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    own = {constant for constant in code.co_consts if type(constant) is str and constant.isidentifier()}
    return frozenset(own).union(*nested)


@functools.lru_cache(maxsize=1024)
def imports_in(code: types.CodeType) -> frozenset[tuple[str, int, tuple[str, ...]]]:
    """The (module, level, names) of the import statements in code, nested code included; names: of ``from`` ones."""
    nested = [imports_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    found: set[tuple[str, int, tuple[str, ...]]] = set()
    before: list[Any] = [0, ()]  # the level and the names are loaded before an import
    for i in dis.get_instructions(code):
        if i.opname == "IMPORT_NAME":
            level, names = before
            found.add((i.argval, level if isinstance(level, int) else 0, names or ()))
        if i.opname != "EXTENDED_ARG":
            before = [before[1], i.argval]
    return frozenset(found).union(*nested)


@functools.lru_cache(maxsize=1024)
def texts_in(code: types.CodeType) -> frozenset[str]:
    """The texts in code, nested code included, where it may find modules by texts."""
    nested = [texts_in(constant) for constant in code.co_consts if isinstance(constant, types.CodeType)]
    own = (
        {text for text in code.co_consts if type(text) is str}
        if MODULES_BY_TEXT & names_used(code)
        else set()
    )
    return frozenset(own).union(*nested)


def imported_modules(code: types.CodeType, package: str | None) -> Iterator[tuple[str, Any]]:
    """Yield the (name, module) of what code imports when it runs, nested code included, and of the packages that it is
    in; `ABSENT` for what is not imported yet. ``package``: that relative names begin from.
    """
    yield from ((text, sys.modules[text]) for text in texts_in(code) if text in sys.modules)
    for name, level, _ in imports_in(code):
        if level:
            try:
                name = importlib.util.resolve_name("." * level + name, package)
            except ImportError:
                continue
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            whole = ".".join(parts[:end])
            yield whole, sys.modules.get(whole, ABSENT)


def named_references(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the (name, value) of the globals and closure variables that a function refers to."""
    for name in names_of(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        value = cell_value(cell)
        if value is not ABSENT:
            yield name, value


def dispatch_registry(function: types.FunctionType) -> dict[type, Any] | None:
    """Return the functions by type of a `functools.singledispatch` function; None for any other function."""
    if function.__code__ is not _DISPATCHER:
        return None
    place = function.__code__.co_freevars.index("dispatch")
    dispatch = (function.__closure__ or ())[place].cell_contents
    found: dict[type, Any] = dispatch.__closure__[
        dispatch.__code__.co_freevars.index("registry")
    ].cell_contents
    return found


def unwrapped(value: Any) -> Any:
    """The plain function behind a parallel or cached one, or another wrapper of ours."""
    if type(value).__module__ == "cellmill.parallel" or (type(value) is CACHED and not importable(value)):
        return getattr(value, "__wrapped__", value)
    return value


def constants_of(function: Any) -> dict[str, Any]:
    """Return the keyword arguments of a `functools.partial`; {} for others."""
    return function.keywords if type(function) is functools.partial else {}


def is_single(parallel_function: Any) -> bool:
    """Whether calls of a parallel function are calls of its function, one each: it takes no lists."""
    return not getattr(getattr(parallel_function, "_options", None), "batch", True)


def helpers_of(function: Any) -> Iterator[Any]:
    """The function or class itself, and the functions and classes by value that it refers to."""
    seen: set[int] = set()
    todo = [function]
    while todo:
        current = unwrapped(todo.pop())
        if id(current) in seen:
            continue
        seen.add(id(current))
        if issubclass(type(current), type):
            if current is function or not importable(current):
                yield current
                todo.extend(v for v in vars(current).values() if type(v) is types.FunctionType)
        elif type(current) is types.FunctionType and (current is function or not importable(current)):
            yield current
            registry = dispatch_registry(current)
            todo.extend(registry.values() if registry else (value for _, value in named_references(current)))


def body_of(function: Any) -> tuple[types.CodeType | None, Mapping[str, Any]]:
    """Return the code of a cell that is the body of a loop or a task, and its variables; None for other functions."""
    for held in (function, *map(cell_value, getattr(function, "__closure__", None) or ())):
        if getattr(type(held), "watches_itself", False):
            return held.code, held.variables
    return None, {}


def modules_of(function: Any) -> Iterator[str]:
    """Names of the modules that a function and its helpers refer to, or take functions and classes from."""
    yield str(getattr(function, "__module__", None))
    for helper in helpers_of(function):
        if type(helper) is types.FunctionType:
            for _, value in named_references(helper):
                if type(value) is types.ModuleType:
                    yield value.__name__
                elif issubclass(type(value), (types.FunctionType, type)):
                    yield str(value.__module__)
