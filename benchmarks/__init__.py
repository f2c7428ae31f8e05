"""The laboratory: ceilings, tables of papers, faults, the scheduler by itself, and the table of all figures.

``python -m benchmarks`` lists and runs them, in the root of a checkout: this package is not installed. It takes the
harness and the runtimes from `cellmill.bench`, and runs the benchmarks there as well, four of them with ceilings. This
module imports next to nothing: tasks of the benchmarks are in this package, and workers pay for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cellmill import bench

if TYPE_CHECKING:
    from cellmill.bench.harness import Benchmark, Report, Settings
    from cellmill.bench.turn import Sizes

__all__ = ["INDEX", "load", "run"]

WITH_CEILINGS = ("throughput", "latency", "payload", "granularity")
OWN = {
    "scheduler-alone": "How fast is the scheduler by itself, against workers that answer at once?",
    "chain": "How long does a chain of dependent no-ops take, also while the kernel's own thread computes?",
    "graphs": "How well do threads share the work of tasks that release the GIL, alone and in graphs?",
    "queues": "What does it cost to give each worker a queue of its own, and who should choose the worker?",
    "tagging": "Where does a task spend its time, from submit to result?",
    "joblib-calls": "How long do calls of joblib.Parallel take with Cellmill beneath, and with its own processes?",
    "dask-graphs": "What does a task of a Dask graph cost with Cellmill beneath, and with Dask's own schedulers?",
    "dask-workers": "How do Dask graphs go on 1 to 128 workers, where tasks do nothing and where they sleep?",
    "parsl-apps": "How many no-op apps per second does Parsl run with Cellmill beneath, and with its own executors?",
    "parsl-time": "Where does the time of a Parsl app go, by stage and by thread?",
    "taps": "How long do the apps of TaPS take with Cellmill beneath, and with the executors that TaPS has?",
    "memo-hits": "How long does it take to find a result that is kept, beside joblib.Memory and Parsl's memoisation?",
    "checkpoints": "What does it cost to keep the results of a map as they come, so that it goes on after any death?",
    "records": "What does it cost to record runs, and how large and how quick to open is a record of many tasks?",
    "screens": "How busy does a docking screen keep many workers, with rounds that overlap and without?",
    "producers": "How long do large values take on a cluster from the tasks that make them to those that use them?",
    "advice": "Does the advice about a run keep its promise, and is it silent where nothing helps?",
    "watching": "What does it take to watch a kernel from outside, by cellmill top and by cellmill dashboard?",
    "profile": "What does it cost to sample what workers execute?",
    "speedup": "What does %%speedup promise for plain cells, and how long do the cells take that it offers?",
    "faults": "What is lost when a worker dies, Stop is pressed, the kernel is killed, or workers die at random?",
}
INDEX = {
    **bench.INDEX,
    "throughput": "How many no-op tasks, map elements and 1 MB arrays per second, and how far from what could be?",
    **OWN,
}


def load(name: str) -> Benchmark:
    """The benchmark called ``name``, a key of `INDEX`."""
    import importlib

    if name not in OWN and name not in WITH_CEILINGS:
        return bench.load(name)
    benchmark: Benchmark = importlib.import_module(f"{__name__}.{name.replace('-', '_')}").BENCHMARK
    return benchmark


def run(name: str, settings: Settings, sizes: Sizes | None = None) -> Report:
    """Run a benchmark. ``sizes`` changes single sizes of those it would take by itself."""
    from cellmill.bench.harness import collect

    return collect(load(name), INDEX[name], settings, sizes)
