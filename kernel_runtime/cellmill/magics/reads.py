"""Reads, by a loop's body, of objects that it changes: an item does not see the changes of earlier items."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cellmill.magics.flow import State
from cellmill.magics.items import is_array
from cellmill.magics.reach import NO_KEY, Effect, Reach, at_end_of, changed_things

_EAGER = frozenset(
    ("list", "tuple", "sorted", "range", "len", "set", "frozenset", "dict", "sum", "min", "max")
)
_MAKES_NEW = frozenset(
    ("len", "sum", "abs", "int", "float", "str", "bool", "round", "repr", "any", "all", "ord", "range")
)
_OF_SHAPE = frozenset(("shape", "dtype", "ndim", "size", "itemsize", "nbytes"))
_LOOP_ONLY = "return what is needed (-> out), and go on with it in a plain loop after the cell"


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
    late: set[tuple[str, str]] = field(
        default_factory=set
    )  # a name of the item's own, read after this was changed

    def of_own(self, name: str, state: State) -> None:
        """A target, or a name that the body binds, is read."""
        self.late |= {(name, changed[1:]) for changed in state.sometimes if changed.startswith("=")}

    def unsafe(
        self, namespace: Mapping[str, Any], own_keys: Callable[[str], str]
    ) -> list[tuple[ast.Name, str]]:
        """The reads that would not give the plain loop's value, and what is to be said of each.

        ``own_keys(thing)``: the target whose value no two items share, as the loop runs over the keys of the thing.
        """
        bad = []
        for read in self.found:
            effects = self.effects.get(read.node.id)
            if not effects:
                continue
            value = namespace.get(read.node.id)
            if not _is_safe(read, effects, value, own_keys(read.node.id)):
                bad.append((read.node, _said(read, effects[0])))
            elif name := self._changed_behind(read, value, namespace):
                bad.append((read.node, leads(read.node.id, name, self.effects[name][0].node.lineno)))
        return bad

    def _changed_behind(self, read: Read, value: Any, namespace: Mapping[str, Any]) -> str:
        """The other name by which the loop changes something in what is read; "" if there is none."""
        if read.how == "[" and type(value) is dict:
            value = value.get(read.key)
        elif read.how == ".":
            value = getattr(value, "__dict__", {}).get(read.key)
        elif read.how != "own":
            return ""
        others = {name: effects for name, effects in self.effects.items() if name != read.node.id}
        walk = Reach()
        walk.go(value)
        return next((name for i, name in changed_things(others, namespace).items() if walk.reaches(i)), "")


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
        others = all(effect.step in of_item and effect.key not in (NO_KEY, read.key) for effect in effects)
        return others and not _leads_to_changes(value.get(read.key), value, effects)
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
    return others and not _leads_to_changes(members[name], value, effects)


def _leads_to_changes(part: Any, value: Any, effects: list[Effect]) -> bool:
    """Whether a part of a value leads to an object in it that these change."""
    changed = set().union(*(at_end_of(value, effect.path) for effect in effects if effect.deep))
    walk = Reach()
    walk.go(part)
    return any(walk.reaches(each) for each in changed)


def _sets_only_itself(value: Any, name: str) -> bool:
    """Whether no code of the class runs when the attribute is assigned."""
    own = getattr(type(value), name, None)
    plain = getattr(type(value), "__setattr__", None) is object.__setattr__
    return plain and not hasattr(type(own), "__set__")


def leads(variable: str, name: str, line: int) -> str:
    """What is said of a variable that leads to what the loop changes by another name."""
    return (
        f"{variable} reads {name}, which the loop changes (line {line}): what it finds would not be what the items "
        "before left, as they run at the same time. Hand it a copy made before the loop, or do this in a plain loop "
        "after the cell, with the values that the items return (-> out)"
    )


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


def late_reads(reads: Reads, body: list[ast.stmt]) -> set[tuple[str, str]]:
    """Those of `Reads.late` whose name may be another one for an object of the notebook."""
    bound: dict[str, list[ast.expr]] = {}
    for node in ast.walk(ast.Module(body, [])):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            bound.setdefault(node.targets[0].id, []).append(node.value)
    found = set()
    for name, of in reads.late:
        if of not in reads.effects:  # its methods that are called change nothing
            continue
        within = max(_depth(each) + (each.grown is not None) for each in reads.effects[of]) > 1
        if name not in bound or not all(_is_new(each, within) for each in bound[name]):
            found.add((name, of))
    return found


def given_and_changed(reads: Reads, own: set[str]) -> set[str]:
    """The things to which the body may give an object of an item's, and where it also changes what is there: names.

    ``own``: the loop's targets, and the names that the body binds.
    """
    found = set()
    for name, effects in reads.effects.items():
        given = [_depth(each) + 1 for each in effects if _gives(each.node, own)]
        changed = [
            _depth(each) + (each.grown is not None) for each in effects if not _at_a_constant(each.node)
        ]
        if given and min(given) <= max(changed, default=0):
            found.add(name)
    return found


def _depth(effect: Effect) -> int:
    """How far below the thing the object is that is changed."""
    methods = sum(step == "()" for step, _ in effect.path)
    return len(effect.path) - methods  # a method's name and its call are one step


def _at_a_constant(node: Any) -> bool:
    """Whether the key of what is changed is one that the body writes, which is taken to be none of an item's."""
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Call):
        call = getattr(call.func, "value", None)
    key = call.args[0] if isinstance(call, ast.Call) and call.args else getattr(call, "slice", None)
    return isinstance(key, ast.Constant)


def _gives(node: Any, own: set[str]) -> bool:
    call = node.value if isinstance(node, ast.Expr) else node
    values = [*call.args, *call.keywords] if isinstance(call, ast.Call) else [getattr(node, "value", None)]
    named = [each for value in values if value and not _is_new(value) for each in ast.walk(value)]
    return any(isinstance(each, ast.Name) and each.id in own for each in named)


def _is_new(value: ast.AST, within: bool = True) -> bool:
    """Whether the value is made here: a number, a text. ``within``: or not a part of another object at least."""
    if isinstance(value, (ast.Attribute, ast.Subscript)):
        return not within
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _MAKES_NEW
    return isinstance(value, (ast.Constant, ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr))


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
