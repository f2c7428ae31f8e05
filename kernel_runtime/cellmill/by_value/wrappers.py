"""Pickling by value of standard library wrappers: cached functions, dispatchers, cached properties, modules.

Their state in this process (caches, locks, weak references) stays here. Where they arrive they are made anew from the
functions they wrap, so that a cached function has a cache of its own in each worker.
"""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

from .import_log import users_own
from .references import ABSENT, CACHED, dispatch_registry, importable
from .replacements import MAINS

_MADE_ANEW = frozenset(
    ("__wrapped__", "cache_parameters", "register", "dispatch", "registry", "_clear_cache")
)
_NAMES = ("__module__", "__name__", "__qualname__", "__doc__")


def reduced(obj: Any) -> tuple[Any, ...] | None:
    """Return the reduction that such an object pickles to; None for all others."""
    kind = type(obj)
    if kind is CACHED:
        return None if importable(obj) else _cached_function(obj)
    if kind is types.FunctionType:
        registry = dispatch_registry(obj)
        return None if registry is None or importable(obj) else _dispatcher(obj, registry)
    if kind is functools.cached_property:
        return functools.cached_property, (obj.func,), (obj.attrname, obj.__doc__), None, None, _name_property
    # the class of a module may be its own: the package of this very file has one
    if kind is not types.ModuleType and issubclass(kind, types.ModuleType):
        name = str(obj.__name__)
        return (importlib.import_module, (name,)) if sys.modules.get(name) is obj else None
    if kind is types.ModuleType:
        _refuse_replaced(obj)
    return None


def _refuse_replaced(module: types.ModuleType) -> None:
    """Raise for a module of the user's that was taken out of `sys.modules`, where another one has its name now: a
    worker would import that.
    """
    name, file = vars(module).get("__name__"), vars(module).get("__file__")
    if type(name) is not str or type(file) is not str or not users_own(file):
        return
    other = sys.modules.get(name)
    if type(other) is types.ModuleType and other is not module and name not in MAINS:
        raise pickle.PicklingError(
            f"the module {name} was imported anew since, and what refers to the one before is to use that: workers "
            f"have the new one only. Bind the name again (import {name}), or take what you need from it "
            f"(value = module.value)"
        )


def is_of_spawned_main(obj: Any) -> bool:
    """Return whether it is a function or class of the main script, re-read in a `multiprocessing` child."""
    if type(obj) is not types.FunctionType and not issubclass(type(obj), type):
        return False
    return getattr(obj, "__module__", None) == "__mp_main__"


def _cached_function(cached: Any) -> tuple[Any, ...]:
    asked = getattr(cached, "cache_parameters", None)
    how = asked() if callable(asked) else {"maxsize": cached.cache_info().maxsize, "typed": False}
    given = (cached.__wrapped__, how["maxsize"], how["typed"])
    return _make_cached, given, _attributes(cached), None, None, _set_attributes


def _make_cached(function: Callable[..., Any], maxsize: int | None, typed: bool) -> Any:
    return functools.lru_cache(maxsize, typed)(function)


def _dispatcher(function: types.FunctionType, registry: dict[type, Any]) -> tuple[Any, ...]:
    base = function.__wrapped__  # type: ignore[attr-defined]
    state = (_attributes(function), dict(registry))
    return functools.singledispatch, (base,), state, None, None, _register


def _register(dispatcher: Any, state: tuple[dict[str, Any], dict[type, Any]]) -> None:
    attributes, registry = state
    _set_attributes(dispatcher, attributes)
    for cls, function in registry.items():
        dispatcher.register(cls, function)


class Registered(NamedTuple):
    """Functions of a dispatcher by type, with which it is called in another process; `ABSENT` for none."""

    functions: dict[type, Any]

    def differing(self, dispatcher: Any) -> Registered | None:
        """Those that a dispatcher has not; None: it has them all, or is no dispatcher."""
        registry = dispatch_registry(dispatcher) if type(dispatcher) is types.FunctionType else None
        found = {
            cls: function
            for cls, function in self.functions.items()
            if registry is not None and registry.get(cls, ABSENT) is not function
        }
        return Registered(found) if found else None

    def register(self, dispatcher: Any) -> Registered:
        """Give a dispatcher these; return what it had in their places."""
        registry = dispatch_registry(dispatcher) or {}
        before = {cls: registry.get(cls, ABSENT) for cls in self.functions}
        for cls, function in self.functions.items():
            if function is not ABSENT:
                dispatcher.register(cls, function)
            else:
                registry.pop(cls, None)
        dispatcher._clear_cache()
        return Registered(before)


def _attributes(wrapper: Any) -> dict[str, Any]:
    """Return the attributes to set by name, also those that wrappers copy.

    A function that refers to its wrapper is empty while the wrapper is made.
    """
    found = {name: getattr(wrapper, name, None) for name in _NAMES}
    return found | {name: value for name, value in vars(wrapper).items() if name not in _MADE_ANEW}


def _set_attributes(wrapper: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(wrapper, name, value)


def _name_property(made: Any, state: tuple[str | None, str | None]) -> None:
    made.attrname, made.__doc__ = state
