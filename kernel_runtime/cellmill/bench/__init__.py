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
    "throughput": "How many no-op tasks, map elements and 1 MB arrays per second, and how far from what could be?",
    "latency": "How long is a round trip, while tasks flow and after idleness, and what does idleness cost?",
    "payload": "How long does an array take to a worker with a new one back, alone and many in flight?",
    "granularity": "How much of the processors' time is left to tasks of 10 us to 10 ms, and how short may they be?",
    "memory": "How much memory of the kernel does a task take while it waits, and does any of it stay?",
    "workers": "How does throughput change from 1 to 32 workers on the cores there are?",
    "scheduler-alone": "How fast is the scheduler by itself, against workers that answer at once?",
    "chain": "How long does a chain of dependent no-ops take, also while the kernel's own thread computes?",
    "graphs": "How well do threads share the work of tasks that release the GIL, alone and in graphs?",
    "queues": "What does it cost to give each worker a queue of its own, and who should choose the worker?",
    "tagging": "Where does a task spend its time, from submit to result?",
    "cold-start": "How long from a new Python process to the first result, and where does it go?",
    "faults": "What is lost when a worker dies, Stop is pressed, the kernel is killed, or workers die at random?",
    "clusters": "How many fine tasks per second reach Dask and Ray, packed and as one task of the engine each?",
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
