"""Shows the workers of a borrowed Dask cluster that this kernel is there: by a client of Dask that sends nothing.

What a scheduler notes about a client, also that it has gone, is there under the client's name. About one that submits
packs it notes a thousand things more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ..remote.dask_callers import watch
from .dask_quiet import leave

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0


class Presence:
    """Beside the client that packs go through."""

    def __init__(self, client: Any) -> None:
        from distributed import Client

        self._packs = client.id
        self._client: Any = None
        with contextlib.suppress(Exception):  # without it the other one is asked for
            self._client = Client(
                client.scheduler.address,
                security=client.security,
                set_as_default=False,
                timeout=CONNECT_SECONDS,
                name="cellmill-present",
            )

    def watch(self) -> Callable[[bytes], None]:
        """See `Engine.watch`."""
        client = self._client
        return partial(watch, [self._packs] if client is None else [client.id, self._packs])

    def close(self) -> None:
        """Once no lane is left, or the scheduler is lost."""
        client, self._client = self._client, None
        if client is not None:
            leave(client, CLOSE_SECONDS)
