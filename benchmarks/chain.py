"""How long does a chain of dependent no-ops take, also while the kernel's own thread computes?

Dependents are released and sent by C, without the interpreter: a chain runs on while Python code holds the GIL. A
runtime whose scheduler is a Python thread of the same process has to wait for its turn at each link.
"""

from __future__ import annotations

import time

from cellmill.bench import bodies, measure
from cellmill.bench.gate import Gate
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.rivals import Runtime, running
from cellmill.bench.turn import Sizes, Turn


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    title = f"chain of {int(sizes['links']):,} no-ops"
    return [
        Metric("idle", f"{title}, the kernel waits", "ms", "lower"),
        Metric("computing", f"{title}, the main thread computes in Python", "ms", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime, both ways, the median of some."""
    links, most_s = int(sizes["links"]), float(sizes["computing_seconds"])
    times: dict[str, list[float]] = {"idle": [], "computing": []}
    with running(runtime, workers) as pool:
        for _ in range(int(sizes["chains"])):
            times["idle"].append(_chain(pool, links, 0.0))
            times["computing"].append(_chain(pool, links, most_s))
    return Turn({way: measure.p50(found) for way, found in times.items()}, {"ms": times})


def _chain(pool: Runtime, links: int, computing_s: float) -> float:
    """Milliseconds from the moment the first task may go on to the moment the last one runs, by the worker's clock."""
    with Gate() as gate:
        link = pool.submit(bodies.hold, gate.path)
        for _ in range(links):
            link = pool.submit(bodies.noop_of, link)
        last = pool.submit(bodies.clock_after, link)
        gate.wait(1)
        gate.open(1)
        start = time.monotonic_ns()
        while time.monotonic_ns() < start + computing_s * 1e9:
            bodies.busy(1000)
        return (int(pool.take(last)) - start) / 1e6


BENCHMARK = Benchmark(
    name="chain",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "dask", "ray", "parsl"),
    full={"links": 1000, "computing_seconds": 0.5, "chains": 3},
    quick={"links": 100, "computing_seconds": 0.2, "chains": 1},
    notes=(
        (
            "everything is submitted while the first task is held back; the last task reads the clock, so that it "
            "does not matter when the kernel looks."
        ),
        "executors without dependencies (ProcessPoolExecutor, multiprocessing.Pool, joblib) cannot take part.",
    ),
)
