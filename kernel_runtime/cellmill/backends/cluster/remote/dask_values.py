"""Results that stay on the Dask worker that made them: keys of Dask's own, which its scheduler knows and moves.

Other workers get plain bytes of what is kept, or a list of bytes and of arrays of numpy: any may be given them, to
hold or to pass on, also one that lacks Cellmill. The kernel's client is who wants them: Dask forgets them when that
releases them, and when it has gone.
"""

from __future__ import annotations

import uuid
from typing import Any, NamedTuple, Self

from ....errors import WorkerLostError
from ....serialization.payload import Encoded
from ....task import size_text
from ..values.stores import kept, received

PREFIX = "cellmill-value"
TRIES = 3  # to find a value that moves from worker to worker


class DaskKey(NamedTuple):
    """Names a value. ``task``: that made it; ``worker``: where; ``threads``: of that worker, which all have it."""

    name: str
    worker: str
    task: str
    threads: int

    def to_fetch(self, size: int) -> int:
        """Return how many bytes of such a value a thread has to fetch that did not make it, where none of the others
        has it: tasks would wait for one of several that do.
        """
        return size if self.threads == 1 else 0

    def lost(self, size: int) -> WorkerLostError:
        """Return the error of one who asks for the value in vain."""
        return WorkerLostError(
            f"the value of {self.task}, {size_text(size)}, is lost: it was on the worker {self.worker}, and none "
            "has it any more. Make that call again; with proxies=False such values come to the kernel at once.",
            function=self.task.partition(" ")[0],
        )


class DaskValues:
    """A remote worker's end. ``client``: the kernel's, by its name in Dask; ``name``: of the kernel's end."""

    def __init__(self, client: str, name: str) -> None:
        self._client = client
        self.name = name
        self._left = False

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Make it from what the kernel's end tells."""
        return cls(**config)

    def hold(self, encoded: Encoded, token: bytes, task: str) -> DaskKey | None:
        """Keep a value on this worker; None where no kernel is left that would release it."""
        from distributed import get_worker
        from distributed.utils import sync
        from distributed.worker import thread_state

        worker = get_worker()
        name = f"{PREFIX}-{token.hex()}-{uuid.uuid4().hex}"
        data = {name: kept(encoded)}
        held = worker, thread_state.key, data, encoded.size, self._client
        if self._left or not sync(worker.loop, _hold, *held):
            return None
        return DaskKey(name, worker.address, task, worker.state.nthreads)

    def leave(self) -> None:
        """The kernel has gone: what comes now is not kept."""
        self._left = True

    def get(self, key: DaskKey) -> Any:
        """Return the value, from here or from the worker that has it; None where none has."""
        from distributed import get_worker
        from distributed.utils import sync

        worker = get_worker()
        found = worker.data.get(key.name)
        if found is not None:
            return received(found, alone=False)
        return fetched(*sync(worker.loop, _fetch, worker, key.name))


async def _hold(worker: Any, pack: Any, data: dict[str, Any], size: int, client: str) -> bool:
    """Put it under its name, while the pack that it is a result of is wanted: with its client the scheduler would hear
    of one that it does not know, and keep the value for good.
    """
    running = worker.state.tasks.get(pack)
    if running is None or running.state not in ("executing", "long-running"):
        return False
    worker.update_data(data=data)
    (name,) = data
    await worker.scheduler.update_data(who_has={name: [worker.address]}, nbytes={name: size}, client=client)
    return True


def fetched(found: Any, address: str) -> Any:
    """Return what came from this worker as a connector does."""
    # within a process nothing is copied on the way: it has it, too
    return received(found, alone=not address.startswith("inproc:"))


async def _fetch(worker: Any, name: str) -> tuple[Any, str]:
    """Return what is under a name, None where no worker has it, and one that has."""
    from distributed.utils_comm import gather_from_workers

    for _ in range(TRIES):
        holders = (await worker.scheduler.who_has(keys=[name])).get(name)
        if not holders:
            break
        found, *_ = await gather_from_workers({name: holders}, rpc=worker.rpc)
        if name in found:
            return found[name], holders[0]
    return None, ""
