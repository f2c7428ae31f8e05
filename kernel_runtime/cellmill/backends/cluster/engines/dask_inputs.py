"""Futures and collections of Dask among the arguments of tasks on the same cluster."""

from __future__ import annotations

from typing import Any

from ....serialization.foreign import is_of_ray
from ....serialization.shared import ShareError
from ..remote.dask_input import dask_future
from .protocol import Reference


def refer(client: Any, where: str, thing: Any) -> Reference | None:
    """See `Engine.refer`. A collection begins to be computed; its future is held, as one that is given is."""
    from distributed import Future

    if is_of_ray(thing):
        return None
    if not isinstance(thing, Future):
        thing = client.compute(thing)
    elif _scheduler(thing.client) != _scheduler(client):
        raise ShareError(
            f"an argument is a future of the Dask scheduler at {_address(thing.client)}, and these tasks run on "
            f"{where}. Pass its result(), or have the task run where the future is."
        )
    return (dask_future, (thing.key,)), thing


def _scheduler(client: Any) -> Any:
    """Return what names the scheduler of a client, whatever way the client takes to it."""
    return (getattr(client, "_scheduler_identity", None) or {}).get("id") or _address(client)


def _address(client: Any) -> str:
    return str(getattr(client.scheduler, "address", "?"))
