"""The workers of a Dask cluster of our own: as many as are wanted, and while tasks are long one more.

A task that does not hear that it is stopped takes its process with it, and another process needs seconds to start: a
spare one takes its place. Short tasks end by themselves.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Collection
from typing import Any

from . import LONG_SECONDS

_OVER = ("closed", "failed")  # of a nanny


def let_spawn() -> None:
    """Let processes be spawned after IPython's ``%reset``, which deletes a name that `multiprocessing` reads."""
    main = sys.modules.get("__main__")
    if main is not None and not hasattr(main, "__spec__"):
        main.__spec__ = None


class OwnWorkers:
    """Of one `LocalCluster`; called from any thread."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()  # for the specification of workers
        self._begun = set(cluster.worker_spec)  # names of workers that Dask has started
        self._names = (f"again-{number}" for number in itertools.count(1))
        self._packs: set[int] = set()  # that were outstanding
        self._looked = time.monotonic()
        self.spares = 0

    def end(self, address: str) -> bool:
        """Kill the worker process with this address; its nanny starts another one. False: there is none."""
        for nanny in list(self._cluster.workers.values()):
            if getattr(nanny, "worker_address", None) == address and getattr(nanny, "pid", None):
                os.kill(nanny.pid, signal.SIGKILL)
                return True
        return False

    def look(self, packs: Collection[int]) -> None:
        """Called now and then, with the packs that are outstanding."""
        let_spawn()  # a nanny may start its worker again at any time
        with self._lock:
            self._refill()
            now = time.monotonic()
            if now - self._looked >= LONG_SECONDS:
                if not self.spares and not self._packs.isdisjoint(packs) and self._nannies():
                    self.spares = 1
                    self._cluster.scale(len(self._cluster.worker_spec) + 1)
                self._packs, self._looked = set(packs), now

    def _nannies(self) -> bool:
        return all(hasattr(each, "worker_address") for each in list(self._cluster.workers.values()))

    def _refill(self) -> None:
        """Start workers anew that Dask has dropped.

        Some seconds after a worker's death (`distributed.deploy.lost-worker-timeout`) Dask looks whether it is back,
        and drops it if it is down at that moment, even when it has died a second time and is just starting. It may
        come back for a moment before its nanny is closed, so the new one has another name: a scheduler refuses one
        whose name is taken.
        """
        cluster, there = self._cluster, dict(self._cluster.workers)
        over = [
            name
            for name in list(cluster.worker_spec)
            if (there[name].status.name in _OVER if name in there else name in self._begun)
        ]
        for name in over:
            cluster.worker_spec[next(self._names)] = cluster.worker_spec.pop(name)
        self._begun.update(there)
        if over or len(there) < len(cluster.worker_spec):
            cluster.scale(len(cluster.worker_spec))

    def resize(self, workers: int, idle: Collection[str]) -> None:
        """So many, and the one to spare; the first to go are those with the addresses of idle ones."""
        cluster = self._cluster
        first = [n for n, w in cluster.workers.copy().items() if getattr(w, "worker_address", None) in idle]
        with self._lock:
            wanted = workers + self.spares
            surplus = max(0, len(cluster.worker_spec) - wanted)
            if first[:surplus]:  # left to itself, Dask ends the last one whatever it does
                cluster.sync(cluster.scale_down, first[:surplus])
            cluster.scale(wanted)
