"""What cells leave in a namespace, in a form that can be compared; for the kernel of `test_pfor_effects`."""

from __future__ import annotations

import collections
import types
from typing import Any


def differing(prepare: str, loop: str, left: dict[str, Any]) -> dict[str, Any]:
    """The names whose values a plain run of both cells leaves otherwise than ``left``, with both values.

    ``left["hidden"]`` are names that are none of the cells'.
    """
    plain: dict[str, Any] = {"__name__": "__main__"}
    exec(prepare, plain)
    exec(loop, plain)
    ours, theirs = _names(plain, left["hidden"]), _names(left, left["hidden"])
    return {
        k: (ours.get(k), theirs.get(k)) for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k)
    }


def _names(space: dict[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    space = {k: space[k] for k in sorted(space) if not k.startswith("_") and k not in hidden}
    same: list[int | None] = []
    _one(same, {}, dict(space))
    return {k: _shown(v) for k, v in space.items()} | {"which are one object": same}


def _one(space: list[int | None], seen: dict[int, int], value: Any) -> None:
    """Which of the values below it are the same objects."""
    if isinstance(value, (list, dict, collections.deque)) or hasattr(value, "x"):
        if id(value) in seen:
            return
        seen[id(value)] = len(seen)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple, collections.deque)):
        return
    for v in value:
        _one(space, seen, v)
        space.append(seen.get(id(v)))


def _shown(value: Any, above: tuple[int, ...] = ()) -> Any:
    kind: Any = type(value).__name__
    if id(value) in above:
        return kind, "itself"
    above = (*above, id(value))
    if isinstance(value, float):
        return value.hex()
    if kind == "ndarray" and value.dtype.hasobject:
        value = value.tolist()
    if kind == "ndarray" and not isinstance(value, list):
        return kind, value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, collections.defaultdict):
        kind = (kind, value.default_factory.__name__)
    if isinstance(value, dict):
        return kind, [(_shown(k), _shown(v, above)) for k, v in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return kind, [_shown(v, above) for v in value]
    if isinstance(value, (set, frozenset)):
        return kind, sorted(map(repr, value))
    if isinstance(value, (types.FunctionType, type, types.ModuleType)):
        return kind, value.__name__
    if isinstance(value, types.GeneratorType):
        return kind
    return (kind, _shown(vars(value), above)) if hasattr(value, "__dict__") else (kind, repr(value))
