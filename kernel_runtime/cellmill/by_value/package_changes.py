"""Names of installed packages' modules that the kernel has set anew: `json.dumps = mine`, `settings.DEBUG = True`.

Workers import a package as its files make it. What a function reads of it by name, and what was set anew in the kernel,
goes along with the function: functions, classes and objects of the user's in place of the package's own, functions and
classes of packages under a name that is not theirs, and plain constants. A worker keeps those that differ from its own.
They hold while the function runs, and no longer: what else runs there finds the package as it is. What code of packages
reads among themselves is not looked at.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..diagnostics import notices
from ..errors import UsageError
from . import brought
from .capture_entries import ITEM, Entries
from .module_reads import CONSTANTS, is_own
from .references import ABSENT, importable, names_used
from .replacements import MAINS, home
from .wrappers import Registered

Place = tuple[str, str]  # a module, and a name in it
Names = dict[Place, Any]

_OF_A_PROCESS = frozenset(
    ("sys", "os", "time", "builtins", "threading", "multiprocessing", "logging", "warnings")
)
_MOCKS = "unittest.mock"
_CODE_OF_NUMPY = frozenset(("_ArrayFunctionDispatcher", "ufunc"))  # kinds of its functions


def of_module(walk: Entries, value: Any, code: types.CodeType) -> None:
    """Add what code reads by name from a package's module that it refers to, and from modules in it."""
    if walk.in_worker or not issubclass(type(value), types.ModuleType):
        return
    todo, seen = list[Any]([value]), set[int]()
    used = names_used(code)
    while todo:
        module = todo.pop()
        name = module.__name__
        if id(module) in seen or sys.modules.get(name) is not module or _is_left_out(module, name):
            continue
        seen.add(id(module))
        namespace = vars(module)
        for key in used & namespace.keys():
            found = namespace[key]
            if issubclass(type(found), types.ModuleType):
                todo.append(found)
            elif not key.startswith("__"):
                _of_name(walk, namespace, name, key, found)


def _is_left_out(module: Any, name: str) -> bool:
    package = name.partition(".")[0]
    return package in _OF_A_PROCESS or name == _MOCKS or package in ("__main__", "cellmill") or is_own(module)


def _of_name(walk: Entries, namespace: dict[str, Any], module: str, key: str, value: Any) -> None:
    shown = f"{module}.{key}"
    walk.note(ITEM, namespace, key, value, shown)
    if type(value) in CONSTANTS or _is_anothers(module, key, value):
        walk.package_names[module, key] = value
    elif _is_users(value):
        walk.package_names[module, key] = value
        walk.follow((value,), shown)


def _is_anothers(module: str, key: str, value: Any) -> bool:
    """Whether it is a function or class of a package, which is found there, and has another name or package than this
    name would have, or such a one with arguments. Many are so by themselves (`numpy.abs` is `absolute`): a worker has
    the same.
    """
    if type(value) is functools.partial:
        return _is_code(value.func) and importable(value.func)
    if not _is_code(value):
        return False
    name, made_in = getattr(value, "__name__", None), getattr(value, "__module__", None)
    return (name, _package(str(made_in))) != (key, _package(module)) and importable(value)


def _is_code(value: Any) -> bool:
    return (
        isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type))
        or type(value).__name__ in _CODE_OF_NUMPY
    )


def _package(module: str) -> str:
    return module.partition(".")[0].lstrip("_")  # `_heapq` has the functions of `heapq`


def _is_mock(value: Any) -> bool:
    return any(cls.__module__ == _MOCKS for cls in type(value).__mro__)


def _is_users(value: Any) -> bool:
    if _is_mock(value):
        return True
    if type(value) is functools.partial:
        return any(map(_is_users, (value.func, *value.args, *value.keywords.values())))
    if type(value) is types.MethodType:
        return _is_users(value.__func__) or _is_users(value.__self__)
    if not _is_code(value):
        value = type(value)
    modules = {home(value), getattr(value, "__module__", None)}
    return not modules.isdisjoint(MAINS) or any(is_own(sys.modules.get(module or "")) for module in modules)


def leave_out(place: Place, value: Any, reason: str) -> None:
    """What cannot be pickled is not sent; said once."""
    notices.give(
        ("left out", place, id(value)),
        f"{'.'.join(place)} was set anew in this process, and workers keep their own: it cannot be sent, {reason}. "
        "Set it in the function, or by an initializer of the workers.",
    )


# -- in a worker


class Patched:
    """Calls with names of packages set as the kernel has them."""

    def __init__(self, function: str, names: Names) -> None:
        self._function = function
        self._names = names

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function; afterwards the names are as before. Raises what `begin` raises."""
        before = self.begin()
        try:
            return function(*args, **kwargs)
        finally:
            self.end(before)

    def begin(self) -> list[tuple[Place, Any]]:
        """Set the names; return what they were.

        Raises:
            UsageError: other threads of this process may run tasks, which would find these names changed.
        """
        if brought.several_threads:
            place = next(iter(self._names))
            raise UsageError(
                f"{self._function} reads {'.'.join(place)}, which the kernel has otherwise than this worker, and a "
                "worker of a cluster may run other tasks at the same time, which would find it changed: pass it as an "
                "argument, or run the function on the local backend"
            )
        return [(place, _set(place, value)) for place, value in self._names.items()]

    def end(self, before: list[tuple[Place, Any]]) -> None:
        """Set the names as they were."""
        for place, value in reversed(before):
            _set(place, value)


def differing(names: Names, *, importing: bool = True) -> Names:
    """Return the names that this process has otherwise. Not ``importing``: of the modules that are there."""
    return dict(_differing(names, importing))


def _differing(names: Names, importing: bool) -> Iterator[tuple[Place, Any]]:
    for place, value in names.items():
        if place[0] not in sys.modules and importing:
            with contextlib.suppress(Exception):  # the function's own import of it tells
                importlib.import_module(place[0])
        owner, name = brought.owner_of(place)
        if owner is None:
            continue
        if type(value) is Registered:
            value = value.differing(owner)
            if value is not None:
                yield place, value
            continue
        here = vars(owner).get(name, ABSENT)
        if type(value) is brought.ModuleNamed:
            if isinstance(here, types.ModuleType) and here.__name__ == value.name:
                continue
            value = importlib.import_module(value.name)
        if here is not value and not _is_equal(here, value):
            yield place, value


def _is_equal(here: Any, value: Any) -> bool:
    if type(here) is not type(value):
        return False
    if type(value) in (staticmethod, classmethod):
        return here.__func__ is value.__func__
    if type(value) is functools.partial:
        told, of_value = ((each.func, each.args, each.keywords) for each in (here, value))
        with contextlib.suppress(Exception):  # of the comparison of arrays
            return bool(told == of_value)
    return type(value) in CONSTANTS and bool(here == value or here != here)


def _set(place: Place, value: Any) -> Any:
    """Set a name, or take it away; what it was before, `ABSENT` if there was none."""
    owner, name = brought.owner_of(place)
    if type(value) is Registered:
        return value.register(owner)
    before = vars(owner).get(name, ABSENT)
    if value is not ABSENT:
        setattr(owner, name, value)
    elif before is not ABSENT:
        delattr(owner, name)
    return before
