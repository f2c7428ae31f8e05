"""Locks, queues and the like, which a worker would have for itself: what tasks can share in their place; and what is
yet to have a value, which is what a task can be given.
"""

from __future__ import annotations

from concurrent.futures import Future
from types import CoroutineType
from typing import Any

_MODULES = frozenset(("_thread", "threading", "_queue", "queue", "multiprocessing"))
_OF_MANAGER = {
    "lock": "Lock",
    "SimpleQueue": "Queue",
    "LifoQueue": "Queue",
    "PriorityQueue": "Queue",
    "Synchronized": "Value",
    "SynchronizedArray": "Array",
} | {
    name: name
    for name in (
        "Barrier",
        "BoundedSemaphore",
        "Condition",
        "Event",
        "JoinableQueue",
        "Lock",
        "Queue",
        "RLock",
        "Semaphore",
    )
}


def advice(value: Any) -> str:
    """What to do in the place of sending it; "" of other objects."""
    kind = type(value)
    package = kind.__module__.partition(".")[0]
    if issubclass(kind, Future) and package != "cellmill":  # whose own error says what to do
        return "Give the task its value: future.result()."
    if kind is CoroutineType or (kind.__module__ == "_asyncio" and kind.__name__ in ("Future", "Task")):
        return "Await it, and give the task its value."
    made = _OF_MANAGER.get(kind.__name__)
    if made is None or package not in _MODULES:
        return ""
    return (
        f"Made in a worker, it would be that worker's alone. Tasks share manager.{made}() of "
        "`manager = multiprocessing.Manager()`; or they return values, and what needs it is done here."
    )
