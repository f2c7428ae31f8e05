"""The effect of a method on its object, as far as it is known without calling it."""

from __future__ import annotations

import array
import ast
import collections
import itertools
import types
from collections.abc import Mapping
from typing import Any

from cellmill.magics.items import is_array

MOST_SEEN = 100  # of the members of a container
UNKNOWN: Any = object()  # what cannot be told before the loop runs

_SEQUENCE = frozenset(("append", "extend", "insert", "remove", "clear", "reverse", "sort"))
_SET = frozenset(
    (
        *("add", "discard", "remove", "clear", "update"),
        *("difference_update", "intersection_update", "symmetric_difference_update"),
    )
)
_DEQUE = _SEQUENCE - {"sort"} | {"appendleft", "extendleft", "rotate"}
_SILENT: dict[type, frozenset[str]] = {  # methods that change their object and return None
    list: _SEQUENCE,
    dict: frozenset(("update", "clear")),
    collections.OrderedDict: frozenset(("update", "clear", "move_to_end")),
    collections.defaultdict: frozenset(("update", "clear")),
    collections.Counter: frozenset(("update", "clear", "subtract")),
    set: _SET,
    collections.deque: _DEQUE,
    bytearray: _SEQUENCE - {"sort"},
    array.array: _SEQUENCE - {"sort", "clear"},
}
_SPEAKING: dict[type, frozenset[str]] = {  # methods that change it and return something
    list: frozenset(("pop",)),
    set: frozenset(("pop",)),
    collections.deque: frozenset(("pop", "popleft")),
    bytearray: frozenset(("pop",)),
    array.array: frozenset(("pop",)),
    **dict.fromkeys(
        (dict, collections.OrderedDict, collections.defaultdict, collections.Counter),
        frozenset(("pop", "popitem", "setdefault")),
    ),
}
_OF_ARRAYS = frozenset(("fill", "put", "sort", "partition", "itemset", "setfield", "resize"))
_COMMON = _SEQUENCE | _SET | _DEQUE | {"put", "put_nowait", "write", "writelines", "writerow", "writerows"}
_SILENT_BY_NAME = _SEQUENCE | {"appendleft", "extendleft", "discard"}
TAKES_ALL = frozenset(
    ("extend", "extendleft", "update", "subtract", "writelines", "writerow", "writerows", *_SET - {"add"})
)
"""Methods that take their argument apart at once: what becomes of it later does not matter to them."""
_KEEP = frozenset(("append", "appendleft", "insert", "setdefault"))  # methods of containers that only keep it
NOT_CHANGED = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)


def changes(receiver: Any, method: str) -> bool:
    """Whether the method is known to change an object like this one."""
    if isinstance(receiver, NOT_CHANGED):
        return False
    if receiver is UNKNOWN:
        return method in _COMMON
    known = _table_type(receiver, method)
    if known is not None:
        return method in _SILENT[known] or method in _SPEAKING[known]
    if is_array(receiver):
        return method in _OF_ARRAYS
    return method in _COMMON and callable(getattr(type(receiver), method, None))


def returns_none(receiver: Any, method: str) -> bool:
    """Whether a method that changes its object is known to return nothing."""
    if receiver is UNKNOWN:
        return method in _SILENT_BY_NAME
    known = _table_type(receiver, method)
    return (known is not None and method in _SILENT[known]) or (is_array(receiver) and method in _OF_ARRAYS)


def speaks(receiver: Any, method: str) -> bool:
    """Whether it is known to change its object and to return something of it."""
    known = _table_type(receiver, method)
    return known is not None and method in _SPEAKING[known]


def keeps_reference(container: Any) -> bool:
    """Whether item assignment keeps the object itself, and does not copy what is in it."""
    return isinstance(container, (list, dict, collections.deque)) or (
        is_array(container) and bool(container.dtype.hasobject)
    )


def looks_at_operands(node: Any, namespace: Mapping[str, Any]) -> bool:
    """Whether a statement may look into what it is given, or else keeps it as it is, or has a copy of it."""
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Name)  # the largest of several
    call = getattr(node, "value", None) if isinstance(node, ast.Expr) else node
    if not isinstance(call, ast.Call):
        return False
    func: Any = call.func
    if func.attr in TAKES_ALL:
        return False
    return func.attr not in _KEEP or _table_type(standing_for(func.value, namespace), func.attr) is None


def _table_type(receiver: Any, method: str) -> type | None:
    """The built-in container whose method this is."""
    found = getattr(type(receiver), method, None)
    for known in type(receiver).__mro__:
        if known in _SILENT:
            return known if found is getattr(known, method, None) else None
    return None


def standing_for(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """An object like the one that the expression will give, found without running any code of the user's."""
    if isinstance(node, ast.Name):
        return namespace.get(node.id, UNKNOWN)
    if isinstance(node, ast.Attribute):
        owner = standing_for(node.value, namespace)
        members = UNKNOWN if owner is UNKNOWN else getattr(owner, "__dict__", UNKNOWN)
        return members.get(node.attr, UNKNOWN) if members is not UNKNOWN else UNKNOWN
    if isinstance(node, ast.Subscript):
        return _member(standing_for(node.value, namespace), node.slice)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "setdefault":
        default = node.args[1] if len(node.args) > 1 else None
        plain = {ast.List: list, ast.Dict: dict, ast.Set: set}
        if type(default) in plain:
            return plain[type(default)]()
        if isinstance(default, ast.Call) and isinstance(default.func, ast.Name) and not default.args:
            made = {"list": list, "dict": dict, "set": set}.get(default.func.id)
            return made() if made is not None else UNKNOWN
    return UNKNOWN


def _member(owner: Any, key: ast.expr) -> Any:
    """The item with this key, or one like all others, or what is made for a missing one."""
    kind = type(owner)
    if is_array(owner):
        return owner
    if kind is collections.defaultdict and owner.default_factory in _SILENT:
        return owner.default_factory()
    if isinstance(key, ast.Constant) and kind in (dict, list, tuple):
        try:
            return owner[key.value]
        except LookupError:
            return UNKNOWN
    members = owner.values() if isinstance(owner, dict) else owner if kind in (list, tuple) else ()
    some = list(itertools.islice(members, MOST_SEEN))
    return some[0] if len({type(each) for each in some}) == 1 else UNKNOWN
