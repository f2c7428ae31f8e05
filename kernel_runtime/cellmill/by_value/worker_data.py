"""Data of the user's modules that a worker's own preparation sets: it stays until the kernel has another value."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from ..errors import class_name, is_a, module_name
from .brought import made_here
from .capture import capture
from .module_reads import is_own
from .pickling import dumps
from .references import ABSENT, helpers_of, importable, names_of


@contextmanager
def noting_own(function: Any = None) -> Iterator[None]:
    """While a worker is prepared: what that sets of modules' data is the worker's own, and of the globals of a script
    or notebook, if ``function`` is what prepares it. (A process of others has functions of several scripts.)

    It stays until the kernel has another value of that name.
    """
    global _count
    spaces = _spaces_of(function)
    held = {place: _digest(namespace.get(place[1], ABSENT)) for place, namespace in spaces.items()}
    values = {place: namespace.get(place[1], ABSENT) for place, namespace in spaces.items()}
    modules = [module for module in list(sys.modules.values()) if is_own(module)]
    before = {place: value for module in modules for place, value in _data_of(module)}
    contents = {place: capture(value) for place, value in before.items() if type(value) in (list, dict, set)}
    try:
        yield
    finally:
        now = {place: value for module in modules for place, value in _data_of(module)}
        made_here.update(place for place, value in now.items() if before.get(place, ABSENT) is not value)
        made_here.update(place for place, content in contents.items() if content.changed() is not None)
        for place, namespace in spaces.items():
            value = namespace.get(place[1], ABSENT)
            if value is not values[place] or _digest(value) != held[place]:
                _globals_made_here[place] = held[place], value
                _count += 1


_count = 0
_globals_made_here: dict[tuple[str, str], tuple[bytes, Any]] = {}  # with the digest of what the kernel had


def globals_made_here() -> int:
    """How many times a worker's preparation has set one so far."""
    return _count


def put_own(function: Any) -> None:
    """Give a function of a script or notebook the globals that this worker has of its own."""
    if not _globals_made_here:
        return
    for place, namespace in _spaces_of(function).items():
        of_kernel, value = _globals_made_here.get(place, (b"", ABSENT))
        if value is not ABSENT and _digest(namespace.get(place[1], ABSENT)) == of_kernel:
            namespace[place[1]] = value


def _spaces_of(function: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """The namespaces in which functions by value find their globals, by module and name."""
    if function is None:
        return {}
    while type(function).__module__.startswith("cellmill.") and hasattr(function, "__wrapped__"):
        function = function.__wrapped__  # of a wrapper of ours; the body of a cell has none
    helpers = [helper for helper in helpers_of(function) if type(helper) is types.FunctionType]
    return {
        (helper.__module__, name): helper.__globals__
        for helper in helpers
        if not importable(helper)
        for name in names_of(helper.__code__)
    }


def _digest(value: Any) -> bytes:
    """Of a value's content; of one that cannot be pickled, of its kind."""
    try:
        return blake2b(dumps(value), digest_size=16).digest()
    except Exception:
        return type(value).__qualname__.encode()


_NAMESPACE = type.__dict__["__dict__"]  # whatever a metaclass does


def _data_of(module: types.ModuleType) -> Iterator[tuple[tuple[str, str], Any]]:
    for key, value in vars(module).copy().items():
        yield (module.__name__, key), value
        if is_a(value, type) and module_name(value) == module.__name__:
            for name, part in _NAMESPACE.__get__(value).copy().items():
                yield (module.__name__, f"{class_name(value)}.{name}"), part
