"""The kernel's end of results that stay on Dask workers (see `remote.dask_values`)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ....errors import BackendError
from ..remote.dask_values import PREFIX, DaskKey, DaskValues, fetched
from .dask_direct import Direct

PATIENCE_SECONDS = 10.0  # to hear which values there are


class HeldByDask:
    """A connector: what workers have put is read and released."""

    elsewhere = DaskValues

    def __init__(self, client: Callable[[], Any], direct: Callable[[], Direct]) -> None:
        """``client``: returns Dask's, once the cluster is reached; ``direct``: what fetches values then."""
        self._client = client
        self._direct = direct
        self._name = os.urandom(8).hex()  # other executors of this client have sources of their own

    def config(self) -> dict[str, Any]:
        """Return what a remote worker has to know."""
        return {"client": self._client().id, "name": self._name}

    def get(self, key: DaskKey) -> Any:
        """Fetch a value; None where no worker has it."""
        client = self._client()
        if client.status != "running":
            raise BackendError(f"the client of this Dask cluster is {client.status}")
        return fetched(self._direct().value(key.name, key.worker), key.worker)

    def evict(self, key: DaskKey) -> None:
        self._release([key.name])

    def sweep(self, prefix: str) -> None:
        """Release what never came here: its reply was dropped, or its worker died."""
        client = self._client()
        known = client.sync(client.scheduler.who_has, callback_timeout=PATIENCE_SECONDS)
        self._release([name for name in known if str(name).startswith(f"{PREFIX}-{prefix}")])

    def _release(self, names: list[str]) -> None:
        client = self._client()
        message = {"op": "client-releases-keys", "keys": names, "client": client.id}
        if names:
            client._send_to_scheduler(message)
