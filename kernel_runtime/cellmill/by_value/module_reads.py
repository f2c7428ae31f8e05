"""Data of the user's own modules that functions read by name: it goes along with the functions.

Workers import such a module from its file, and have its data as the file makes it. Whatever was bound anew or changed
in the kernel since would be missing there. So a function brings what it reads: names of its module and of the modules
it refers to, through its helpers too. A module of an installed package keeps its own data in each process.
"""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import importlib.util
import sys
import types
import weakref
from collections.abc import Callable, Container, Iterable, Mapping, Set
from typing import Any

from ..diagnostics import notices
from ..errors import in_words
from . import replacements
from .bindings import is_bound_anew, was_bound
from .brought import Gone, ModuleNamed, Reads
from .capture_entries import DICT, ITEM, Entries
from .import_log import users_own
from .own_files import import_gives, imports_as, may_bind
from .pickling import dumps
from .references import (
    ABSENT,
    attributes_stored,
    helpers_of,
    importable,
    imported_modules,
    named_references,
    names_of,
    names_stored,
    names_used,
    texts_used,
)
from .replacements import MAINS, home, is_replacement
from .unsettled import first_of

_BY_TEXT = frozenset(
    ("getattr", "hasattr", "vars", "dir", "__dict__")
)  # ways to data by another name than its own
# names of data that functions took along, by module and the class or function in it, "" for the module's own
_brought: dict[tuple[str, str], set[str]] = {}
_BUILTINS = dict(vars(builtins))  # as they were when this module was imported
CONSTANTS = frozenset((bool, int, float, complex, str, bytes, type(None)))
_CONTAINERS, _MOST_MEMBERS = (list, tuple, set, frozenset), 1000  # that are looked at for classes
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, property)
_OF_A_FUNCTION = (functools.cached_property, functools.partialmethod)
_own: weakref.WeakKeyDictionary[types.ModuleType, bool] = weakref.WeakKeyDictionary()
# by module, what of it cannot be pickled, as it was first seen
_left_out: weakref.WeakKeyDictionary[types.ModuleType, dict[str, Any]] = weakref.WeakKeyDictionary()


def is_own(module: Any) -> bool:
    """Whether it is a module of the user's, which workers import."""
    if not issubclass(type(module), types.ModuleType):
        return False
    names = vars(module)  # of those whose class is their own, which may make attributes when asked
    found = _own.get(module)
    if found is None:
        file = names.get("__file__")
        found = names.get("__name__", "__main__") not in MAINS and bool(file) and users_own(str(file))
        _own[module] = found
    return found and sys.modules.get(names["__name__"]) is module


def of_users(code: Any) -> bool:
    """Whether a function or class is the user's: of a cell, or of a module of the user's."""
    return not importable(code) or is_own(sys.modules.get(code.__module__))


def may_read(callable_object: Any) -> bool:
    """Whether a method, a partial or another callable object runs code that could read a user's module."""
    function = callable_object
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)
    if type(function) is not types.FunctionType:
        called = (vars(cls).get("__call__") for cls in type(function).__mro__)
        function = next((found for found in called if found is not None), None)
    if type(function) is not types.FunctionType:
        return False
    if module_of(function) is not None:
        return True
    helpers = [helper for helper in helpers_of(function) if type(helper) is types.FunctionType]
    values = [value for helper in helpers for _, value in named_references(helper)]
    values += [found for helper in helpers for _, found in _imported(helper)]
    return any(is_own(value) or module_of(value) is not None for value in values)


def module_of(value: Any) -> types.ModuleType | None:
    """The user's module that a function or class is of; None if it is of no such module."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return module if is_own(module) else None


def _imported(function: types.FunctionType) -> Iterable[tuple[str, Any]]:
    return imported_modules(function.__code__, function.__globals__.get("__package__"))


def of_imports(walk: Entries, code: types.CodeType, package: str | None) -> Iterable[types.ModuleType]:
    """Add what code reads from the user's modules that it imports when it runs; return all that it imports."""
    found = []
    for name, module in imported_modules(code, package):
        if not walk.in_worker and (_will_be_own(name) if module is ABSENT else is_own(module)):
            walk.note(ITEM, sys.modules, name, module, name)
        if module is not ABSENT:
            of_module(walk, module, code)
            found.append(module)
    return found


def of_builtin(walk: Entries, name: str) -> None:
    """Add what code finds under this name among the builtins, if the user has set that."""
    if walk.in_worker:
        return
    namespace = vars(builtins)
    value = namespace.get(name, ABSENT)
    walk.note(ITEM, namespace, name, value, name)
    if value is ABSENT or _BUILTINS.get(name, ABSENT) is value:
        return
    modules = {home(value), getattr(value, "__module__", None)}
    if (
        type(value) in CONSTANTS
        or not MAINS.isdisjoint(modules)
        or any(is_own(sys.modules.get(m or "")) for m in modules)
    ):
        walk.package_names["builtins", name] = value
        walk.follow((value,), name)


