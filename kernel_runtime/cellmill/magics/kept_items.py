"""What an expression over items leaves of them, where its calls as tasks of a map would leave something else."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from itertools import islice
from typing import Any

from cellmill.by_value.changed_arguments import changed_arguments
from cellmill.magics.flow import target_names
from cellmill.magics.items import is_array
from cellmill.magics.iterators import known_value
from cellmill.magics.shared_state import effects_of

_MOST_ITEMS = 32  # of a container, which are compared


def existing_items(iterable: ast.expr, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The containers that an iterable names, each with the first of its items."""
    found: dict[str, Any] = {}
    for node in ast.walk(iterable):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            value = known_value(node, namespace)
            if isinstance(value, (list, tuple)):
                found[ast.unparse(node)] = list(islice(value, _MOST_ITEMS))
            elif isinstance(value, dict):
                found[ast.unparse(node)] = list(islice(value.values(), _MOST_ITEMS))
            elif is_array(value):
                found[ast.unparse(node)] = value
    return found


def futures_among(iterable: ast.expr, namespace: Mapping[str, Any]) -> str:
    """The container of an iterable that has futures among its items, alone or in tuples; "" if there is none."""
    for name, items in existing_items(iterable, namespace).items():
        if isinstance(items, list):
            for each in items:
                if any(isinstance(part, Future) for part in (each if type(each) is tuple else (each,))):
                    return name
    return ""


def items_changed(line: int, name: str) -> str:
    """What is said where the items of a container were changed."""
    return (
        f"line {line}: this changes the items of {name}. Tasks of a map change copies, which only their results have: "
        f"those of {name} would stay as they are. Write it as a for loop, whose changes %%pfor does here"
    )


def conditions(
    value: ast.expr, target: ast.expr, iterable: ast.expr, namespace: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what has to hold where the source of functions called with the item, and of its methods, changes it."""
    names = set(target_names(target))
    items = existing_items(iterable, namespace).get(ast.unparse(iterable), ())
    kinds = set(map(type, items)) if isinstance(target, ast.Name) else set()
    for call in ast.walk(value):
        if not isinstance(call, ast.Call):
            continue
        function = known_value(call.func, namespace)
        if isinstance(function, types.FunctionType):
            for parameter, text in _changed_by(function, call, names):
                yield _unneeded(f"{function.__name__} changes in {parameter} ({text})")
        elif isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") in names:
            for kind in kinds:
                for text in _changed_by_method(kind, call.func.attr):
                    yield _unneeded(f"{kind.__name__}.{call.func.attr} changes in them ({text})")


def _unneeded(what: str) -> str:
    return (
        f"the items themselves need not have what {what}: tasks change copies, which only their results have"
    )


def _changed_by(function: types.FunctionType, call: ast.Call, names: set[str]) -> Iterator[tuple[str, str]]:
    """The parameters that are given one of these names and changed, each with the statement."""
    given = [*zip(function.__code__.co_varnames, call.args, strict=False)]
    given += [(each.arg, each.value) for each in call.keywords if each.arg]
    found = changed_arguments(function, handed_back=True)
    for parameter, argument in given:
        if parameter in found and isinstance(argument, ast.Name) and argument.id in names:
            yield parameter, found[parameter][1]


def _changed_by_method(kind: type, name: str) -> Iterator[str]:
    """The first statement by which a method changes its object."""
    method = inspect.getattr_static(kind, name, None)
    if isinstance(method, types.FunctionType):
        own = frozenset(method.__code__.co_varnames[:1])
        yield from [text for _, text, changed in effects_of(method, own) if changed in own][:1]


def late_binding(value: ast.expr, target: ast.expr, namespace: Mapping[str, Any]) -> str:
    """The part of the target that functions made by the items read when they are called later; "" if there is none."""
    items = set(target_names(target))
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Lambda):
            own = {node.arg for node in ast.walk(each.args) if isinstance(node, ast.arg)}
            read = {node.id for node in ast.walk(each.body) if isinstance(node, ast.Name)}
            if late := sorted(read & items - own):
                return late[0]
        elif isinstance(each, (ast.Tuple, ast.List, ast.Set)):
            todo += each.elts
        elif isinstance(each, ast.Dict):
            todo += each.values
        elif isinstance(each, ast.IfExp):
            todo += [each.body, each.orelse]
        elif isinstance(each, ast.Call) and isinstance(known_value(each.func, namespace), type):
            todo += [*each.args, *(keyword.value for keyword in each.keywords)]
    return ""


def bound_late(line: int, name: str) -> str:
    """What is said of such functions."""
    return (
        f"line {line}: the functions that are made here read {name} when they are called, and all find that of the "
        f"last item: as tasks each would have its own. If that is meant, write lambda {name}={name}: …"
    )
