"""Kernels that end without a word, as when they are killed: the scheduler of Dask has dropped their clients.

While packs come, their kernel is there, and nothing is asked. A client that has lost its way to the scheduler may come
back, so they have to be missing twice in a row.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import Any

from . import entry

LOOK_SECONDS = 10.0


def watch(clients: Sequence[str], token: bytes) -> None:
    """Have nothing of this caller remain on this worker once its clients of Dask are gone. In a task of Dask's. Of the
    first one the scheduler has the least to tell.
    """
    from distributed import get_worker

    worker = get_worker()
    worker.loop.add_callback(_begin, worker, clients, token)


def _begin(worker: Any, clients: Sequence[str], token: bytes) -> None:
    from tornado.ioloop import PeriodicCallback

    name = f"cellmill-caller-{token.hex()}"
    if name not in worker.periodic_callbacks:  # which end with the worker
        look = _Look(worker, clients, token, name)
        worker.periodic_callbacks[name] = called = PeriodicCallback(look, LOOK_SECONDS * 1000)
        called.start()


class _Look:
    """One worker's for one caller; called in the worker's loop now and then."""

    def __init__(self, worker: Any, clients: Sequence[str], token: bytes, name: str) -> None:
        self._worker = worker
        self._clients = clients
        self._token = token
        self._name = name
        self._packs: dict[int, int] = {}
        self._missing = False

    async def __call__(self) -> None:
        before, self._packs = self._packs, entry.latest_packs(self._token)
        if not self._packs:  # the caller has taken leave
            self._end()
        elif self._packs != before:
            self._missing = False
        else:
            with contextlib.suppress(Exception):  # a scheduler that is gone: the worker ends as well
                missed, self._missing = self._missing, not await self._there()
                if missed and self._missing and await asyncio.to_thread(entry.abandon, self._token):
                    self._end()

    async def _there(self) -> bool:
        """Whether the scheduler has one of the clients."""
        for client in self._clients:
            told = await self._worker.scheduler.events(topic=client)
            actions = [event.get("action") for _, event in told if isinstance(event, dict)]
            if actions and actions[-1] != "remove-client":
                return True
        return False

    def _end(self) -> None:
        called = self._worker.periodic_callbacks.pop(self._name, None)
        if called is not None:
            called.stop()
