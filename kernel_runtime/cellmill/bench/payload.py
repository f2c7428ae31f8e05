"""How long does an array take to a worker with a new one back, alone and many in flight? And bytes, as of a file?

Workload: figures 3 and 4 of the Dask and ProxyStore paper: as many bytes out as in, one task at a time and, for one
size, streams with as many tasks outstanding as workers, and with many; and one array that many tasks read (`reading`).
Beside the runtimes: ways through a cluster (`stores`), which are Dask with ProxyStore, and Cellmill over Dask with and
without stored values.
"""

from __future__ import annotations

import gc
import importlib.util
from typing import Any

from . import bodies, measure, reading, stores
from .harness import Benchmark, BenchmarkError, Metric, Report, Settings
from .rivals import Runtime
from .stores import running
from .turn import Sizes, Turn

WINDOW = 64
_UNITS = ((10**6, "MB"), (10**3, "kB"), (1, "B"))


def _named(size: int) -> str:
    scale, unit = next((s, u) for s, u in _UNITS if size >= s)
    return f"{size / scale:g} {unit}"


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    streamed = _named(sizes["stream_bytes"])
    found = [
        Metric("stream", f"{streamed} array in, a new one out, many in flight", "tasks/s"),
        Metric("paced", f"{streamed} array in, a new one out, one in flight for each worker", "tasks/s"),
        Metric("bytes", f"{streamed} of bytes in, as many out, many in flight", "tasks/s"),
    ]
    for size in sizes["bytes"]:
        found.append(Metric(f"first_{size}", f"{_named(size)}: first round trip of this size", "ms", "lower"))
        found.append(Metric(f"later_{size}", f"{_named(size)}: later ones, p50", "ms", "lower"))
    return found + reading.metrics(sizes)


def prepare(settings: Settings, sizes: Sizes, folder: object) -> None:
    """numpy is needed."""
    if importlib.util.find_spec("numpy") is None:
        raise BenchmarkError("it sends numpy arrays: `pip install numpy` first")


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure one runtime with sizes from small to large."""
    import numpy

    seconds, streamed, most = float(sizes["seconds"]), int(sizes["stream_bytes"]), int(sizes["most"])
    values: dict[str, float] = {}
    counts: dict[str, int] = {}
    with running(runtime, workers) as pool:
        pool.submit_all(bodies.add_one, [(numpy.ones(1),)] * 20 * workers)  # every worker has imported numpy
        values["stream"], counts["stream"] = measure.array_rate(pool, streamed, seconds, most, WINDOW)
        values["paced"], counts["paced"] = measure.array_rate(pool, streamed, seconds, most, workers)
        values["bytes"], counts["bytes"] = measure.bytes_rate(pool, streamed, seconds, most, WINDOW)
        for size in sizes["bytes"]:
            array = numpy.ones(size // 8)
            gc.collect()
            first = _round_trip(pool, array)
            count = measure.fitting(1e3 / first, seconds, int(sizes["least"]), 1000)
            values[f"first_{size}"] = first
            values[f"later_{size}"] = measure.p50([_round_trip(pool, array) for _ in range(count)])
            counts[str(size)] = count
        values.update(reading.rates(runtime, pool, workers, sizes))
    return Turn(values, {"round_trips": counts})


def _round_trip(pool: Runtime, array: Any) -> float:
    """Milliseconds until the result can be read; it is checked and dropped."""
    seconds, result = measure.timed(pool.round_trip, bodies.add_one, array)
    assert (result.shape, float(result[-1])) == (array.shape, float(array[-1]) + 1)
    return seconds * 1e3


def finish(report: Report) -> None:
    """Say what a store next to the engine gains at each size, ProxyStore's and ours."""
    pairs = [(stored, "dask") for stored in (*stores.STORED, "dask:cellmill")]
    pairs.append(("dask:cellmill", "dask:packs"))
    lines = []
    for stored, plain in pairs:
        gains = []
        for metric in report.metrics:
            a, b = report.result(metric.key, stored), report.result(metric.key, plain)
            if a is not None and b is not None and not metric.key.startswith("first"):
                times = a.median / b.median if metric.better == "higher" else b.median / a.median
                what = {"stream": "many in flight", "paced": "one for each worker", "bytes": "bytes"}.get(
                    metric.key
                )
                gains.append(f"{what or metric.title.partition(':')[0]} {times:.2g}x")
        if gains:
            lines.append(f"{report.titles[stored]} is, against {report.titles[plain]}: {', '.join(gains)}")
    if lines:
        lines.append(
            "The paper, with Redis and one worker: 10 kB 0.98x, 100 kB 0.98x, 1 MB 1.53x, 10 MB 1.47x, 100 MB 2.1x; "
            "streams of 1 MB with 1, 2, 4, 8, 16 workers 1.03x, 1.32x, 1.24x, 1.63x, 1.57x."
        )
    report.summary = "\n".join(lines)


BENCHMARK = Benchmark(
    name="payload",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", "loky", "joblib", "dask", "ray", *stores.NAMES),
    full={
        "bytes": [10**4, 10**5, 10**6, 10**7, 10**8],
        "seconds": 0.5,
        "least": 5,
        "stream_bytes": 10**6,
        "most": 4000,
        "read_tasks": 1000,
        "read_bytes": 10**7,
    },
    quick={
        "bytes": [10**4, 10**6],
        "seconds": 0.1,
        "least": 3,
        "stream_bytes": 10**6,
        "most": 100,
        "read_tasks": 40,
        "read_bytes": 10**7,
    },
    own=stores.NAMES,
    missing=stores.missing,
    prepare=prepare,
    finish=finish,
    notes=(
        "the task returns `array + 1`: a new array of the same size; each result is dropped before the next call.",
        "the first round trip of a size includes making the memory; later ones find it made.",
        "an array that tasks read, put once: "
        + "; ".join(f"{who}: {how}" for who, how in reading.HOW.items())
        + ".",
        (
            "Dask + ProxyStore: its StoreExecutor, with the file connector in the folder for temporary files or that "
            "of a Redis server on this machine, all arrays by proxy, each result resolved and evicted. Cellmill over "
            "Dask: values from 200 kB on, in mapped files."
        ),
    ),
)
