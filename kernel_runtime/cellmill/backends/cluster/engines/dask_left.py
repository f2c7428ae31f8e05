"""Blocks of bytes that are left on a cluster of Dask: scattered to its workers, and published by their names.

Dask keeps what is published until it is unpublished. So that nothing stays for ever, its scheduler is given the task of
removing a block when its time is over: as text, since Cellmill need not be there.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterator
from typing import Any

from ....errors import BackendError
from ..left.keeping import Block
from .dask_options import check_security, imported, unreached
from .dask_quiet import leave

PREFIX = "cellmill-left:"
READ_SECONDS = 30.0
CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 10.0
_FORGET = """
import asyncio
from dask.utils import stringify
from distributed.scheduler import Scheduler

def forget(scheduler):
    found = scheduler.extensions["publish"].datasets.pop(name, None)
    if found is not None:
        scheduler.client_releases_keys(found["keys"], "published-" + stringify(name))

for scheduler in list(Scheduler._instances):
    if name in scheduler.extensions["publish"].datasets:
        scheduler.loop.call_later(seconds, forget, scheduler)
        break
else:
    raise RuntimeError("it is not there")
"""
_CLIENTS = "[str(c) for s in list(__import__('distributed').Scheduler._instances) for c in s.clients]"


class DaskStore:
    """See `left.keeping.Store`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.session = str(client.id)

    def put(self, block: Block, data: bytes, seconds: float) -> None:
        name = PREFIX + json.dumps(block)
        (future,) = self._client.scatter([data], hash=False)
        self._client.publish_dataset(future, name=name)
        try:
            self._client.run_on_scheduler(exec, _FORGET, {"name": name, "seconds": seconds})
        except Exception:
            self._client.unpublish_dataset(name)
            raise

    def blocks(self) -> list[Block]:
        names = [name for name in self._client.list_datasets() if str(name).startswith(PREFIX)]
        return [Block(*json.loads(name.removeprefix(PREFIX))) for name in names]

    def get(self, block: Block) -> bytes | None:
        with contextlib.suppress(Exception):  # it is over, or went with its worker just now
            future = self._client.get_dataset(PREFIX + json.dumps(block))
            if any(self._client.who_has([future]).values()):
                data: bytes = future.result(timeout=READ_SECONDS)
                return data
        return None

    def drop(self, blocks: Collection[Block]) -> None:
        for block in blocks:
            with contextlib.suppress(Exception):  # its time is over
                self._client.unpublish_dataset(PREFIX + json.dumps(block))

    def alive(self) -> set[str]:
        return set(self._client.run_on_scheduler(eval, _CLIENTS))


@contextlib.contextmanager
def opened(target: Any, security: Any = None) -> Iterator[DaskStore]:
    """What is left on the cluster at an address, or of a `Client` or a cluster object.

    Raises:
        BackendError: it cannot be reached.
    """
    distributed = imported()
    check_security(security, target)
    if isinstance(target, distributed.Client):
        yield DaskStore(target)
        return
    how = {} if security is None else {"security": security}
    try:
        client = distributed.Client(target, set_as_default=False, timeout=CONNECT_SECONDS, **how)
    except Exception as error:
        raise BackendError(unreached(target, error, secured=bool(how))) from error
    try:
        yield DaskStore(client)
    finally:
        leave(client, CLOSE_SECONDS)
