"""How much of the processors' time is left to tasks of 10 us to 10 ms, and how short may tasks be?

Workload: figure 10 of the Parsl paper, with bodies of a fixed amount of work. Efficiency is the throughput divided
by that of as many bare processes looping over the same work, measured right before and after, in the same turn. How
short tasks may be: see `metg`.
"""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from . import bodies, measure, metg
from .harness import Benchmark, Metric, Settings
from .rivals import Runtime, running
from .turn import Sizes, Turn


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = []
    for us in sizes["durations_us"]:
        named = f"{us} us" if us < 1000 else f"{us / 1000:g} ms"
        found.append(Metric(f"submit_{us}us", f"{named} tasks, submit", "of bare processes"))
        found.append(Metric(f"map_{us}us", f"{named} tasks, map", "of bare processes"))
    titles = {"submit": "METG(50 %), submit", "map": "METG(50 %), map, per element"}
    found += [Metric(f"metg_{way}", titles[way], "us", "lower") for way in sizes["sweep"]]
    return found


def prepare(settings: Settings, sizes: dict[str, Any], folder: Path) -> None:
    """Measure how many rounds of the counted loop take a microsecond, once, so that all runtimes do the same work."""
    rounds = 200_000
    fastest = min(measure.timed(bodies.busy, rounds)[0] for _ in range(20))
    sizes["rounds_per_us"] = rounds / (fastest * 1e6)


class Bare:
    """Processes that loop over the work, with nothing between one task and the next."""

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("fork")
        self._ends: list[Connection] = []
        self._processes = []
        for _ in range(workers):
            ours, theirs = context.Pipe()
            process = context.Process(target=_loop, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._ends.append(ours)
            self._processes.append(process)

    def rate(self, rounds: int, tasks: int) -> float:
        """Tasks per second of all processes together, each doing its share of ``tasks``."""
        each = -(-tasks // len(self._ends))
        start = time.perf_counter_ns()
        for end in self._ends:
            end.send((rounds, each))
        for end in self._ends:
            end.recv()
        return each * len(self._ends) * 1e9 / (time.perf_counter_ns() - start)

    def stop(self) -> None:
        """End the processes."""
        for end in self._ends:
            end.send(None)
        for process in self._processes:
            process.join()


def _loop(end: Connection) -> None:
    busy = bodies.busy
    while (order := end.recv()) is not None:
        rounds, tasks = order
        for _ in range(tasks):
            busy(rounds)
        end.send(tasks)


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure every duration with one runtime."""
    values: dict[str, float] = {}
    details: dict[str, Any] = {}
    bare = Bare(workers)  # forked before the runtime has threads
    try:
        with running(runtime, workers) as pool:
            pool.submit_all(bodies.busy, [(1,)] * 10 * workers)
            for us in sizes["durations_us"]:
                rounds = max(1, round(us * sizes["rounds_per_us"]))
                tasks = measure.fitting(workers * 1e6 / us, float(sizes["seconds"]), 4 * workers, 100_000)
                works = {
                    "submit": (pool.submit_all, [(rounds,)] * tasks),
                    "map": (pool.map_all, [rounds] * tasks),
                }
                before = bare.rate(rounds, tasks)
                details[f"{us}us"] = {"tasks": tasks, "bare_per_s": before}
                for way, (call, items) in works.items():
                    rate = tasks / measure.timed(call, bodies.busy, items)[0]
                    after = bare.rate(rounds, tasks)
                    values[f"{way}_{us}us"] = rate / ((before + after) / 2)
                    before = after
            for way in sizes["sweep"]:
                points = _sweep(pool, way, workers, sizes)
                values[f"metg_{way}"] = metg.half(points)
                details[f"metg_{way}"] = [(point.granularity_us, point.work_rate) for point in points]
    finally:
        bare.stop()
    return Turn(values, details)


def _sweep(pool: Runtime, way: str, workers: int, sizes: Sizes) -> list[metg.Point]:
    """Shorter and shorter tasks through ``submit`` or ``map``."""

    def run(rounds: int, tasks: int) -> float:
        if way == "map":
            return measure.timed(pool.map_all, bodies.busy, [rounds] * tasks)[0]
        return measure.timed(pool.submit_all, bodies.busy, [(rounds,)] * tasks)[0]

    most = int(sizes["most"])
    return metg.sweep(run, workers, float(sizes["rounds_per_us"]), float(sizes["sweep_seconds"]), most)


BENCHMARK = Benchmark(
    name="granularity",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", "loky", "joblib", "dask", "ray", "parsl"),
    full={
        "durations_us": [10, 100, 1000, 10_000],
        "seconds": 0.5,
        "sweep": ["submit", "map"],
        "sweep_seconds": 0.25,
        "most": 1_000_000,
    },
    quick={
        "durations_us": [100, 1000],
        "seconds": 0.1,
        "sweep": ["submit", "map"],
        "sweep_seconds": 0.05,
        "most": 100_000,
    },
    prepare=prepare,
    notes=(
        "1.00 means that nothing but the work itself took time; the work is a counted loop, the same for all.",
        (
            "METG(50 %): the smallest wall time x workers / tasks at which work is done at half of the highest rate "
            "seen; interpolated between eight lengths of tasks, which are in the JSON."
        ),
    ),
)
