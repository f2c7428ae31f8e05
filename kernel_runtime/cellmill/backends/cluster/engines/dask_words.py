"""Words to workers of Dask beside the packs (see `remote.entry.hear`)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

from ....errors import BackendError
from ..remote import entry
from .dask_workers import LEFT

LOOK_SECONDS = 0.2


class Words:
    """Of one client; called from any thread but that of its loop. ``there``: tells whether a worker still is."""

    def __init__(self, client: Any, there: Callable[[str], bool]) -> None:
        self._client = client
        self._there = there

    def tell(self, address: str, message: bytes) -> None:
        """Say it, and wait for nothing."""
        threading.Thread(
            target=self._tell, args=(address, message), name="cellmill-dask-tell", daemon=True
        ).start()

    def _tell(self, address: str, message: bytes) -> None:
        with contextlib.suppress(Exception):  # a worker that is going, or too busy to hear
            self.ask(address, message)

    def ask(self, address: str, message: bytes) -> Any:
        """Return the answer.

        Raises:
            BackendError: the worker has gone meanwhile. Dask's scheduler tries for half a minute to reach it.
        """
        asked = asyncio.run_coroutine_threadsafe(self._ask(address, message), self._client.loop.asyncio_loop)
        while not wait([asked], LOOK_SECONDS).done:
            if not self._there(address):
                asked.cancel()
                raise BackendError(LEFT)
        return asked.result()[address]

    async def _ask(self, address: str, message: bytes) -> Any:
        return await self._client.run(entry.hear, message, workers=[address])
