"""Large values that tasks make and use, and what of them passes the kernel."""

from __future__ import annotations

import os
import re
from typing import Any, Self

from cellmill import Executor
from cellmill.backends.cluster.backend import ClusterBackend

BYTES = 2_000_000

Value = tuple[int, Any]  # the process that made it, and an array


def make(fill: int, size: int = BYTES) -> Value:
    import numpy

    return os.getpid(), numpy.full(size, fill, numpy.uint8)


_again: dict[int, Any] = {}


def make_again(fill: int, size: int) -> Value:
    """Give the same array each time, with other numbers in it."""
    import numpy

    array = _again.setdefault(size, numpy.empty(size, numpy.uint8))
    array[:] = fill
    return os.getpid(), array


def sum_of(value: Value) -> tuple[int, int, int]:
    """The sum, where the value was made, and where this runs."""
    return int(value[1].sum(dtype="int64")), value[0], os.getpid()


def where_of(made: Value) -> tuple[int, int]:
    """Return the processes in which a value was made, and is used."""
    return made[0], os.getpid()


def last_of(value: Value) -> int:
    return int(value[1][-1])


def change(value: Value) -> Value:
    """Add one to each number, in place."""
    array = value[1]
    array += 1
    return value


def join(*values: Value) -> int:
    return sum(sum_of(value)[0] for value in values)


class Traffic:
    """Counts what passes the kernel in packs and their replies."""

    def __init__(self, ex: Executor) -> None:
        backend = ex._backend
        assert isinstance(backend, ClusterBackend)
        self._pool: Any = backend.pool
        self._engine: Any = backend.engine
        self.bytes = 0

    def __enter__(self) -> Self:
        replied, send = self._pool.replied, self._engine.send

        def heard(pack: int, reply: Any) -> None:
            self.bytes += memoryview(reply).nbytes
            replied(pack, reply)

        def sent(key: Any, pack: int, data: list[Any], name: str) -> None:
            self.bytes += sum(memoryview(part).nbytes for part in data)
            send(key, pack, data, name)

        self._pool.replied, self._engine.send = heard, sent
        return self

    def __exit__(self, *_: Any) -> None:
        del self._pool.replied, self._engine.send


def objects_of_ray() -> int:
    """How many values Ray has in its object store; asked by a task, which is connected to it."""
    import ray
    from ray._private.internal_api import memory_summary

    here = ray.get_runtime_context().gcs_address  # else it asks the one that was started last on this machine
    found = re.search(r"Plasma memory usage \d+ MiB, (\d+) objects", memory_summary(here, stats_only=True))
    assert found is not None
    return int(found[1])
