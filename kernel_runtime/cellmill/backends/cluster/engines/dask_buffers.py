"""Large buffers on their way through Dask: as arrays where all ends have numpy.

Dask pickles what a task takes, in the client and again in the scheduler. The bytes of an array travel beside the pickle
and are not copied by it; those of `bytes` are, five times.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any

LARGE = 64 << 10  # bytes
_HAS_NUMPY = "__import__('importlib.util').util.find_spec('numpy') is not None"  # as text it loads everywhere


class Buffers:
    """For the workers that one client reaches; called from any thread."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._takes: dict[str, bool] = {}  # by address: whether arrays can go there

    def wrapped(self, address: str, data: list[Any]) -> list[Any]:
        """Return the buffers of a pack as they go to this worker."""
        if all(len(each) < LARGE for each in data):
            return data
        numpy: Any = sys.modules.get("numpy")
        takes = hasattr(numpy, "frombuffer") and self._takes.get(address)
        if takes is None:  # those that go before it is known go as bytes
            self._takes[address] = False
            threading.Thread(target=self._ask, args=(address,), name="cellmill-dask-ask", daemon=True).start()
        if not takes:
            return [bytes(each) for each in data]  # no copy of what is bytes
        return [each if len(each) < LARGE else numpy.frombuffer(each, numpy.uint8) for each in data]

    def _ask(self, address: str) -> None:
        with contextlib.suppress(Exception):  # one that is going, or a scheduler that runs no functions
            there = self._client.run(eval, _HAS_NUMPY, workers=[address])[address]
            self._takes[address] = bool(there and self._client.run_on_scheduler(eval, _HAS_NUMPY))
