"""How many no-op tasks, map elements and 1 MB arrays per second?

Workload: the no-op runs of the Parsl paper (figures 4 to 8), on the processes of one machine.
"""

from __future__ import annotations

import importlib.util

from . import measure
from .harness import Benchmark, Metric
from .payload import WINDOW
from .rivals import running
from .turn import Sizes, Turn

ARRAY_BYTES = 1_000_000
BESIDE_BUSY = ("cellmill", "ppe", "pool")


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("submit", "no-op submit, one future each, all gathered", "tasks/s"),
        Metric("submit_beside_busy_thread", "the same beside a busy Python thread", "tasks/s"),
        Metric("kept_beside_busy_thread", "  what is left of it beside that thread", "of itself alone"),
        Metric("map", "map of no-ops", "elements/s"),
        Metric("round_trip_p50", "round trip p50, one at a time", "us", "lower"),
        Metric("round_trip_p99", "round trip p99", "us", "lower"),
        Metric("array_1mb", "1 MB array in, a new one out", "tasks/s"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure everything once with one runtime."""
    seconds, most = float(sizes["seconds"]), int(sizes["most"])
    values: dict[str, float] = {}
    counts: dict[str, int] = {}
    with running(runtime, workers) as pool:
        values["submit"], counts["submit"] = measure.submit_rate(pool, seconds, most)
        if runtime in BESIDE_BUSY:
            with measure.busy_thread():
                key = "submit_beside_busy_thread"
                values[key], counts[key] = measure.submit_rate(pool, seconds, most)
            values["kept_beside_busy_thread"] = values[key] / values["submit"]
        values["map"], counts["map"] = measure.map_rate(pool, seconds, int(sizes["most_map"]))
        trips = measure.round_trips(pool, seconds, most)
        values["round_trip_p50"], values["round_trip_p99"] = measure.p50(trips), measure.p99(trips)
        counts["round_trip"] = len(trips)
        if importlib.util.find_spec("numpy") is not None:
            values["array_1mb"], counts["array_1mb"] = measure.array_rate(
                pool, ARRAY_BYTES, seconds, int(sizes["most_arrays"]), WINDOW
            )
    return Turn(values, {"operations": counts})


BENCHMARK = Benchmark(
    name="throughput",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", "loky", "joblib", "dask", "ray", "parsl"),
    full={
        "seconds": 1.0,
        "most": 400_000,
        "most_map": 4_000_000,
        "most_arrays": 2000,
    },
    quick={"seconds": 0.2, "most": 20_000, "most_map": 200_000, "most_arrays": 100},
    notes=(
        (
            "beside a busy thread: that thread computes in pure Python, so half of the interpreter's time is a fair "
            "share and 0.50 of itself alone would be all of it."
        ),
        "each measurement takes about a second; how many operations that was is in the JSON.",
        (
            "map: ProcessPoolExecutor and loky with multiprocessing.Pool's chunk size; all rivals' elements "
            "untracked in their chunks, Cellmill's with an outcome and a journey each."
        ),
        "round trip of joblib: one Parallel call with one function.",
        f"1 MB arrays: {WINDOW} in flight; `cellmill bench payload` has other sizes.",
    ),
)
