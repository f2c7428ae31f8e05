"""Benchmarks: each module answers one question of a user's own machine, beside the rivals that are installed.

``cellmill bench`` lists and runs them. Nothing here is imported by the rest of the package but the command line, and
this module imports nothing: tasks of the benchmarks are in this package, and workers pay for what it needs.

What only a checkout of the repository measures (ceilings, tables of papers, the scheduler by itself) is in its
folder ``benchmarks``, which uses the harness of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .harness import Benchmark, Report, Settings
    from .turn import Sizes

__all__ = ["INDEX", "IN_A_CHECKOUT", "load", "run"]

INDEX = {
    "throughput": "How many no-op tasks, map elements and 1 MB arrays per second?",
    "latency": "How long is a round trip, while tasks flow and after idleness, and what does idleness cost?",
    "payload": "How long does an array take to a worker with a new one back, alone and many in flight?",
    "granularity": "How much of the processors' time is left to tasks of 10 us to 10 ms, and how short may they be?",
    "memory": "How much memory of the kernel does a task take while it waits, and does any of it stay?",
    "workers": "How does throughput change from 1 to 32 workers on the cores there are?",
    "cold-start": "How long from a new Python process to the first result, and where does it go?",
    "clusters": "How many fine tasks per second reach Dask and Ray, packed and as one task of the engine each?",
    "docking": "How fast are 100,000 molecules scored, against the serial loop at its best batch size?",
}
IN_A_CHECKOUT = (
    "scheduler-alone",
    "chain",
    "graphs",
    "queues",
    "tagging",
    "faults",
    "figures",
    "advice",
    "profile",
    "watching",
    "speedup",
    "joblib-calls",
    "taps",
    "dask-graphs",
    "dask-workers",
    "parsl-apps",
    "parsl-time",
    "memo-hits",
    "checkpoints",
    "records",
    "screens",
    "producers",
)
"""What ``python -m benchmarks`` has beside these."""


def load(name: str) -> Benchmark:
    """The benchmark called ``name``, a key of `INDEX`."""
    import importlib

    benchmark: Benchmark = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").BENCHMARK
    return benchmark


def run(name: str, settings: Settings, sizes: Sizes | None = None) -> Report:
    """Run a benchmark. ``sizes`` changes single sizes of those it would take by itself."""
    from .harness import collect

    return collect(load(name), INDEX[name], settings, sizes)
