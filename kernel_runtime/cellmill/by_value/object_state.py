"""How objects of a class keep their state: in attributes and members, in what only their own code knows, in caches."""

from __future__ import annotations

import copyreg
import functools
from typing import Any

from ..randomness.generators import Board
from .pickling import dumps

GENERATORS = ("random", "numpy.random._generator", "numpy.random.bit_generator", "numpy.random.mtrand")
_BUILT = (
    "__pydantic_",
    "__signature__",
    "__class_vars__",
)  # by pydantic, of a class and when it is first used
_STATEFUL = ("__reduce_ex__", "__reduce__", "__getstate__")


def pickled_state(value: Any) -> bytes:
    """Return the pickle of a value as it is sent, without the state of random generators."""
    return dumps(value, board=Board(), caches=False)


def kind_of_generator(kind: type) -> bool:
    """Return whether a type generates random numbers."""
    return any(cls.__module__ in GENERATORS for cls in kind.__mro__)


def is_seed_sequence(kind: type) -> bool:
    """Return whether a type is numpy's seeds, which count what they spawn and have no other state that changes."""
    return kind.__name__ == "SeedSequence" and kind.__module__ == "numpy.random.bit_generator"


@functools.lru_cache(maxsize=1024)
def caches_properties(kind: type) -> bool:
    """Whether reading its attributes may add to them."""
    return any(
        type(value) is functools.cached_property for cls in kind.__mro__ for value in vars(cls).values()
    )


@functools.lru_cache(maxsize=1024)
def default_pickling(kind: type) -> bool:
    """Whether it is pickled by its attributes, slots and members, and by nothing else."""
    if kind in copyreg.dispatch_table:
        return False
    base = next((b for b in (list, dict, tuple) if issubclass(kind, b)), object)
    for name in _STATEFUL:
        found, usual = getattr(kind, name, None), getattr(base, name, None)
        if found is not usual and getattr(found, "__module__", None) != "sklearn.base":
            return False
    return True


@functools.lru_cache(maxsize=1024)
def has_hidden_state(kind: type) -> bool:
    """Whether a class written in C, which keeps what Python does not see, is among its bases."""
    for cls in kind.__mro__:
        if cls in (object, list, dict, tuple) or cls.__base__ is None:
            continue
        slots = cls.__dict__.get("__slots__", ())
        own = 1 if isinstance(slots, str) else len(tuple(slots))
        if not cls.__flags__ & 1 << 9 or cls.__basicsize__ > cls.__base__.__basicsize__ + 8 * (own + 2):
            return True
    return False


def is_built_later(namespace: dict[str, Any]) -> bool:
    """Whether a library adds to a class what it makes of it."""
    return any(key.startswith(_BUILT) for key in namespace)


def written(namespace: dict[str, Any]) -> dict[str, Any]:
    """Return a class's members without those."""
    return {key: value for key, value in namespace.items() if not key.startswith(_BUILT)}


def same_members(now: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether two have the same objects under the same names."""
    return now.keys() == before.keys() and all(now[key] is value for key, value in before.items())
