"""How much memory of the kernel does a task take while it waits?

Workload: figure 9 of the Parsl paper: many no-ops submitted, none of them begun.
"""

from __future__ import annotations

import gc
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import bodies, machine
from .harness import Benchmark, Metric, Sizes, Turn
from .rivals import Runtime, running


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric(
            "bytes", "memory of the kernel process per outstanding no-op, future included", "bytes", "lower"
        ),
        Metric("objects", "Python objects the collector tracks per outstanding no-op", "objects", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime: hold the workers, submit, look, let go."""
    tasks, seconds = int(sizes["tasks"]), float(sizes["seconds"])
    with running(runtime, workers) as pool:
        with _workers_held(pool, workers):
            handles: list[object] = []
            gc.collect()
            objects, memory = len(gc.get_objects()), machine.resident()
            submit, end = pool.submit, time.monotonic() + seconds
            while len(handles) < tasks and time.monotonic() < end:
                handles.extend([submit(bodies.noop) for _ in range(min(500, tasks - len(handles)))])
            gc.collect()
            memory, objects = machine.resident() - memory, len(gc.get_objects()) - objects
        assert pool.gather(handles) == [None] * len(handles)
        count = len(handles)
        del handles
    return Turn({"bytes": max(memory, 0) / count, "objects": max(objects, 0) / count}, {"tasks": count})


@contextmanager
def _workers_held(pool: Runtime, workers: int) -> Iterator[None]:
    """Meanwhile every worker is in a task that waits."""
    with tempfile.TemporaryDirectory(prefix="cellmill-hold-") as folder:
        gate, started = Path(folder, "gate"), Path(folder, "gate.started")
        for path in (gate, started):
            os.mkfifo(path)
        ends = [os.open(path, os.O_RDWR) for path in (gate, started)]
        holders = [pool.submit(bodies.hold, str(gate)) for _ in range(workers)]
        try:
            for _ in range(workers):
                os.read(ends[1], 1)
            yield
        finally:
            os.write(ends[0], b"x" * workers)
            pool.gather(holders)
            for end in ends:
                os.close(end)


BENCHMARK = Benchmark(
    name="memory",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", "loky", "dask", "ray", "parsl"),
    full={"tasks": 100_000, "seconds": 20.0},
    quick={"tasks": 10_000, "seconds": 2.0},
    notes=(
        (
            "resident memory of the submitting process after minus before, over the tasks submitted meanwhile (in at "
            "most 20 s: slow rivals submit fewer; the count is in the JSON)."
        ),
    ),
)
