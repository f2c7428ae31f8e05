"""Reads what workers of Dask use from their heartbeats, which the scheduler knows."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

from ..remote import heartbeat
from .protocol import Heard

ASK_SECONDS = 30.0  # for a worker that is busy to hear that it is to tell, before it is asked again


class Heartbeats:
    """Of the workers that one client reaches. One thread at a time calls `ask`, one `read`."""

    def __init__(self) -> None:
        self._asked: dict[str, float] = {}  # by address: when the worker is asked again, in monotonic seconds
        self._seen: dict[str, float] = {}  # by address: moment of the last answer, by the worker's clock
        self._name = ""
        self._heard: Heard | None = None

    def ask(self, client: Any, addresses: Iterable[str], message: bytes, heard: Heard) -> None:
        """Have these workers answer with their heartbeats from now on. Returns at once."""
        self._heard, self._name = heard, heartbeat.name_of(message)
        now = time.monotonic()
        for address in addresses:
            if now >= self._asked.get(address, 0.0):
                self._asked[address] = now + ASK_SECONDS
                client.loop.add_callback(self._install, client, address, message)

    def end(self) -> None:
        """Ask no more. An answer that a worker still owes is not waited for by what ``heard`` belongs to."""
        self._heard = None

    async def _install(self, client: Any, address: str, message: bytes) -> None:
        with contextlib.suppress(Exception):  # one that is going, or too busy to hear
            asked = client.run(heartbeat.install, message, workers=[address])
            await asyncio.wait_for(asked, ASK_SECONDS)
            self._asked[address] = time.monotonic() + heartbeat.LEASE_SECONDS / 2

    def read(self, workers: Mapping[str, Any], keys: Mapping[str, Sequence[Hashable]]) -> None:
        """Pass on what is new. By address: ``workers``, what the scheduler tells of each; ``keys``, those of lanes."""
        for address in list(self._asked):
            if address not in workers:
                self._asked.pop(address, None)
                self._seen.pop(address, None)
        if self._heard is None:
            return
        for address, there in keys.items():
            told = workers[address].get("metrics", {}).get(self._name) if address in workers else None
            answer = heartbeat.read(told)
            if answer is not None and answer.at != self._seen.get(address):
                self._seen[address] = answer.at
                self._heard(there, answer)
