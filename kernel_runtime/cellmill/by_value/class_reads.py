"""What the methods of the user's classes read, and the data of these classes: it goes along with functions.

Of a class of an imported module a worker has what the module's file makes of it. So the class's data go along, and its
members that are code (methods, properties, other classes, modules) where they were set anew (`module_reads`).
"""

from __future__ import annotations

import copyreg
import functools
import gc
import sys
import types
from abc import ABCMeta
from enum import Enum
from typing import Any

from .capture_entries import ATOMS, CALL, DICT, Entries
from .class_making import OF_MEMBERS
from .function_reads import of_defaults
from .module_reads import (
    bring,
    bring_code,
    function_set_anew,
    functions_in,
    is_data,
    is_former,
    is_own,
    module_of,
    of_code,
    set_anew,
    take_away,
    tell_of_before,
)
from .references import ABSENT, attributes_stored
from .replacements import is_other_than_defined


def of_class(walk: Entries, cls: type, name: str) -> None:
    """Add what the methods of a class of a user's module read, and the class's data, but that which a package's
    metaclass keeps. Of an enumeration the data are those of its members, too.
    """
    module = module_of(cls)
    if module is None:
        return
    functions = [each for value in list(vars(cls).values()) for each in functions_in(value)]
    for function in functions:
        if function.__globals__ is vars(module):
            of_code(walk, module, function.__code__)
    enumeration = issubclass(cls, Enum)
    if is_own(sys.modules.get(type(cls).__module__)):
        walk.follow((type(cls),), name)
    elif type(cls) not in (type, ABCMeta) and not enumeration:
        return
    walk.follow(cls.__bases__, name)
    for base in cls.__bases__ if not walk.in_worker else ():
        if is_former(base, module):
            tell_of_before(module, cls.__qualname__, base.__module__)
    if issubclass(cls, Enum):
        walk.follow(cls._member_map_.values(), name)
    if not walk.in_worker:
        _members(walk, module, cls, functions)
    elif not enumeration:
        _data_in_worker(walk, cls, functions)


def _members(walk: Entries, module: types.ModuleType, cls: type, functions: list[types.FunctionType]) -> None:
    """Add, in the kernel, a class's data and what was set anew of its code, and note its members."""
    copyreg._slotnames(cls)  # type: ignore[attr-defined]  # pickling an instance notes it in the class
    (namespace,) = [found for found in gc.get_referents(cls.__dict__) if type(found) is dict]
    members, data, left_out = namespace.copy().items(), {}, _kept_by_its_metaclass(cls)
    for key, value in members:
        if key in left_out:
            continue
        shown = f"{cls.__qualname__}.{key}"
        if isinstance(value, types.ModuleType):
            for function in functions:
                walk.of_module(value, function.__code__)
        plain = getattr(value, "__func__", value)
        if type(plain) is types.FunctionType and plain.__qualname__ == shown:
            bound = type(value) is classmethod
            of_defaults(walk, module, plain, shown, f"{shown}.__func__" if bound else shown)
        if _is_data_of_class(key, value):
            walk.attribute(cls, key, shown)
            data[key] = value
        elif _set_anew(module, shown, value):
            bring_code(walk, module, shown, value)
            walk.follow(functions_in(value), shown)
    bring(walk, module, cls.__qualname__, data)
    take_away(walk, module, cls.__qualname__, namespace)
    if issubclass(cls, Enum):
        _of_members(walk, module, cls)
    held = tuple(part for pair in members for part in pair)
    walk.note(DICT, namespace, None, held, cls.__qualname__)
    walk.weight += len(held)


def _kept_by_its_metaclass(cls: type) -> set[str]:
    """The names in an enumeration that are its members or that only `enum` sets."""
    if not issubclass(cls, Enum):
        return set()
    return {*cls._member_map_, *(key for key in vars(cls) if key[:1] == "_" != key[1:2])}


def _of_members(walk: Entries, module: types.ModuleType, cls: type[Enum]) -> None:
    """Add what members of an enumeration have besides their values, and values that may change."""
    for member in cls._member_map_.values():
        owner, held = f"{cls.__qualname__}.{member._name_}", vars(member)
        data = {key: each for key, each in held.items() if key not in OF_MEMBERS and is_data(each)}
        if not _is_constant(member._value_):
            data["_value_"] = member._value_
        bring(walk, module, owner, data)
        take_away(walk, module, owner, held)


def _is_constant(value: Any) -> bool:
    if type(value) in (tuple, frozenset):
        return all(map(_is_constant, value))
    return type(value) in ATOMS or not is_data(value)


def _is_data_of_class(key: str, value: Any) -> bool:
    return not key.startswith("__") and is_data(value) and not hasattr(type(value), "__get__")


def _set_anew(module: types.ModuleType, shown: str, value: Any) -> bool:
    """Whether a method, a property or other code is another one than the class statement has made."""
    if any(function_set_anew(module, shown, function) for function in functions_in(value)):
        return True
    if type(value) in (staticmethod, classmethod):
        return set_anew(module, shown, value.__func__) or is_other_than_defined(module, shown, value)
    if type(value) is property:
        return is_other_than_defined(module, shown, value)
    return not is_data(value) and set_anew(module, shown, value)


def _data_in_worker(walk: Entries, cls: type, functions: list[types.FunctionType]) -> None:
    """Add, in a worker, a class's data, and which of it methods bind anew."""
    stored = {name for function in functions for name in attributes_stored(function.__code__)}
    for key, value in vars(cls).copy().items():
        if _is_data_of_class(key, value):
            shown = f"{cls.__qualname__}.{key}"
            walk.follow((value,), shown)
            if key in stored:
                walk.note(CALL, cls, functools.partial(_has, cls, key, value), None, shown)


def _has(cls: type, key: str, value: Any) -> bool:
    return vars(cls).get(key, ABSENT) is value
