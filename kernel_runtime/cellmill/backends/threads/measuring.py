"""What worker threads use: the processors and memory of the kernel's process, which all of them share."""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

from ..scheduled.measured import Measured, Pool, ProcessGauge, of_process
from ..scheduled.resource_use import ResourceUse

IDLE = 0.2  # seconds between looks where nothing runs
FRESH = 0.01  # seconds for which one reading serves all threads


class Threads(Pool, Protocol):
    """The pool of threads."""

    @property
    def closed(self) -> bool: ...


class ThreadGauge(ProcessGauge):
    """Measures the process that the threads of one pool are in. See `scheduled.measured.Gauge`."""

    def __init__(self, pool: Threads) -> None:
        super().__init__(pool)
        self._threads = pool
        self._read: Measured | None = None

    def measure(self, index: int) -> Measured | None:
        if index not in self._threads.members:
            return None
        read = self._read
        if read is None or time.monotonic() - read.at > FRESH:
            found = of_process(os.getpid())
            self._read = read = None if found is None else found._replace(shared=True)
        return read

    def start(self, use: ResourceUse) -> None:
        """Keep what was used from now on, in a thread of its own, as long as the pool is open and used."""
        threading.Thread(
            target=_look,
            args=(weakref.ref(self._threads), weakref.ref(use)),
            name="cellmill-measure",
            daemon=True,
        ).start()


def _look(threads: weakref.ref[Threads], of: weakref.ref[ResourceUse]) -> None:
    while True:
        pool, use = threads(), of()
        if pool is None or use is None or pool.closed:
            return
        pause = use.look()
        # not kept while it sleeps, nor what leads from them to the globals of a script that ends
        del pool, use
        time.sleep(IDLE if pause is None else pause)