def _will_be_own(name: str) -> bool:
    try:
        spec = importlib.util.find_spec(name.partition(".")[0])
    except Exception:  # of a finder
        return False
    return spec is not None and bool(spec.origin) and users_own(str(spec.origin))


def of_code(walk: Entries, module: types.ModuleType, code: types.CodeType) -> None:
    """Add what code of a user's module reads from that module."""
    stored = names_stored(code)
    walk.stores.update(stored)
    _read(walk, module, names_of(code), stored)
    for imported in of_imports(walk, code, module.__package__):
        if not is_own(imported):
            walk.of_module(imported, code)
    for name in names_of(code):
        walk.of_module(vars(module).get(name), code)


def of_module(walk: Entries, value: Any, code: types.CodeType) -> None:
    """Add what code reads from a user's module that it refers to: ``value.name``."""
    if value is sys.modules.get("__main__") and not walk.in_worker:
        notices.give(
            "__main__",
            "a function uses the module __main__. In a task that is the worker's own, which has none of this program's "
            "variables: what the task sets there does not arrive here. Use the variables themselves, and return what "
            "is to be kept.",
        )
    todo, seen = [value], set[int]()
    while todo:
        module = todo.pop()
        if id(module) not in seen and is_own(module):
            seen.add(id(module))
            namespace, used = vars(module), names_used(code)
            if used & _BY_TEXT:
                if not walk.in_worker:
                    held = tuple(part for pair in namespace.copy().items() for part in pair)
                    walk.note(DICT, namespace, None, held, module.__name__)
                used |= texts_used(code) | {key for key, held in namespace.copy().items() if is_data(held)}
            stored = attributes_stored(code) & namespace.keys()
            walk.stores.update(stored)
            _read(walk, module, used, stored)
            todo.extend(namespace[key] for key in used & namespace.keys())


def classes_in(value: Any) -> list[type]:
    """The user's classes of an object, and of its members if it is a container."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, _CONTAINERS) else ()
    kinds = {type(value), *map(type, first_of(parts, _MOST_MEMBERS))}
    return [kind for kind in kinds if is_own(sys.modules.get(kind.__module__)) or not importable(kind)]


def functions_in(value: Any) -> Iterable[types.FunctionType]:
    """The functions of a member of a class: it itself, or those of a method or property."""
    if type(value) in CONSTANTS:
        return []
    keys = (
        ("func",)
        if isinstance(value, _OF_A_FUNCTION)
        else ("__func__", "fget", "fset", "fdel", "__wrapped__")
    )
    parts = (getattr(value, key, None) for key in keys)
    return [part for part in (value, *parts) if type(part) is types.FunctionType]


def is_data(value: Any) -> bool:
    """Whether it is neither code nor a module."""
    kind = type(value)
    return not issubclass(kind, _CODE) and not str(kind.__module__).startswith(
        ("cellmill.", "cellmill_widgets")
    )


def of_names(walk: Entries, module: types.ModuleType, names: Iterable[str]) -> None:
    """Add data of a user's module with these names, and what functions and classes with these names read."""
    _read(walk, module, names)


def _read(
    walk: Entries, module: types.ModuleType, names: Iterable[str], stored: Set[str] = frozenset()
) -> None:
    """``stored``: names that the code sets, which are compared in a worker as well."""
    namespace = vars(module)
    for key in sorted(names):
        value = namespace.get(key, ABSENT)
        if value is ABSENT:
            of_builtin(walk, key)
        if key.startswith("__") or (value is ABSENT and hasattr(builtins, key)):
            continue
        shown = f"{module.__name__}.{key}"
        if not walk.in_worker or key in stored:  # in a worker other functions set theirs
            walk.note(ITEM, namespace, key, value, shown)
        if value is ABSENT:
            if is_brought(module, "", key) or (not walk.in_worker and _had(module, key)):
                walk.reads[module.__name__, key] = Gone
            walk.follow((namespace.get("__getattr__"),), shown)  # which makes it when it is asked for
            continue
        walk.follow((value, None if is_data(value) else getattr(value, "__wrapped__", None)), shown)
        if is_data(value):
            bring(walk, module, "", {key: value})
        elif not walk.in_worker and set_anew(module, key, value):
            bring_code(walk, module, key, value)


def _had(module: types.ModuleType, name: str) -> bool:
    """Whether the import of a module binds this name: by its file, or by what was seen where that is gone."""
    return name in may_bind(module, "") or was_bound(module, name)


