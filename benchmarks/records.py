"""What does it cost to record runs, and how large and how quick to open is a record of many tasks?

Runs with and without a record take turns, in pairs; the share is the median of the pairs' ratios.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from statistics import median

import cellmill
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    count = int(sizes["tasks"])
    return [
        Metric("calls", f"{count:,} single calls with a record, against without", "x", "lower"),
        Metric("map", f"a map of {10 * count:,} elements with a record, against without", "x", "lower"),
        Metric("size", "a record, for each single call", "bytes", "lower"),
        Metric("open", "opening a record again, for a million single calls", "s", "lower"),
        Metric("missing", "tasks whose journeys are not in it", "tasks", "lower"),
    ]


def turn(_: str, workers: int, sizes: Sizes) -> Turn:
    """One process: its runs in pairs."""
    count, pairs = int(sizes["tasks"]), int(sizes["pairs"])
    with tempfile.TemporaryDirectory() as folder:
        with cellmill.Executor(workers) as ex:
            work = {"calls": lambda: _calls(ex, count), "map": lambda: list(ex.map(same, range(10 * count)))}
            found = {name: _ratio(each, f"{folder}/pairs/", pairs) for name, each in work.items()}
        with cellmill.Executor(workers) as ex, cellmill.record(f"{folder}/one/"):
            _calls(ex, count)
        (run,) = cellmill.runs(f"{folder}/one")
        assert run.path is not None
        start = time.perf_counter()
        record = cellmill.open_record(run.path)
        found["open"] = (time.perf_counter() - start) * 1e6 / len(record)
        found["size"] = run.path.stat().st_size / len(record)
        found["missing"] = float(count - len(record))
    return Turn(found)


def _calls(ex: cellmill.Executor, count: int) -> None:
    call = cellmill.parallel(executor=ex)(same)
    for future in [call(number) for number in range(count)]:
        future.result()


def same(x: int) -> int:
    """The number itself."""
    return x


def _ratio(work: Callable[[], object], folder: str, pairs: int) -> float:
    """How much longer it takes while it is recorded."""
    work()
    ratios = []
    for number in range(pairs):
        seconds = {}
        for recorded in (True, False) if number % 2 else (False, True):
            recorder = cellmill.record(folder) if recorded else None
            start = time.perf_counter()
            work()
            seconds[recorded] = time.perf_counter() - start
            if recorder is not None:
                recorder.stop()
        ratios.append(seconds[True] / seconds[False])
    return median(ratios)


BENCHMARK = Benchmark(
    name="records",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill",),
    full={"tasks": 100_000, "pairs": 40},
    quick={"tasks": 20_000, "pairs": 5},
)
