"""Data of the user's modules that a worker's own preparation sets: it stays until the kernel has another value."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import class_name, is_a, module_name
from .brought import made_here
from .capture import capture
from .module_reads import is_own
from .references import ABSENT


@contextmanager
def noting_own() -> Iterator[None]:
    """While a worker is prepared: the data of modules that this sets is the worker's own.

    It stays until the kernel has another value of that name.
    """
    modules = [module for module in list(sys.modules.values()) if is_own(module)]
    before = {place: value for module in modules for place, value in _data_of(module)}
    contents = {place: capture(value) for place, value in before.items() if type(value) in (list, dict, set)}
    try:
        yield
    finally:
        now = {place: value for module in modules for place, value in _data_of(module)}
        made_here.update(place for place, value in now.items() if before.get(place, ABSENT) is not value)
        made_here.update(place for place, content in contents.items() if content.changed() is not None)


_NAMESPACE = type.__dict__["__dict__"]  # whatever a metaclass does


def _data_of(module: types.ModuleType) -> Iterator[tuple[tuple[str, str], Any]]:
    for key, value in list(vars(module).items()):
        yield (module.__name__, key), value
        if is_a(value, type) and module_name(value) == module.__name__:
            for name, part in list(_NAMESPACE.__get__(value).items()):
                yield (module.__name__, f"{class_name(value)}.{name}"), part