def bring(walk: Entries, module: types.ModuleType, owner: str, data: Mapping[str, Any]) -> None:
    """Add data, by name, of a class or function in a user's module, or of the module. What is in the place of a
    function holds while the function runs that brings it: then the worker has its own again.
    """
    known = _brought.setdefault((module.__name__, owner), set())
    for key, value in data.items():
        name = f"{owner}.{key}" if owner else key
        if not walk.in_worker and replacements.is_other_than_defined(module, name, value):
            walk.package_names[module.__name__, name] = value
            continue
        walk.reads[module.__name__, name] = value
        if not walk.in_worker:
            known.add(key)


def is_brought(module: types.ModuleType, owner: str, key: str) -> bool:
    """Whether a function took along data of this name."""
    return key in _brought.get((module.__name__, owner), ())


def take_away(walk: Entries, module: types.ModuleType, owner: str, there: Container[str]) -> None:
    """Add that a class or function has no more what earlier functions took along of it, or its file gives it, but those
    ``there``.
    """
    for key in {*_brought.get((module.__name__, owner), ()), *may_bind(module, owner)}:
        if key not in there:
            walk.reads[module.__name__, f"{owner}.{key}"] = Gone


def bring_code(walk: Entries, module: types.ModuleType, name: str, value: Any) -> None:
    """Add a function, class or module that may be another one than the module's file has under this name."""
    found = ModuleNamed(value.__name__) if isinstance(value, types.ModuleType) else value
    walk.package_names[module.__name__, name] = found


def set_anew(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a function, class or module may be another one than the module's file has under this qualified name."""
    if isinstance(value, types.ModuleType):
        other = sys.modules.get(vars(value)["__name__"])
        if other is not value:
            if is_own(other):
                tell_of_before(module, name, value.__name__)
            return False
        return is_brought(module, "", name) or not imports_as(module, name, value)
    where = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if where[0] in MAINS:
        return True
    if type(value) is types.FunctionType and function_set_anew(module, name, value):
        return True
    if importable(value):
        return where != (module.__name__, name)
    return is_of_before(module, name, value) or is_bound_anew(module, name, value)


def is_of_before(module: types.ModuleType, name: str, value: Any) -> bool:
    """Whether a module has from another one of the user's what that has no more, as it was loaded again since."""
    given = import_gives(module, name, value)
    return is_former(value, module) if given is None else not given


def is_former(value: Any, user: types.ModuleType) -> bool:
    """Whether another module than this, a user's, defines something else now under the name of a function or class."""
    name, qualname = getattr(value, "__module__", None), getattr(value, "__qualname__", "<")
    other = sys.modules.get(name or "")
    if other is user or not is_own(other) or "." in qualname:
        return False
    held = vars(other)
    return held.get(qualname, value) is not value and all(each is not value for each in list(held.values()))


def tell_of_before(module: types.ModuleType, name: str, other: str) -> None:
    """A worker has in a module what another module has now, and the kernel what that had before."""
    notices.give(
        ("of before", module, name, sys.modules.get(other)),
        f"{module.__name__}.{name} is made of the module {other} as it was before that was loaded again, and tasks "
        f"have it of what that is now. Load {module.__name__} again, too: importlib.reload({module.__name__}).",
    )


def function_set_anew(module: types.ModuleType, name: str, function: types.FunctionType) -> bool:
    """The same of a function."""
    if is_replacement(function):
        replacements.note(module.__name__)
        return True
    ours = MAINS.isdisjoint((home(function), function.__module__))
    return not ours or replacements.is_other_than_defined(module, name, function)


def picklable(names: Reads, left_out: Callable[[tuple[str, str], Any, str], None]) -> Reads:
    """Those whose values can be pickled; ``left_out`` is told of the others."""
    found: Reads = {}
    for place, value in names.items():
        try:
            dumps(value)
            found[place] = value
        except Exception as error:
            found.update(_attributes_of(place, value))
            left_out(place, value, in_words(error))
    return found


def _attributes_of(place: tuple[str, str], value: Any) -> Reads:
    """The attributes that can be pickled, of an object of a user's class that cannot: a lock is in it, say."""
    held = getattr(value, "__dict__", None)
    if type(held) is not dict or not is_own(sys.modules.get(type(value).__module__)):
        return {}
    module, name = place
    found: Reads = {}
    for key, part in held.items():
        with contextlib.suppress(Exception):
            dumps(part)
            found[module, f"{name}.{key}"] = part
    return found


def leave_out(place: tuple[str, str], value: Any, reason: str) -> None:
    """Data that cannot be pickled stays each process's own; said once, if it was bound anew."""
    module, name = place
    first = _left_out.setdefault(sys.modules[module], {}).setdefault(name, value)
    if first is not value:
        notices.give(
            ("left out", place),
            f"{module}.{name} was set anew in this process, and workers keep their own: it cannot be sent, "
            f"{reason}. Pass it as an argument in a form that can be pickled, or make it once per worker with "
            "@cellmill.per_worker.",
        )
