"""What does it cost to sample what workers execute?

The same work with the profile on and off, in turns: a flood of no-ops, whose workers are looked at while they turn over
tasks, and tasks that compute in Python. What is compared is the processor time of kernel and workers together, which
other programs of the machine disturb least. The spread of the pairs without a profile on either side says what a
difference is worth.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import cellmill
from cellmill.bench import bodies, measure
from cellmill.bench.harness import OURS, Benchmark, Metric
from cellmill.bench.rivals import Runtime, running
from cellmill.bench.turn import Sizes, Turn

_LOADS = {"flood": "no-ops", "computing": "tasks that compute in Python"}


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = []
    for load, title in _LOADS.items():
        found.append(
            Metric(
                f"{load}_cost", f"{title}: processor time lost while they are sampled, median", "%", "lower"
            )
        )
        found.append(Metric(f"{load}_noise", f"{title}: the same of pairs without a profile", "%", "lower"))
    return found


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Both loads."""
    values, details = {}, {}
    with running(OURS, workers) as pool:
        loads: dict[str, Callable[[], object]] = {
            "flood": lambda: pool.submit_all(bodies.noop, [()] * int(sizes["tasks"])),
            "computing": lambda: pool.submit_all(
                bodies.busy, [(int(sizes["iterations"]),)] * int(sizes["long_tasks"])
            ),
        }
        for load, run in loads.items():
            run()
            for kind, on in (("noise", False), ("cost", True)):
                lost = [_lost(pool, run, on, pair) for pair in range(int(sizes["pairs"]))]
                values[f"{load}_{kind}"] = measure.p50(lost)
                details[f"{load}_{kind}"] = lost
    return Turn(values, details)


def _lost(pool: Runtime, run: Callable[[], object], on: bool, pair: int) -> float:
    """What one pair loses, in percent of the processor time; which one is first changes from pair to pair."""
    profiler = cellmill.profile(pool.pool)  # type: ignore[attr-defined]
    seconds = {}
    for sampled in (False, True) if pair % 2 else (True, False):
        if on and sampled:
            profiler.start()
        before = _processor_seconds(pool)
        run()
        seconds[sampled] = _processor_seconds(pool) - before
        if on and sampled:
            profiler.stop()
    return 100 * (1 - seconds[False] / seconds[True])


def _processor_seconds(pool: Runtime) -> float:
    """Of the kernel and its workers so far."""
    workers = pool.pool._backend.pool.processor_seconds()  # type: ignore[attr-defined]
    return time.process_time() + float(sum(workers.values()))


BENCHMARK = Benchmark(
    name="profile",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill",),
    full={"tasks": 400_000, "iterations": 200_000, "long_tasks": 200, "pairs": 15},
    quick={"tasks": 20_000, "iterations": 50_000, "long_tasks": 20, "pairs": 2},
    notes=(
        "processor times of one and the same load vary by some percent on a shared machine: see the pairs.",
    ),
)
