"""How long is a round trip, while tasks flow and after idleness, and what does idleness cost?"""

from __future__ import annotations

import time

from . import bodies, machine, measure
from .harness import Benchmark, Metric
from .rivals import Runtime, running
from .turn import Sizes, Turn

_SETTLE_S = 0.2


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    idle = f"{sizes['idle_s']:g} s"
    return [
        Metric("flowing_p50", "round trip p50 while tasks flow", "us", "lower"),
        Metric("flowing_p99", "round trip p99 while tasks flow", "us", "lower"),
        Metric("after_idleness_p50", f"round trip p50 after {idle} of idleness", "us", "lower"),
        Metric("idle_cpu", "idle: processor time of all its processes", "% of a core", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure everything once with one runtime."""
    with running(runtime, workers) as pool:
        trips = measure.round_trips(pool, float(sizes["seconds"]), 200_000)
        rested = _after_idleness(pool, float(sizes["idle_s"]), int(sizes["idle_trips"]))
        time.sleep(min(_SETTLE_S, float(sizes["watch_s"])))
        cpu = idle_cpu(float(sizes["watch_s"]))
    values = {"flowing_p50": measure.p50(trips), "flowing_p99": measure.p99(trips)}
    values |= {"after_idleness_p50": measure.p50(rested), "idle_cpu": cpu}
    return Turn(values, {"round_trips": len(trips), "after_idleness_us": rested})


def _after_idleness(pool: Runtime, idle_s: float, count: int) -> list[float]:
    """Microseconds of single no-ops, each after a pause."""
    spent = []
    for _ in range(count):
        time.sleep(idle_s)
        seconds, _result = measure.timed(pool.round_trip, bodies.noop)
        spent.append(seconds * 1e6)
    return spent


def idle_cpu(seconds: float) -> float:
    """Processor time that this process and its descendants use while it sleeps, in percent of one core."""
    family = machine.family()
    before, start = machine.cpu_ns(family), time.monotonic_ns()
    time.sleep(seconds)
    used, passed = machine.cpu_ns(family) - before, time.monotonic_ns() - start
    return max(100.0 * used / passed, 0.0)


BENCHMARK = Benchmark(
    name="latency",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", "loky", "dask", "ray", "parsl"),
    full={"seconds": 1.0, "idle_s": 1.0, "idle_trips": 5, "watch_s": 2.0},
    quick={"seconds": 0.2, "idle_s": 0.5, "idle_trips": 2, "watch_s": 0.5},
    notes=("processor time is read from /proc/PID/task/*/schedstat of the kernel and all its descendants.",),
)
