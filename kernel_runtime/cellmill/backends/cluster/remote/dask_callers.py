"""Kernels that end without a word, as when they are killed: the scheduler of Dask has dropped their client.

While packs come, their kernel is there, and nothing is asked. A client that has lost its way to the scheduler may come
back, so it has to be missing twice in a row.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from . import entry

LOOK_SECONDS = 10.0
_ACTIONS = ("add-client", "remove-client")  # what a scheduler notes about a client, under its name


def watch(client: str, token: bytes) -> None:
    """Have nothing of this caller remain on this worker once its client of Dask is gone. In a task of Dask's."""
    from distributed import get_worker

    worker = get_worker()
    worker.loop.add_callback(_begin, worker, client, token)


def _begin(worker: Any, client: str, token: bytes) -> None:
    from tornado.ioloop import PeriodicCallback

    name = f"cellmill-caller-{token.hex()}"
    if name not in worker.periodic_callbacks:  # which end with the worker
        look = _Look(worker, client, token, name)
        worker.periodic_callbacks[name] = called = PeriodicCallback(look, LOOK_SECONDS * 1000)
        called.start()


class _Look:
    """One worker's for one caller; called in the worker's loop now and then."""

    def __init__(self, worker: Any, client: str, token: bytes, name: str) -> None:
        self._worker = worker
        self._client = client
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
            with contextlib.suppress(OSError):  # a scheduler that is gone: the worker ends as well
                missed, self._missing = self._missing, not await self._there()
                if missed and self._missing and await asyncio.to_thread(entry.abandon, self._token):
                    self._end()

    async def _there(self) -> bool:
        """Whether the scheduler has the client, as far as it remembers."""
        told = await self._worker.scheduler.events(topic=self._client)
        actions = [event.get("action") for _, event in told if isinstance(event, dict)]
        known = [action for action in actions if action in _ACTIONS]
        return bool(known) and known[-1] == _ACTIONS[0]

    def _end(self) -> None:
        called = self._worker.periodic_callbacks.pop(self._name, None)
        if called is not None:
            called.stop()
