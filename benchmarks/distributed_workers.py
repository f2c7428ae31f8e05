"""Many workers of `distributed` in few processes: ordinary ones, or such as say at once that a task is done.

``python -m benchmarks.distributed_workers ADDRESS KIND FIRST COUNT`` runs COUNT workers, numbered from FIRST, until its
input ends. An answering worker is what the RSDS paper calls a zero worker: what remains is the scheduler's.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

Kind = Literal["ordinary", "answering"]
PER_PROCESS = 32
READY_S = 240.0
CHECKOUT = Path(__file__).resolve().parents[1]
OUTPUT_BYTES = 20  # that an answering worker tells of each result


@contextlib.contextmanager
def client_of(count: int, kind: Kind) -> Iterator[Any]:
    """A client of a local cluster with so many workers of one thread each; raises `RuntimeError` when they do not come.

    The scheduler is in this process, as `distributed` has it for a local cluster.
    """
    distributed = importlib.import_module("distributed")
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        contextlib.ExitStack() as processes,
    ):
        for first in range(0, count, PER_PROCESS):
            numbers = (str(first), str(min(PER_PROCESS, count - first)))
            command = [sys.executable, "-m", __name__, cluster.scheduler_address, kind, *numbers]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=CHECKOUT
            )
            processes.enter_context(process)  # its input ends, and it is waited for
        try:
            client.wait_for_workers(count, timeout=READY_S)
        except TimeoutError:
            raise RuntimeError(
                f"{count} workers of distributed do not start within {READY_S:.0f} s"
            ) from None
        yield client


def settle(client: Any) -> None:
    """Wait until nothing is left of the last graph: `distributed` takes values that it still has."""
    while client.run_on_scheduler(_known):
        time.sleep(0.01)


def _known(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


async def _serve(address: str, kind: str, first: int, count: int) -> None:
    distributed = importlib.import_module("distributed")
    workers = [
        distributed.Worker(
            address, nthreads=1, name=f"worker-{number}", data=dict, memory_limit=0, dashboard=False
        )
        for number in range(first, first + count)
    ]
    for worker in workers:
        if kind == "answering":
            _let_answer(worker)
        await worker
    await asyncio.to_thread(sys.stdin.read)
    await asyncio.gather(*(worker.close(nanny=False) for worker in workers))


def _let_answer(worker: Any) -> None:
    """Let a worker answer the scheduler at once, and refuse to give tasks away: all are done when it is asked."""
    type_name = pickle.dumps(type(None))
    size = SimpleNamespace(nbytes=OUTPUT_BYTES)  # all that a worker looks up of a result that it is asked for

    def compute(key: Any, run_id: int, **_: Any) -> None:
        now = time.time()
        worker.data[key] = None
        worker.state.tasks[key] = size
        worker.batched_stream.send(
            {
                "op": "task-finished",
                "status": "OK",
                "key": key,
                "run_id": run_id,
                "nbytes": OUTPUT_BYTES,
                "type": type_name,
                "typename": "NoneType",
                "metadata": {},
                "thread": 0,
                "startstops": [{"action": "compute", "start": now, "stop": now + 1e-5}],
                "stimulus_id": "answered",
            }
        )

    def forget(keys: Any, **_: Any) -> None:
        for key in keys:
            worker.data.pop(key, None)
            worker.state.tasks.pop(key, None)

    def keep(key: Any, stimulus_id: str, **_: Any) -> None:
        worker.batched_stream.send(
            {"op": "steal-response", "key": key, "state": "memory", "stimulus_id": stimulus_id}
        )

    worker.stream_handlers.update(
        {"compute-task": compute, "free-keys": forget, "remove-replicas": forget, "steal-request": keep}
    )


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
