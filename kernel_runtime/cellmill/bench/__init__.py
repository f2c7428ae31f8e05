"""Benchmarks: each module answers one question, side by side with the rivals that are installed.

``cellmill bench`` lists and runs them. Nothing here is imported by the rest of the package, and this module imports
nothing: tasks of the benchmarks live in it, and workers pay for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .harness import Benchmark, Report, Settings, Sizes

__all__ = ["INDEX", "load", "run"]

INDEX = {
    "throughput": "How many no-op tasks, map elements and 1 MB arrays per second?",
    "latency": "How long is a round trip, while tasks flow and after idleness, and what does idleness cost?",
    "payload": "How long does an array of 10 kB to 100 MB take to a worker, with a new one back?",
    "memory": "How much memory of the kernel does a task take while it waits?",
    "granularity": "How much of the processors' time is left to tasks of 10 us to 10 ms?",
    "scheduler-alone": "How fast is the scheduler by itself, against workers that answer at once?",
    "cold-start": "How long from a new Python process to the first result, and where does it go?",
    "docking": "How fast are 100,000 molecules scored, against the serial loop at its best batch size?",
}


def load(name: str) -> Benchmark:
    """The benchmark called ``name``, a key of `INDEX`."""
    import importlib

    benchmark: Benchmark = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").BENCHMARK
    return benchmark


def run(name: str, settings: Settings, sizes: Sizes | None = None) -> Report:
    """Run a benchmark. ``sizes`` changes single sizes of those it would take by itself."""
    from .harness import collect

    return collect(load(name), INDEX[name], settings, sizes)
