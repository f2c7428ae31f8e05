"""What a scheduler of Dask tells of its workers."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any

from ....errors import BackendError
from ....task import size_text
from ..remote.dask_values import PREFIX
from .protocol import RemoteWorker

LEFT = "its Dask worker left the cluster"
ENDED = "worker-restart-memory"  # topic of events
EVENTS_SECONDS = 2.0


def remotes_of(address: str, told: dict[str, Any]) -> list[RemoteWorker]:
    """Return the remote workers of a worker of Dask, one for each of its threads."""
    host, threads, limit = (
        str(told.get("host", address)),
        int(told["nthreads"]),
        int(told["memory_limit"] or 0),
    )
    if threads == 1:
        return [RemoteWorker((address, 0), address, host, 0, limit=limit)]
    return [
        RemoteWorker((address, i), f"{address} thread {i}", host, 0, 1, address, limit)
        for i in range(threads)
    ]


def ended_for_memory(client: Any, addresses: Collection[str]) -> dict[str, str]:
    """Of these workers that are gone: why, for those that their nannies have ended, as these told the scheduler."""
    with contextlib.suppress(Exception):  # a scheduler that goes as well; it is no more than a reason
        told = client.sync(client.scheduler.events, topic=ENDED, callback_timeout=EVENTS_SECONDS)
        return {
            event[
                "worker"
            ]: f"its Dask worker used {size_text(event['rss'])} of memory, and its nanny ended it: its "
            "memory_limit was reached"
            for _, event in told
            if event["worker"] in addresses
        }
    return {}


def let_go(client: Any, addresses: Collection[str]) -> set[str]:
    """Of these workers that are gone: those that the cluster itself has ended, because it needs fewer, or others."""
    found = set()
    with contextlib.suppress(Exception):  # a scheduler that goes as well
        for address in addresses:
            told = client.sync(client.scheduler.events, topic=address, callback_timeout=EVENTS_SECONDS)
            if any(event.get("action") == "retired" or event.get("expected") for _, event in told):
                found.add(address)
    return found


def check_alone(client: Any, address: str, mark: str, allowed: bool) -> None:
    """Raise `BackendError` unless a process of a borrowed cluster may be ended: it is allowed, and no other client has
    anything there. ``mark``: in the keys of our packs.
    """
    if not allowed:
        raise BackendError(
            "this Dask cluster is not Cellmill's, and others may have work or data in the process. "
            "Executor(..., end_workers=True) allows to end it where they have none"
        )
    told = client.processing([address]), client.has_what([address])
    stay = sum(str(key).startswith(PREFIX) for key in told[1].get(address, ()))
    if stay:
        raise BackendError(f"{stay} results of tasks stay in the process, and would be lost with it")
    found = sum(f"-{mark}-" not in str(key) for each in told for key in each.get(address, ()))
    if found:
        raise BackendError(f"others have work or data in the process: {found} tasks or results")
