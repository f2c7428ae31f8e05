"""The notebook's own objects in what a `%%task` cell leaves: where its variables refer to them, they are no copies.

Imports nothing of the notebook.
"""

from __future__ import annotations

import io
import pickle
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from types import FunctionType, MethodType
from typing import Any

from ..by_value import views
from ..by_value.object_state import default_pickling, has_hidden_state
from ..by_value.references import unwrapped
from ..serialization.read_only import ThawingPickler

MOST = 1000  # parts of a variable that are known
_LEAVES = ("numpy.ndarray", "pandas.core.frame.DataFrame", "pandas.core.series.Series")
_BETWEEN = (tuple, MethodType)  # lead to parts, and are none
_BROUGHT = "="
Key = str | tuple[Any, ...]
"""Of an object: a variable's name; this and the number of a part; the place of a task before and a key there, which is
of what that task was given, or has `_BROUGHT` before it.
"""


def parts_of(value: Any, others: Collection[int] = ()) -> list[Any]:
    """Return the parts of a variable that can change, in the same order as those of a copy; longer containers are not
    looked into, nor are objects with a way of their own to be pickled, and the ``others``, by their identities.
    """
    found: list[Any] = []
    seen = set(others)
    pending = [value]
    while pending and len(found) <= MOST:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        members = _members(each)
        if members is None:
            continue
        if type(each) not in _BETWEEN:
            found.append(each)
        if len(members) <= MOST:
            pending += members
    return found


def _members(value: Any) -> list[Any] | None:
    """The objects in an object; None for what cannot change, or is no part."""
    kind: Any = type(value)
    if kind is list or kind is tuple or kind is deque:
        return list(value)
    if kind is dict:
        return list(value.values())
    if kind is MethodType:
        return [value.__self__]
    if (
        kind is set
        or type(unwrapped(value)) is FunctionType
        or f"{kind.__module__}.{kind.__name__}" in _LEAVES
    ):
        return []
    usual = kind.__flags__ & 1 << 9 and default_pickling(kind) and not hasattr(kind, "__setstate__")
    attributes = getattr(value, "__dict__", None) if usual and not isinstance(value, type) else None
    if type(attributes) is not dict or has_hidden_state(kind):
        return None
    return list(attributes.values())


def with_parts(variables: Mapping[Any, Any], counts: Counter[str] | None = None) -> dict[Key, Any]:
    """Return variables and their parts, by their keys; of those parts that are not as many as ``counts`` says none."""
    found: dict[Key, Any] = dict(variables)
    for name, value in variables.items():
        parts = parts_of(value)
        if counts is None or counts[name] == len(parts):
            found.update({(name, number): part for number, part in enumerate(parts)})
    return found


def passed_on(variables: Mapping[str, Any], given: Mapping[Key, Any]) -> dict[Key, Any]:
    """Return what a task has brought, with its parts, and what it was given, for tasks that come after it."""
    found: dict[Key, Any] = dict(given)
    others = [*map(id, given.values())]
    for name, value in variables.items():
        found[_BROUGHT, name] = value
        found.update({(_BROUGHT, name, n): part for n, part in enumerate(parts_of(value, others))})
    return found


def is_of(key: Key, names: Collection[str]) -> bool:
    """Whether something that was passed on is of one of these variables, or may be."""
    return bool(names) and (key[0] != _BROUGHT or key[1] in names)


def counts_of(own: Mapping[Key, Any]) -> Counter[str]:
    """How many parts the variables have."""
    return Counter(key[0] for key in own if type(key) is tuple)


class _Pickler(ThawingPickler):
    """With keys in the places of the notebook's objects, which are noted."""

    keys: dict[int, Key]
    found: set[Key]

    def reducer_override(self, obj: Any) -> Any:
        """See `pickle.Pickler`."""
        if type(obj) is MethodType:
            return _method, (obj.__self__, obj.__func__)
        return super().reducer_override(obj)

    def persistent_id(self, obj: Any) -> Key | None:
        """See `pickle.Pickler`."""
        key = self.keys.get(id(obj))
        if key is not None:
            self.found.add(key)
        return key


def dumps(variables: Mapping[str, Any], own: Mapping[Key, Any]) -> tuple[bytes, set[Key]]:
    """The pickle of variables, and the keys of the notebook's objects that they refer to."""
    target = io.BytesIO()
    pickler = _Pickler(target, protocol=5)
    pickler.keys = {id(value): key for key, value in reversed([*own.items()])}
    pickler.found = set()
    with views.kept(views.found_in([*variables.values(), *own.values()])):
        pickler.dump(dict(variables))
    return target.getvalue(), pickler.found


def _method(owner: Any, function: Any) -> MethodType:
    """A bound method: the one that its object has, where this is the same."""
    try:
        found = getattr(owner, function.__name__)
        if type(found) is MethodType and found.__self__ is owner and found.__code__ == function.__code__:
            return found
    except Exception:  # of a class that is still being made, or of the object's own code
        pass
    return MethodType(function, owner)


class _Unpickler(pickle.Unpickler):
    own: Mapping[Key, Any]
    home: dict[str, Any] | None

    def persistent_load(self, key: Any) -> Any:
        return self.own[key]

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if self.home is None or module != _MODULE or name not in _AT_HOME:
            return found
        return _AT_HOME[name](found, self.home)


def loads(data: bytes, own: Mapping[Key, Any], home: dict[str, Any] | None = None) -> dict[Any, Any]:
    """The variables. ``home``: the notebook's, which functions of cells have as their globals then."""
    unpickler = _Unpickler(io.BytesIO(data))
    unpickler.own, unpickler.home = own, home
    loaded: dict[Any, Any] = unpickler.load()
    return loaded


# -- functions that come home


def _making(usual: Callable[..., Any], home: dict[str, Any]) -> Callable[..., Any]:
    def make(code: Any, namespace: dict[str, Any], *rest: Any) -> Any:
        if namespace.get("__name__") != "__main__":
            return usual(code, namespace, *rest)
        return FunctionType(code, home, *rest)

    return make


def _completing(usual: Callable[..., None], home: dict[str, Any]) -> Callable[..., None]:
    def complete(function: Any, state: tuple[Any, dict[str, Any]]) -> None:
        if function.__globals__ is not home:
            usual(function, state)
            return
        attributes, slots = state
        builtins = home["__builtins__"]
        usual(function, (attributes, {**slots, "__globals__": {}}))
        home["__builtins__"] = builtins

    return complete


_MODULE = "cloudpickle.cloudpickle"
_AT_HOME: dict[str, Callable[..., Any]] = {"_make_function": _making, "_function_setstate": _completing}
