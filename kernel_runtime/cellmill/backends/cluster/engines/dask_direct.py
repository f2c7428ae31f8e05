"""What is large comes straight from workers of Dask, where this process reaches these.

Dask's client fetches results through the scheduler, which reads and sends all their bytes: it need not reach workers
itself. Whether it does is asked once for each worker that has something large.
"""

from __future__ import annotations

import contextlib
import threading
from functools import partial
from typing import Any

LARGE = 256 << 10  # bytes of a reply
LOOK_SECONDS = 5.0  # for a worker to answer
PATIENCE_SECONDS = 1.0  # to hear that before the first value is fetched


class Direct:
    """For the workers that one client knows; called from any thread."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._reached: dict[str, bool] = {}  # by address
        self._never = client.direct_to_workers is False  # its owner says so

    def reaches(self, address: str) -> bool:
        """Whether replies of this worker come straight from it."""
        return self._reached.get(address, False)

    def result(self, future: Any, address: str, seconds: float) -> Any:
        """Return what a finished future has at this worker; raises `TimeoutError` after so many seconds."""
        direct = self.reaches(address) or None  # one that does not answer any more is asked by the scheduler
        fetch = partial(self._client.gather, future, direct=direct, asynchronous=True)
        return self._client.sync(fetch, callback_timeout=seconds)

    def value(self, name: str, address: str) -> Any:
        """Return what is under a name, on this worker when it was made; None where no worker has it."""
        from distributed.utils_comm import gather_from_workers

        asked, client = self.learn(address, LARGE), self._client
        if asked is not None:
            asked.join(PATIENCE_SECONDS)
        if self.reaches(address):
            data, *_ = client.sync(gather_from_workers, {name: [address]}, rpc=client.rpc)
            if name in data:
                return data[name]
        found = client.sync(client.scheduler.gather, keys=[name])
        return found["data"][name] if found["status"] == "OK" else None

    def learn(self, address: str, size: int) -> threading.Thread | None:
        """Hear that something at this worker has so many bytes; return the thread that asks it."""
        if size < LARGE or self._never or address in self._reached:
            return None
        self._reached[address] = False  # until it has answered
        asking = threading.Thread(target=self._look, args=(address,), name="cellmill-dask-ask", daemon=True)
        asking.start()
        return asking

    def _look(self, address: str) -> None:
        with contextlib.suppress(Exception):  # out of reach, or going
            found = self._client.sync(self._client.rpc(address).identity, callback_timeout=LOOK_SECONDS)
            self._reached[address] = found["type"] == "Worker"
