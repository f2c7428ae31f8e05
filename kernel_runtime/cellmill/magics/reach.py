"""The objects that a loop's body changes, and what leads to them: variables, and what the loop runs over."""

from __future__ import annotations

import ast
import gc
import types
from array import array
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cellmill.by_value.capture import MOST_LIGHT
from cellmill.by_value.capture_entries import ITEM
from cellmill.by_value.capture_kinds import Walk
from cellmill.magics.accumulation import root_of
from cellmill.magics.items import is_array, share_memory

NO_KEY = object()
_FIXED = (
    *(int, float, complex, str, bytes, bool, type(None), tuple, frozenset),
    *(type, types.ModuleType, types.FunctionType),
)
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_CONTAINERS = (list, dict, set, bytearray, array, deque)
_MOST_MEMBERS = 1000


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of the thing called ``name``. ``step``: the first step to it, "" where the name itself is assigned,
    "[", "[:", "del" of an item that is taken out, "." or "()" of a method; ``deep``: what that step leads to is
    changed, not what is found there. ``path``: the steps to the object that is changed, keys as they are known
    before, attributes by name. ``grown``: the steps to what `+=` and its like change in place if it can be; None for
    other statements.
    """

    name: str
    step: str
    key: Any
    key_name: str
    deep: bool
    node: Any
    path: tuple[tuple[str, Any], ...] = ()
    grown: tuple[tuple[str, Any], ...] | None = None

    @staticmethod
    def of(place: ast.expr, node: Any) -> Effect:
        """The change that a statement, or a call of this method, makes."""
        root = root_of(place)
        assert root is not None
        steps: list[Any] = []
        while not isinstance(place, ast.Name):
            steps.append(place)
            place = place.func if isinstance(place, ast.Call) else place.value  # type: ignore[attr-defined]
        whole = tuple(_step(each) for each in reversed(steps))
        grown = whole if isinstance(node, ast.AugAssign) else None
        if not steps:
            return Effect(root.id, "", NO_KEY, "", deep=False, node=node, grown=grown)
        first, deep, path = steps[-1], len(steps) > 1, whole[:-1]
        if isinstance(first, ast.Subscript):
            key = first.slice
            constant = key.value if isinstance(key, ast.Constant) else NO_KEY
            step = "[:" if any(isinstance(each, ast.Slice) for each in ast.walk(key)) else "["
            if isinstance(node, ast.Delete) and not deep:
                step = "del"  # the items of a list that follow move up
            named = key.id if isinstance(key, ast.Name) else ""
            return Effect(root.id, step, constant, named, deep, node, path, grown)
        called = not deep and isinstance(first.ctx, ast.Load)
        via_method = deep and isinstance(steps[-2], ast.Call)
        return Effect(root.id, "()" if called or via_method else ".", first.attr, "", deep, node, path, grown)


def _step(node: Any) -> tuple[str, Any]:
    """One step of a path: to an item, by a key that is known before, or to an attribute."""
    if isinstance(node, ast.Subscript):
        return "[", node.slice.value if isinstance(node.slice, ast.Constant) else NO_KEY
    return (".", node.attr) if isinstance(node, ast.Attribute) else ("()", None)


# -- what is read without being named


class Reach(Walk):
    """The objects that can be reached from a value; nothing is kept for comparison."""

    def __init__(self) -> None:
        super().__init__(lambda _: b"", in_worker=True)

    def reaches(self, thing: int) -> bool:
        """Whether the walk has met the object with this identity."""
        return thing in self._seen

    def shares_memory(self, array: Any) -> bool:
        """Whether the walk has met an array with memory of this one."""
        return share_memory(filter(is_array, self._seen.values()), array)

    def memory(self, kind: int, value: Any, key: Any, name: str) -> None:
        """Counted, not copied."""
        self.mutable = True
        self.weight += memoryview(value).nbytes // 64

    def opaque(self, value: Any, name: str) -> None:
        """Its state is not looked into."""
        self.weight += MOST_LIGHT


def hidden_reads(
    variables: Mapping[str, Any], effects: Mapping[str, list[Effect]], namespace: Mapping[str, Any]
) -> tuple[list[tuple[str, str]], int]:
    """Return (variable, changed name) for variables that refer to an object that the loop changes, and the weight
    of all.
    """
    things = changed_things(effects, namespace)
    arrays = {name: namespace[name] for name in effects if is_array(namespace.get(name))}
    found, weight = [], 0
    for variable, value in variables.items():
        if variable in effects:
            continue
        walk = Reach()
        for each in behind(value):
            walk.go(each, variable)
        weight += walk.weight
        named = {key for kind, owner, key, _ in walk.entries if kind == ITEM and owner is namespace}
        hidden = sorted(named & set(effects)) or [things[i] for i in things if walk.reaches(i)][:1]
        hidden = hidden or [name for name, array in arrays.items() if walk.shares_memory(array)][:1]
        if hidden:
            found.append((variable, hidden[0]))
    return found, weight


def is_lazy(value: Any) -> bool:
    """Whether an iterable may read other objects while a loop runs over it."""
    kind = type(value)
    return bool(
        hasattr(kind, "__next__")
        or isinstance(value, _VIEWS)
        or (kind.__flags__ & 1 << 9 and hasattr(kind, "__iter__"))
    )


def _cells(code: types.CodeType) -> tuple[types.CellType, ...]:
    return tuple(types.CellType() for _ in code.co_freevars)


def behind(value: Any) -> list[Any]:
    """The objects from which iterators and views take, which no walk goes into; other objects themselves."""
    todo, found, seen = [value], list[Any](), set[int]()
    while todo and len(seen) < _MOST_MEMBERS:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, types.GeneratorType):
            frame, code = each.gi_frame, each.gi_code
            if frame is not None:
                todo.extend(frame.f_locals.values())
                found.append(types.FunctionType(code, frame.f_globals, closure=_cells(code)))
        elif hasattr(type(each), "__next__") or isinstance(each, _VIEWS):
            todo.extend(gc.get_referents(each))
        else:
            found.append(each)
    return found


def changed_things(effects: Mapping[str, list[Effect]], namespace: Mapping[str, Any]) -> dict[int, str]:
    """The names of what is changed, by the identities of the objects as far as they exist now."""
    things: dict[int, str] = {}
    for name, each in effects.items():
        if name in namespace:
            things |= dict.fromkeys(_changed_ids(namespace[name], each), name)
    return things


def _changed_ids(value: Any, effects: list[Effect]) -> set[int]:
    """The objects that are changed, as far as they exist now."""
    found = set() if all(not effect.step for effect in effects) and isinstance(value, _FIXED) else {id(value)}
    for effect in effects:
        if effect.deep:
            found |= {id(each) for each in _members(value, "", NO_KEY) if not isinstance(each, _FIXED)}
            found |= at_end_of(value, effect.path)
        elif effect.step == "()" and not isinstance(value, _FIXED):  # a method changes what its object has
            held = getattr(value, "__dict__", {}).values()
            found |= {id(each) for each in held if isinstance(each, _CONTAINERS)}
        if effect.grown is not None:
            found |= at_end_of(value, effect.grown)
    return found


def changed_itself(
    effects: Mapping[str, list[Effect]],
    namespace: Mapping[str, Any],
    only_own: Callable[[str, str], bool],
) -> dict[int, str]:
    """The same of what is changed itself, and not only a part of it. ``only_own(thing, key)``: whether a target by
    which something in the thing is changed is a key of each item's own, and nothing reads what is there afterwards.
    """
    things: dict[int, str] = {}
    for name, each in effects.items():
        if name not in namespace:
            continue
        value = namespace[name]
        for effect in each:
            if effect.step and not effect.deep:
                things[id(value)] = name
            if effect.key_name and only_own(name, effect.key_name):
                continue
            if effect.deep:
                things |= dict.fromkeys(at_end_of(value, effect.path), name)
            if effect.grown is not None:
                things |= dict.fromkeys(at_end_of(value, effect.grown), name)
    return things


def changed_arrays(
    effects: Mapping[str, list[Effect]],
    namespace: Mapping[str, Any],
    only_own: Callable[[str, str], bool],
) -> dict[str, Any]:
    """The arrays of these names of which elements are changed, but for those of `changed_itself` that are each item's
    own: an item may be a view of one.
    """
    return {
        name: namespace[name]
        for name, each in effects.items()
        if is_array(namespace.get(name))
        and not all(effect.key_name and only_own(name, effect.key_name) for effect in each)
    }


def has_twice(value: Any) -> bool:
    """Whether a container has an object that can be changed in two places."""
    found = [id(each) for each in _members(value, "", NO_KEY) if not isinstance(each, _FIXED)]
    return len(set(found)) < len(found)


def at_end_of(value: Any, path: tuple[tuple[str, Any], ...]) -> set[int]:
    """The objects to which these steps lead, as far as they exist now."""
    there = [value]
    for step, key in path:
        there = [each for one in there for each in _members(one, step, key)][:_MOST_MEMBERS]
    return {id(each) for each in there if not isinstance(each, _FIXED)}


def _members(value: Any, step: str, key: Any) -> list[Any]:
    """What a step may lead to: the item with a key, the attribute of a name, else all that there is."""
    attributes = getattr(value, "__dict__", None)
    attributes = attributes if type(attributes) is dict else {}
    if step == ".":
        return [attributes[key]] if key in attributes else []
    if step == "[" and key is not NO_KEY:
        try:
            return [value[key]] if type(value) in (dict, list, tuple) else []
        except LookupError:
            return []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [*islice(parts, _MOST_MEMBERS), *attributes.values()]
