"""Reads, by a loop's body, of objects that it changes: an item does not see the changes of earlier items."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cellmill.by_value.capture import MOST_LIGHT
from cellmill.by_value.capture_entries import ITEM
from cellmill.by_value.capture_kinds import Walk
from cellmill.magics.accumulation import root_of
from cellmill.magics.items import is_array

_NO_KEY = object()
_EAGER = frozenset(
    ("list", "tuple", "sorted", "range", "len", "set", "frozenset", "dict", "sum", "min", "max")
)
_OF_SHAPE = frozenset(("shape", "dtype", "ndim", "size", "itemsize", "nbytes"))
_LOOP_ONLY = "return what is needed (-> out), and go on with it in a plain loop after the cell"


@dataclass(frozen=True, slots=True)
class Effect:
    """A change of the thing called ``name``. ``step``: the first step to it, "" where the name itself is assigned,
    "[", "[:", "del" of an item that is taken out, "." or "()" of a method; ``deep``: what that step leads to is
    changed, not what is found there.
    """

    name: str
    step: str
    key: Any
    key_name: str
    deep: bool
    node: Any

    @staticmethod
    def of(place: ast.expr, node: Any) -> Effect:
        """The change that a statement, or a call of this method, makes."""
        root = root_of(place)
        assert root is not None
        steps: list[Any] = []
        while not isinstance(place, ast.Name):
            steps.append(place)
            place = place.func if isinstance(place, ast.Call) else place.value  # type: ignore[attr-defined]
        if not steps:
            return Effect(root.id, "", _NO_KEY, "", deep=False, node=node)
        first, deep = steps[-1], len(steps) > 1
        if isinstance(first, ast.Subscript):
            key = first.slice
            constant = key.value if isinstance(key, ast.Constant) else _NO_KEY
            step = "[:" if any(isinstance(each, ast.Slice) for each in ast.walk(key)) else "["
            if isinstance(node, ast.Delete) and not deep:
                step = "del"  # the items of a list that follow move up
            return Effect(root.id, step, constant, key.id if isinstance(key, ast.Name) else "", deep, node)
        called = not deep and isinstance(first.ctx, ast.Load)
        via_method = deep and isinstance(steps[-2], ast.Call)
        return Effect(root.id, "()" if called or via_method else ".", first.attr, "", deep, node)


@dataclass(frozen=True, slots=True)
class Read:
    """A name from outside that is read, and how; ``early``: before the item itself has changed it."""

    node: ast.Name
    how: str
    key: Any
    early: bool


@dataclass(slots=True)
class Reads:
    """All reads of names from outside, and all changes by name."""

    found: list[Read] = field(default_factory=list)
    effects: dict[str, list[Effect]] = field(default_factory=dict)

    def unsafe(
        self, namespace: Mapping[str, Any], own_keys: Callable[[str], str]
    ) -> list[tuple[ast.Name, str]]:
        """The reads that would not give the plain loop's value, and what is to be said of each.

        ``own_keys(thing)``: the target whose value no two items share, as the loop runs over the keys of the thing.
        """
        bad = []
        for read in self.found:
            effects = self.effects.get(read.node.id)
            if effects and not _is_safe(read, effects, namespace.get(read.node.id), own_keys(read.node.id)):
                bad.append((read.node, _said(read, effects[0])))
        return bad


def _is_safe(read: Read, effects: list[Effect], value: Any, own_key: str) -> bool:
    kind = type(value)
    of_item = ("[", "del") if kind is dict else ("[",)
    if read.how == "identity":
        return all(effect.step for effect in effects)
    if read.how == "own":
        same = own_key == read.key and all(
            e.step in of_item and not e.deep and e.key_name == own_key for e in effects
        )
        return same and read.early and (kind in (dict, list) or is_array(value))
    if read.how == "len" or (read.how == "." and read.key in _OF_SHAPE and is_array(value)):
        items = {"[", "[:"} if is_array(value) else {"["}
        if kind is list or is_array(value):
            return all(effect.step in items for effect in effects)
        return kind is dict and all(effect.step == "[" and effect.deep for effect in effects)
    if read.how == "in":
        return kind is dict and all(effect.step == "[" and effect.deep for effect in effects)
    if read.how == ".":
        return _is_other_attribute(read.key, effects, value)
    if read.how == "[" and kind is dict:
        held = value.get(read.key)
        others = all(effect.step in of_item and effect.key not in (_NO_KEY, read.key) for effect in effects)
        return others and not any(effect.deep and value.get(effect.key) is held for effect in effects)
    return False


def _is_other_attribute(name: str, effects: list[Effect], value: Any) -> bool:
    """Whether it is plain data of an object of which other attributes are changed."""
    members = getattr(value, "__dict__", None)
    if type(members) is not dict or name not in members or hasattr(type(value), name):
        return False
    others = all(
        effect.step == "." and effect.key != name and _sets_only_itself(value, effect.key)
        for effect in effects
    )
    return others and not any(e.deep and members.get(e.key) is members[name] for e in effects)


def _sets_only_itself(value: Any, name: str) -> bool:
    """Whether no code of the class runs when the attribute is assigned."""
    own = getattr(type(value), name, None)
    plain = getattr(type(value), "__setattr__", None) is object.__setattr__
    return plain and not hasattr(type(own), "__set__")


def _said(read: Read, effect: Effect) -> str:
    name = read.node.id
    where = f"line {effect.node.lineno}"
    fact = f"{name} is read here and changed by the loop ({where}): its value would be that of the items before, "
    fact += "which run at the same time"
    if read.how == "len":
        cure = f"for the item's number write %%pfor i, x in enumerate(...); else {_LOOP_ONLY}"
    elif read.how == "in":
        cure = f"record without looking ({name}.setdefault(k, v), or {name}.add(k) of a set), or {_LOOP_ONLY}"
    elif not effect.step:
        cure = f"for the largest or smallest write {name} = max({name}, x); else {_LOOP_ONLY}"
    else:
        meant = f"if its value from before the loop is meant, read from a copy (old = {name}.copy())"
        cure = f"{meant}; else {_LOOP_ONLY}"
    return f"{fact}. {cure[0].upper()}{cure[1:]}"


# -- what is read without being named


class Reach(Walk):
    """The objects that can be reached from a value; nothing is kept for comparison."""

    def __init__(self) -> None:
        super().__init__(lambda _: b"", in_worker=True)

    def reaches(self, thing: int) -> bool:
        """Whether the walk has met the object with this identity."""
        return thing in self._seen

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
    found, weight = [], 0
    for variable, value in variables.items():
        if variable in effects:
            continue
        walk = Reach()
        walk.go(value, variable)
        weight += walk.weight
        named = {key for kind, owner, key, _ in walk.entries if kind == ITEM and owner is namespace}
        hidden = sorted(named & set(effects)) or [things[i] for i in things if walk.reaches(i)][:1]
        if hidden:
            found.append((variable, hidden[0]))
    return found, weight


def changed_things(effects: Mapping[str, list[Effect]], namespace: Mapping[str, Any]) -> dict[int, str]:
    """The names of what is changed, by the identities of the objects as far as they exist now."""
    things: dict[int, str] = {}
    for name, each in effects.items():
        if name in namespace:
            things |= dict.fromkeys(_changed_ids(namespace[name], each), name)
    return things


def _changed_ids(value: Any, effects: list[Effect]) -> set[int]:
    """The objects that are changed, as far as they exist now."""
    fixed = (int, float, complex, str, bytes, bool, type(None), tuple, frozenset, type, types.ModuleType)
    found = set() if all(not effect.step for effect in effects) and isinstance(value, fixed) else {id(value)}
    if any(effect.deep for effect in effects):
        members = (
            value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
        )
        members = [*members, *getattr(value, "__dict__", {}).values()]
        found |= {id(each) for each in members if not isinstance(each, (*fixed, types.FunctionType))}
    return found


def own_keys(target: ast.expr, iterable: ast.expr, thing: str, value: Any, free: set[str]) -> str:
    """The target that is a key of the thing, or a number, different for each item; "" if there is none.

    ``value``: what the thing is now; ``free``: targets that the body leaves as they are.
    """
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
    named: ast.expr | None = None
    if isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Name):
        if iterable.func.id == "enumerate" and len(iterable.args) == 1 and not iterable.keywords:
            named = first
        elif iterable.func.id in ("list", "sorted", "tuple") and len(iterable.args) == 1:
            return own_keys(target, iterable.args[0], thing, value, free)
        elif iterable.func.id == "range" and _counts_up(iterable.args):
            named = target
    elif isinstance(iterable, ast.Call) and isinstance(iterable.func, ast.Attribute) and type(value) is dict:
        of_thing = isinstance(iterable.func.value, ast.Name) and iterable.func.value.id == thing
        if of_thing and iterable.func.attr in ("keys", "items") and not iterable.args:
            named = first if iterable.func.attr == "items" else target
    elif isinstance(iterable, ast.Name) and iterable.id == thing and type(value) is dict:
        named = target
    return named.id if isinstance(named, ast.Name) and named.id in free else ""


def _counts_up(args: list[ast.expr]) -> bool:
    """Whether a range with these arguments has no number below 0."""
    start, step = (
        (args[0] if len(args) > 1 else ast.Constant(0)),
        (args[2] if len(args) > 2 else ast.Constant(1)),
    )
    return isinstance(start, ast.Constant) and isinstance(step, ast.Constant)


def read_by_iterable(
    iterable: ast.expr,
    effects: Mapping[str, list[Effect]],
    own: Callable[[str], str],
    namespace: Mapping[str, Any],
) -> list[tuple[ast.Name, str]]:
    """Names that the iterable reads while a plain loop changes their values."""
    bad = []
    pending: list[ast.AST] = [iterable]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _EAGER:
            continue  # it is done before the first item
        if isinstance(node, ast.Name) and (text := _changed_while_read(node.id, effects, own, namespace)):
            bad.append(
                (node, f"{text}: a plain loop would meet the changes. Run over a copy: list({node.id})")
            )
        pending += ast.iter_child_nodes(node)
    return bad


def _changed_while_read(
    name: str, effects: Mapping[str, list[Effect]], own: Callable[[str], str], namespace: Mapping[str, Any]
) -> str:
    """Return how the loop changes this object of its iterable, by its name or as a part of another; "" if it does not.

    The value under an item's own key may change: the loop has read it.
    """
    changed = effects.get(name, [])
    key = own(name) if changed else ""
    if changed and not (key and all(effect.step == "[" and effect.key_name == key for effect in changed)):
        return f"the loop runs over {name} and changes it (line {changed[0].node.lineno})"
    others = {other: each for other, each in effects.items() if other != name}
    found = changed_things(others, namespace).get(id(namespace[name])) if name in namespace else None
    if found is None:
        return ""
    return f"the loop runs over {name}, and changes it as a part of {found} (line {effects[found][0].node.lineno})"
