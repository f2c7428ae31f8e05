"""What functions of the user's modules read, and what they keep besides their code: it goes along with them.

Of a function of an imported module a worker has what the module's file makes of it. So the function's attributes go
along, and its defaults where these are containers, were set anew, or were computed as the module was imported; of a
`functools.singledispatch` function what was registered in the kernel.
"""

from __future__ import annotations

import types
import weakref
from pathlib import Path
from typing import Any

from .capture_entries import Entries
from .module_reads import (
    CONSTANTS,
    bring,
    bring_code,
    is_brought,
    is_data,
    module_of,
    of_code,
    set_anew,
    take_away,
)
from .own_files import gives_defaults
from .references import cell_value, dispatch_registry, importable
from .replacements import MAINS, home
from .wrappers import Registered

_DEFAULTS = ("__defaults__", "__kwdefaults__")
_VALUES = CONSTANTS | {type(Path())}  # which no code knows by their identity
_Seen = dict[str, tuple[Any, ...]]
_first: weakref.WeakKeyDictionary[types.FunctionType, _Seen] = (
    weakref.WeakKeyDictionary()
)  # defaults, by attribute


def of_function(walk: Entries, function: types.FunctionType, name: str) -> None:
    """Add what a function of a user's module reads from that module, and what it keeps."""
    module = module_of(function)
    if module is None:
        return
    registry = dispatch_registry(function)
    if registry is not None:
        _of_dispatcher(walk, module, function, registry, name)
        return
    if function.__globals__ is not vars(module):
        of_wrapped(walk, function, name)
        return
    of_code(walk, module, function.__code__)
    if not walk.in_worker and "<locals>" not in function.__qualname__:
        _attributes(walk, module, function, name)
    for cell in function.__closure__ or ():
        wrapped = cell_value(cell)
        if type(wrapped) is types.FunctionType and wrapped.__globals__ is vars(module):
            of_code(walk, module, wrapped.__code__)
    _of_wrapped_defaults(walk, module, function, name)


def of_made_function(walk: Entries, function: types.FunctionType) -> None:
    """Add what a function reads that another one of a user's module has made, where that module has it under a name of
    its own (``add = make_adder(3)``): it is found there, with the module's globals.
    """
    module = module_of(function)
    if module is not None and not walk.in_worker and function.__globals__ is vars(module):
        of_code(walk, module, function.__code__)


def of_wrapped(walk: Entries, wrapper: Any, name: str) -> None:
    """Add what a function of a user's module reads that a package's wrapper has in it, as that of `functools.cache`."""
    module, function = module_of(wrapper), getattr(wrapper, "__wrapped__", None)
    if module is not None and type(function) is types.FunctionType and function.__globals__ is vars(module):
        of_code(walk, module, function.__code__)
        _of_wrapped_defaults(walk, module, wrapper, name)


def _of_wrapped_defaults(walk: Entries, module: types.ModuleType, wrapper: Any, name: str) -> None:
    function, owner = getattr(wrapper, "__wrapped__", None), getattr(wrapper, "__qualname__", "<locals>")
    if not walk.in_worker and type(function) is types.FunctionType and "<locals>" not in owner:
        of_defaults(walk, module, function, name, f"{owner}.__wrapped__")


def _attributes(walk: Entries, module: types.ModuleType, function: types.FunctionType, name: str) -> None:
    owner, attributes, data = function.__qualname__, function.__dict__, {}
    walk.members(attributes, name, mutable=bool(attributes))
    for key, value in attributes.copy().items():
        if key.startswith("__"):
            continue
        if is_data(value):
            data[key] = value
        elif set_anew(module, f"{owner}.{key}", value):
            bring_code(walk, module, f"{owner}.{key}", value)
    bring(walk, module, owner, data)
    take_away(walk, module, owner, {*attributes, *_DEFAULTS})
    of_defaults(walk, module, function, name, owner)


def of_defaults(
    walk: Entries, module: types.ModuleType, function: types.FunctionType, name: str, owner: str
) -> None:
    """Add, in the kernel, the defaults of a function or method of a user's module, which has it as ``owner``."""
    for key in _DEFAULTS:
        held = getattr(function, key)
        if held is None and not is_brought(module, owner, key):
            continue
        walk.attribute(function, key, name)
        if is_brought(module, owner, key) or _may_differ(module, function, key):
            bring(walk, module, owner, {key: held})


def _may_differ(module: types.ModuleType, function: types.FunctionType, key: str) -> bool:
    """Whether defaults may be others than a worker's, whose import may come to other ones unless they are literals
    (``limit=int(os.environ["N"])``). Objects may be there to be known by their identity: they go along only if they
    were set after the function was seen first.
    """
    held = getattr(function, key)
    parts = tuple(held.values()) if type(held) is dict else tuple(held or ())
    first = _first.setdefault(function, {}).setdefault(key, parts)
    if len(first) != len(parts) or any(now is not before for now, before in zip(parts, first, strict=True)):
        return True
    if any(type(part) in (list, dict, set) for part in parts):
        return True
    return _VALUES.issuperset(map(type, parts)) and not gives_defaults(module, function, key)


def _of_dispatcher(
    walk: Entries,
    module: types.ModuleType,
    function: types.FunctionType,
    registry: dict[type, Any],
    name: str,
) -> None:
    """Add what the functions of a dispatcher read, and those that the module's file has not registered."""
    found = {}
    for cls, each in registry.copy().items():
        if type(each) is types.FunctionType and each.__globals__ is vars(module):
            of_code(walk, module, each.__code__)
        if importable(each) or not MAINS.isdisjoint((home(each), getattr(each, "__module__", None))):
            walk.follow((cls, each), name)
            found[cls] = each
    if not walk.in_worker:
        walk.members(registry, name, mutable=False)
        if found:
            walk.package_names[module.__name__, f"{function.__qualname__}.registry"] = Registered(found)
