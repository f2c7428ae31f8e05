"""What tasks of a Dask graph do beside returning a value: they write into targets of ``store``, and take locks.

Dask's own threads share memory. Workers do not: a write into an array of this process would be lost, and a
`dask.utils.SerializableLock` locks only within one worker.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any

from dask._task_spec import Alias, DataNode, Task, TaskRef, _execute_subgraph
from dask.utils import SerializableLock

from ..errors import UsageError

_STORES = ("load_store_chunk", "store_chunk")  # functions of dask.array.core, called with (chunk, target, …)


def locks_of(node: Task, *, apart: bool) -> list[str]:
    """Return the tokens of the locks that a task takes; ``apart``: it runs in another process.

    Raises `UsageError` where it stores into a NumPy array from there.
    """
    if node.func is not _execute_subgraph and getattr(node.func, "__name__", "") not in _STORES:
        for each in itertools.chain(node.args, node.kwargs.values()):  # most tasks
            if type(each) is SerializableLock or type(each) is DataNode:
                break
        else:
            return []
    found = []
    numpy = sys.modules.get("numpy") if apart else None
    for function, arguments in _calls(node):
        for each in arguments:
            if type(each) is SerializableLock:
                found.append(each.token)
        if numpy is None or len(arguments) < 2 or getattr(function, "__name__", "") not in _STORES:
            continue
        if isinstance(arguments[1], numpy.ndarray):
            raise UsageError(
                "store() into a NumPy array writes to memory of this process, and its tasks run in others. Take what "
                "compute() returns, store into something that workers open by its path (Zarr), or use Dask's "
                'threads for it: store(..., scheduler="threads")'
            )
    return found


def _calls(node: Task) -> Iterator[tuple[Any, list[Any]]]:
    """Yield each function that a task calls, with its arguments as far as the graph holds them."""
    if node.func is not _execute_subgraph:
        yield node.func, [_held(each) for each in itertools.chain(node.args, node.kwargs.values())]
        return
    inner, _out, names, *given = node.args
    known = dict(zip(names, given, strict=True))
    for each in inner.values():
        if isinstance(each, Task):
            arguments = itertools.chain(each.args, each.kwargs.values())
            yield each.func, [_held(argument, known, inner) for argument in arguments]


def _held(argument: Any, *places: Any) -> Any:
    name = argument.key if type(argument) is TaskRef else argument.target if type(argument) is Alias else None
    for place in places:
        if name in place:
            argument = place[name]
    return argument.value if type(argument) is DataNode else argument
