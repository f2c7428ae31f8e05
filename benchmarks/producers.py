"""How long do large values take from the tasks that make them to those that use them, and how far does the kernel grow?

Each value is made by one task and used by another, over Cellmill and by the engine itself, on a cluster of this
machine that Cellmill did not start.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cellmill import Executor
from cellmill.backends import KNOWN
from cellmill.bench import rivals
from cellmill.bench.harness import Benchmark, Metric, Report
from cellmill.bench.turn import Sizes, Turn

ENGINES = {"dask": "Dask", "ray": "Ray"}
LOOK_SECONDS = 0.02


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    what = f"{int(sizes['values'])} values of {int(sizes['bytes']) / 1e6:,.0f} MB"
    return [
        Metric("seconds", f"{what}, made and used", "s", "lower"),
        Metric("kernel", "growth of the kernel meanwhile, at its peak", "MB", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure one runtime once; the first round, in which workers import, does not count."""
    values, size = int(sizes["values"]), int(sizes["bytes"])
    with _running(runtime, workers) as (submit, take):
        _round(submit, take, 2 * workers, size)
        with Peak() as peak:
            start = time.perf_counter()
            _round(submit, take, values, size)
            seconds = time.perf_counter() - start
    return Turn({"seconds": seconds, "kernel": peak.grown / 1e6}, {"values": values, "bytes": size})


def _round(submit: Callable[..., Any], take: Callable[[Any], Any], values: int, size: int) -> None:
    made = [submit(make, i, size) for i in range(values)]
    found = [take(used) for used in [submit(use, each) for each in made]]
    if found != [size * (i % 100) for i in range(values)]:
        raise RuntimeError("the sums are wrong")


def make(fill: int, size: int) -> Any:
    """An array of so many bytes."""
    import numpy

    return numpy.full(size, fill % 100, numpy.uint8)


def use(array: Any) -> int:
    """The sum of all its bytes."""
    return int(array.sum(dtype="int64"))


class Peak:
    """How much this process has grown."""

    grown = 0

    def __enter__(self) -> Peak:
        self._before, self._over = resident(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            self.grown = max(self.grown, resident() - self._before)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def resident() -> int:
    """Return the bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@contextlib.contextmanager
def _running(runtime: str, workers: int) -> Iterator[tuple[Callable[..., Any], Callable[[Any], Any]]]:
    engine = runtime.removeprefix("on-")
    with rivals.running(engine, workers) as pool:
        if engine == runtime:
            yield pool.submit, pool.take
            return
        with Executor(workers, backend=_backend(engine, pool)) as executor:
            executor.run_on_workers(resident)  # all of them are there
            yield executor.submit, lambda future: future.result()


def _backend(engine: str, pool: Any) -> Any:
    if engine == "ray":
        return f"ray:{pool.library.get_runtime_context().gcs_address}"
    return pool.client


def finish(report: Report) -> None:
    """Say how much longer it takes over Cellmill."""
    said = []
    for key, name in ENGINES.items():
        ours, theirs = report.result("seconds", f"on-{key}"), report.result("seconds", key)
        if ours is not None and theirs is not None and theirs.median:
            said.append(f"over {name} {ours.median / theirs.median:.2f} times its own {theirs.median:.2f} s")
    report.summary = "; ".join(said)


def missing(runtime: str) -> str | None:
    """None where the engine is installed, and has a backend."""
    engine = runtime.removeprefix("on-")
    return rivals.missing(engine) if engine in KNOWN else "Cellmill has no such backend here"


BENCHMARK = Benchmark(
    name="producers",
    module=__name__,
    metrics=metrics,
    runtimes=("on-dask", "dask", "on-ray", "ray"),
    full={"values": 20, "bytes": 100_000_000},
    quick={"values": 20, "bytes": 20_000_000},
    own={f"on-{key}": f"Cellmill over {name}" for key, name in ENGINES.items()},
    missing=missing,
    finish=finish,
    notes=(
        "each on a cluster of this machine that Cellmill did not start, processes of one thread; values are arrays",
    ),
)
