"""Shows a scheduler of Dask the tasks that wait in the kernel, so that adaptive scaling counts them.

Dask's scheduler says how many workers are wanted (`Scheduler.adaptive_target`) by what it expects the tasks to take
that run or wait there. Ours wait in the kernel: *placeholders* stand for them, tasks that ask for a resource which no
worker has, and so never run. Dask takes each, as any task of which it has seen none, for half a second of work.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections.abc import Sequence
from typing import Any

from .protocol import Waiting

NAME = "cellmill-queued"  # of placeholders, for people
FIRST_THREADS = 20  # a cluster is asked for at most so many at first,
GROWTH = 4  # and then for so many times what it has
STEP = 8  # differences below this part of the number of placeholders are not worth a message


class Placeholders:
    """Those of one client. Thread-safe."""

    def __init__(self, client: Any, mark: str) -> None:
        """``mark``: in the keys of all that is ours."""
        self._client = client
        self._mark = mark
        self._numbers = itertools.count(1)
        self._held: list[Any] = []
        self._closed = False
        self._lock = threading.Lock()

    def show(self, waiting: Sequence[Waiting], there: int, more: int) -> None:
        """Have as many placeholders as stand for what waits. ``there``: threads of workers; ``more``: how many more
        would be used.
        """
        with self._lock:
            if self._closed:
                return
            self._held = [future for future in self._held if future.status == "pending"]
            each, target = self._durations()
            threads = min(there + more, max(FIRST_THREADS, GROWTH * there))
            wanted = count(waiting, threads, each, target) if target else 0
            if not wanted or abs(wanted - len(self._held)) * STEP >= len(self._held):
                self._have(wanted)

    def _durations(self) -> tuple[float, float]:
        """Return what Dask takes an unknown task for, and how long all that waits may take, or 0 where the cluster is
        known not to adapt; both in seconds.
        """
        from dask import config
        from dask.utils import parse_timedelta
        from distributed import SpecCluster

        each = parse_timedelta(config.get("distributed.scheduler.unknown-task-duration"))
        cluster = getattr(self._client, "cluster", None)
        adaptive = getattr(cluster, "_adaptive", None)
        if isinstance(cluster, SpecCluster) and getattr(adaptive, "periodic_callback", None) is None:
            return each, 0.0
        target = getattr(adaptive, "target_duration", None)
        return each, parse_timedelta(target or config.get("distributed.adaptive.target-duration"))

    def _have(self, wanted: int) -> None:
        while len(self._held) > wanted:
            self._held.pop().release()
        missing = wanted - len(self._held)
        if missing:
            keys = [f"{NAME}-{self._mark}-{next(self._numbers)}" for _ in range(missing)]
            self._held += self._client.map(
                int, range(missing), key=keys, pure=False, resources={f"cellmill-{self._mark}": 1}
            )

    def close(self) -> None:
        """None is left, and none comes."""
        with self._lock, contextlib.suppress(Exception):  # a scheduler that is lost has none
            self._closed = True
            self._have(0)


def count(waiting: Sequence[Waiting], threads: int, each: float, target: float) -> int:
    """Return how many placeholders of ``each`` seconds stand for what waits, so that at most so many threads are asked
    for, which would do it in ``target`` seconds.
    """
    # a task keeps one thread busy, however long it takes: it does not ask for a second one
    seconds = sum(of.tasks * min(of.seconds or each, target) for of in waiting)
    return math.ceil(min(seconds, threads * target) / each)
