"""What a future of Dask stands for, where a task that has it as an argument begins."""

from __future__ import annotations

import threading
import time
from typing import Any

from ....errors import DependencyError, in_words

SOON_SECONDS = (
    0.2  # in which what is ready comes; a wait that takes longer gives its place on the worker to others
)
LOOK_SECONDS = 0.1  # between chances for an interrupt
ASK_SECONDS = 1.0  # between looks whether the scheduler still has it
MOST_UNKNOWN = 5  # of those looks in a row that find nothing: what was just submitted comes by another way


def dask_future(key: Any) -> Any:
    """Return the result behind this key of Dask's, from here or from the worker that has it; wait until there is one.

    Raises:
        DependencyError: there will be none.
    """
    from distributed import Future, get_client, get_worker, worker_client

    data = get_worker().data
    if key in data:
        return data[key]
    client = get_client()
    future = Future(key, client)
    over = threading.Event()
    future.add_done_callback(lambda _: over.set())
    _want(client, key)
    if not over.wait(SOON_SECONDS):
        with worker_client():  # Dask's own tasks, which this one waits for, may need the thread
            _wait(client, key, over)
    try:
        return future.result()
    except Exception as error:
        raise _failed(key, f"failed with {in_words(error)}") from error


def _want(client: Any, key: Any) -> None:
    """Have the scheduler keep the result for this client and tell it of its end; a `Future` alone does not ask."""
    client._send_to_scheduler({"op": "client-desires-keys", "keys": [key], "client": client.id})


def _wait(client: Any, key: Any, over: threading.Event) -> None:
    asked, unknown = time.monotonic(), 0
    while not over.wait(LOOK_SECONDS):
        if time.monotonic() - asked < ASK_SECONDS:
            continue
        asked = time.monotonic()
        known = client.sync(client.scheduler.get_task_status, keys=[key]).get(key) not in (
            None,
            "released",
            "forgotten",
        )
        unknown = 0 if known else unknown + 1
        if unknown > MOST_UNKNOWN:
            raise _failed(key, "is not there: it was cancelled, or released by all that had it")
        _want(client, key)


def _failed(key: Any, how: str) -> DependencyError:
    return DependencyError(f"the task did not run: its input, Dask's {key}, {how}")
