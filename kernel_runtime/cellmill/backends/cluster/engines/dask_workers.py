"""What a scheduler of Dask tells of its workers."""

from __future__ import annotations

from typing import Any

from ....errors import BackendError
from .protocol import RemoteWorker


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


def check_alone(client: Any, address: str, prefix: str, allowed: bool) -> None:
    """Raise `BackendError` unless a process of a borrowed cluster may be ended: it is allowed, and nobody else has
    anything there. ``prefix``: of the names of our packs.
    """
    if not allowed:
        raise BackendError(
            "this Dask cluster is not Cellmill's, and others may have work or data in the process. "
            "Executor(..., end_workers=True) allows to end it where they have none"
        )
    told = client.processing([address]), client.has_what([address])
    found = sum(not str(key).startswith(f"{prefix}-") for each in told for key in each.get(address, ()))
    if found:
        raise BackendError(f"others have work or data in the process: {found} tasks or results")
