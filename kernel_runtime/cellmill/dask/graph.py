"""A Dask graph in the order in which its tasks are handed over, and what Dask says of single tasks."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Any

from dask._task_spec import (
    Alias,
    DataNode,
    GraphNode,
    List,
    Task,
    TaskRef,
    Tuple,
    _execute_subgraph,
    _identity_cast,
    convert_legacy_graph,
)
from dask.core import getcycle
from dask.utils import key_split

from ..task import DEFAULT_OPTIONS, PRIORITIES, TaskOptions

Graph = Mapping[Hashable, GraphNode]
_OPEN, _FOUND = 1, 2  # what a node needs is being looked at; it is in the order
ANNOTATIONS = ("priority", "retries", "resources")  # that mean something here


def nodes_of(dsk: Any, cache: Mapping[Hashable, Any] | None) -> Graph:
    """Return the nodes by key of anything that Dask calls a graph; ``cache``: values that are known."""
    graph = dsk if isinstance(dsk, Mapping) else dsk.__dask_graph__()
    nodes: Graph = convert_legacy_graph(graph, all_keys={*graph, *(cache or ())})
    if cache:
        nodes = {**nodes, **{key: DataNode(key, cache[key]) for key in list(cache)}}
    return nodes


def annotations_of(dsk: Any) -> Mapping[str, Mapping[Hashable, Any]]:
    """Return the values of each annotation by key."""
    told = getattr(dsk, "__dask_annotations__", None)
    found: Mapping[str, Mapping[Hashable, Any]] = told() if told is not None else {}
    return {name: found[name] for name in ANNOTATIONS if found.get(name)}


def in_order(nodes: Graph, wanted: Iterable[Hashable]) -> tuple[list[Hashable], list[GraphNode]]:
    """Return the ``wanted`` keys and all that they need, and their nodes, each behind what it needs; depth first, so
    that a value is used soon.

    Raises `KeyError` where a key is missing, `ValueError` where one that a task needs is, `RuntimeError` on a cycle.
    """
    keys, listed = list(nodes), list(nodes.values())
    place = dict(zip(keys, range(len(keys)), strict=True))  # sets of keys have another order in each process
    found: list[int] = []
    states = bytearray(len(keys))
    stack = [place[key] for key in wanted]
    stack.reverse()
    while stack:
        i = stack.pop()
        if states[i] == _FOUND:
            continue
        needs = listed[i].dependencies
        if not needs or states[i] == _OPEN:
            states[i] = _FOUND
            found.append(i)
            continue
        states[i] = _OPEN
        stack.append(i)  # again, when all that it needs has been found
        for needed in _places(keys[i], needs, place):
            if states[needed] == _OPEN:
                cycle = "\n".join(f"  -> {each}" for each in getcycle(dict(nodes), [keys[i]]))
                raise RuntimeError(f"Cycle detected between the following keys:\n{cycle}")
            if states[needed] != _FOUND:
                stack.append(needed)
    return [keys[i] for i in found], [listed[i] for i in found]


def _places(key: Hashable, needs: Collection[Hashable], place: Mapping[Hashable, int]) -> list[int]:
    """Return the places of what a node needs, the last one first."""
    try:
        return sorted([place[each] for each in needs], reverse=True)
    except KeyError as error:
        raise ValueError(f"Missing dependency {error.args[0]} for dependents {{{key!r}}}") from None


def plain_arguments(
    node: Task, known: Mapping[Hashable, Any], data: Callable[[Any], Any]
) -> tuple[Any, ...] | None:
    """Return the arguments of a task with what is ``known`` in place of references, also in lists and tuples.

    ``data`` returns what takes the place of a value that the graph holds.

    None where a reference is in anything else: then the task is evaluated as a whole, where it runs.
    """
    if type(node) is not Task:
        return None
    for each in node.kwargs.values():
        if isinstance(each, (GraphNode, TaskRef)):
            return None
    try:
        return tuple([_plain(each, known, data) for each in node.args])
    except _Deeper:
        return None


_BARE = frozenset((int, float, str, bool, type(None)))
_SHORT = _BARE | {TaskRef}


def short_arguments(node: Task, known: Mapping[Hashable, Any]) -> tuple[Any, ...] | None:
    """As `plain_arguments` for most tasks: numbers, texts and values of other tasks, each by itself and by position.

    None for others. Such a task takes no lock, and holds no data of the graph.
    """
    if (
        type(node) is not Task
        or node.func is _execute_subgraph
        or node.kwargs
        or not _SHORT.issuperset(map(type, node.args))
    ):
        return None
    return tuple([known[each.key] if type(each) is TaskRef else each for each in node.args])


class _Deeper(Exception):
    """An argument holds a task, or a container of another kind."""


def _plain(value: Any, known: Mapping[Hashable, Any], data: Callable[[Any], Any]) -> Any:
    kind = type(value)
    if kind in _BARE:
        return value
    if kind is TaskRef:
        return known[value.key]
    if kind is Alias:
        return known[value.target]
    made = list if kind is List else tuple if kind is Tuple else None
    if kind is Task and value.func is _identity_cast:  # a list of an older kind of graph
        made = value.kwargs["typ"]
    if made is list or made is tuple:
        return made([_plain(each, known, data) for each in value.args])
    if kind is DataNode:
        return data(value.value)
    if isinstance(value, (GraphNode, TaskRef)):
        raise _Deeper
    return value


@functools.lru_cache(4096)
def named(function: Any, name: str) -> Any:
    """Return the function under another name: calls of one function make up many tasks, which keys tell apart."""
    made = types.FunctionType(function.__code__.replace(co_name=name), function.__globals__, name)
    made.__module__, made.__qualname__ = function.__module__, name
    return made


class Options:
    """The options of tasks: by the name that Dask's own pages show for a key, and by annotations."""

    def __init__(self, annotations: Mapping[str, Mapping[Hashable, Any]]) -> None:
        self._annotations = annotations
        self._made: dict[Any, TaskOptions] = {}
        self._names: dict[str, str] = {}  # by what comes before the first hyphen

    def _name_of(self, key: Hashable) -> str:
        """Return what Dask shows for a key: its words before a number or a token. Most keys are new, and alike."""
        text = key[0] if type(key) is tuple and key else key
        if type(text) is not str:
            return str(key_split(key))
        first, _, rest = text.partition("-")
        token = rest.partition("-")[0]
        if not token or token.isalpha():
            return str(key_split(text))
        found = self._names.get(first)
        if found is None:
            found = self._names[first] = str(key_split(text))
        return found

    def of(self, key: Hashable, waits: bool) -> TaskOptions:
        """Return those of a task. One that ``waits`` for others runs before ones that do not: it frees their values."""
        name = self._name_of(key)
        if not self._annotations:
            found = self._made.get((name, waits))
            if found is None:
                found = self._made[name, waits] = DEFAULT_OPTIONS.changed(name=name, priority=int(waits))
            return found
        told = {what: values[key] for what, values in self._annotations.items() if key in values}
        mark = (name, waits, repr(sorted(told.items())))
        if mark not in self._made:
            priority = 2 * int(told.get("priority", 0)) + waits
            self._made[mark] = DEFAULT_OPTIONS.changed(
                name=name,
                priority=min(max(priority, PRIORITIES[0]), PRIORITIES[-1]),
                retries=told.get("retries", 0),
                resources=told.get("resources") or None,
            )
        return self._made[mark]
