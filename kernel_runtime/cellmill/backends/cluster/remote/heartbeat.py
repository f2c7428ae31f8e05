"""What the process of a worker of Dask uses, told with the worker's heartbeats: as one more of Dask's metrics.

A call of Dask's for it would write a line into the worker's log each time.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from . import entry
from .measure import Answer

LEASE_SECONDS = 600.0  # nothing is told any more so long after the caller has asked for it last


def name_of(message: bytes) -> str:
    """Return the name of the metric that answers this message."""
    return f"cellmill-{pickle.loads(message)[1].hex()}"


def install(message: bytes, dask_worker: Any) -> None:
    """Have this worker answer a message, (MEASURE, token), with each heartbeat, until the caller leaves."""
    _, token = pickle.loads(message)
    name = name_of(message)
    known = name in dask_worker.metrics
    dask_worker.metrics[name] = partial(_tell, message, name, time.monotonic() + LEASE_SECONDS)
    if not known:
        entry.leaving.setdefault(token, []).append(partial(dask_worker.metrics.pop, name, None))


def _tell(message: bytes, name: str, until: float, dask_worker: Any) -> list[Any] | None:
    if time.monotonic() > until:
        dask_worker.metrics.pop(name, None)
        return None
    return list(entry.hear(message))


def read(told: Any) -> Answer | None:
    """Return what came with a heartbeat, if it is an answer: its tuples may have become lists."""
    if not isinstance(told, Sequence) or len(told) != len(Answer._fields):
        return None
    process, running, *rest = told
    return Answer(tuple(process), dict(running), *rest)
