"""How much memory of the kernel does a task take while it waits, and does any of it stay?

Workload: figure 9 of the Parsl paper: many no-ops submitted, none of them begun; and no-ops with the collector of
cycles on and off. Round after round of tasks shows whether memory ends where it began.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

from . import bodies, machine, measure
from .gate import Gate
from .harness import OURS, Benchmark, Metric
from .rivals import Runtime, running
from .turn import Sizes, Turn

SOAK = "soak"
_OVER = "% over the earlier half"


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    rounds, tasks = int(sizes["soak_rounds"]), int(sizes["soak_tasks"])
    return [
        Metric(
            "bytes", "memory of the kernel process per outstanding no-op, future included", "bytes", "lower"
        ),
        Metric("objects", "Python objects the collector tracks per outstanding no-op", "objects", "lower"),
        Metric("gc", "no-op submit with the collector on", "of that with it off"),
        Metric("grown", f"highest in the later half of {rounds} rounds of {tasks:,} tasks", _OVER, "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure one runtime: hold the workers, submit, measure, release them. The soak is a contender of its own."""
    tasks, seconds = int(sizes["tasks"]), float(sizes["seconds"])
    if runtime == SOAK:
        return _soak(workers, int(sizes["soak_rounds"]), int(sizes["soak_tasks"]))
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
        gains = [_with_collector(pool, float(sizes["gc_seconds"]), tasks) for _ in range(3)]
    values = {"bytes": max(memory, 0) / count, "objects": max(objects, 0) / count, "gc": measure.p50(gains)}
    return Turn(values, {"tasks": count, "gc": gains})


def _with_collector(pool: Runtime, seconds: float, most: int) -> float:
    """The rate of no-ops with the collector of cycles on, over that with it off."""
    on, count = measure.submit_rate(pool, seconds, most)
    gc.disable()
    try:
        off, _count = measure.submit_rate(pool, seconds, count)
    finally:
        gc.enable()
    return on / off


def _soak(workers: int, rounds: int, tasks: int) -> Turn:
    """Submit, gather and drop, again and again; resident memory after each round."""
    resident = []
    with running(OURS, workers) as pool:
        for _ in range(rounds):
            assert pool.submit_all(bodies.noop, [()] * tasks) == [None] * tasks
            pool.handles = []
            gc.collect()
            machine.trim()
            resident.append(machine.resident())
    half = rounds // 2  # what the allocator keeps goes up and down; what is never given back only up
    return Turn(
        {"grown": max(max(resident[half:]) / max(resident[:half]) - 1, 0) * 100}, {"resident": resident}
    )


@contextmanager
def _workers_held(pool: Runtime, workers: int) -> Iterator[None]:
    """Meanwhile every worker is in a task that waits."""
    with Gate() as gate:
        holders = [pool.submit(bodies.hold, gate.path) for _ in range(workers)]
        try:
            gate.wait(workers)
            yield
        finally:
            gate.open(workers)
            pool.gather(holders)


BENCHMARK = Benchmark(
    name="memory",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", SOAK, "ppe", "pool", "loky", "dask", "ray", "parsl"),
    full={
        "tasks": 100_000,
        "seconds": 20.0,
        "gc_seconds": 0.5,
        "soak_rounds": 10,
        "soak_tasks": 1_000_000,
    },
    quick={"tasks": 10_000, "seconds": 2.0, "gc_seconds": 0.1, "soak_rounds": 4, "soak_tasks": 20_000},
    own={SOAK: "cellmill, round after round"},
    notes=(
        (
            "resident memory of the submitting process after minus before, over the tasks submitted meanwhile (in at "
            "most 20 s: slow rivals submit fewer; the count is in the JSON)."
        ),
        (
            "rounds: submit, gather all, drop all; resident memory after each round, when malloc has given its free "
            "pages back (malloc_trim), is in the JSON."
        ),
        "the C record of a task is at most 128 bytes: csched does not compile otherwise.",
    ),
)
