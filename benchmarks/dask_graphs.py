"""What does a task of a Dask graph cost with Cellmill beneath, with Dask's own schedulers, and with `distributed`?

The graphs are those that Dask builds for small programs, materialised before the clock starts: what remains is the
scheduler. Bodies do nothing or little.
"""

from __future__ import annotations

import importlib
import importlib.util
import operator
import time
from collections.abc import Callable
from typing import Any

from cellmill.bench import measure
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn

NAMES = {
    "merge": "one task of {n:,} inputs",
    "tree": "a tree of sums over {n:,} leaves",
    "bag": "a bag of {n:,} partitions, folded",
    "array": "an array of {n:,} blocks plus its transpose, summed",
}
PROCESSES = ("processes",)


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric(name, title.format(n=int(sizes[name])), "us a task", "lower") for name, title in NAMES.items()
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One scheduler; for each graph the median of some rounds."""
    dask = importlib.import_module("dask")
    with _Scheduler(runtime, workers) as get:
        found = {}
        details = {}
        for name in NAMES:
            program = getattr(_Programs, name)(int(sizes[name]) // (10 if runtime in PROCESSES else 1))
            (program,) = dask.optimize(program)
            graph, keys = program.__dask_graph__(), program.__dask_keys__()
            graph = importlib.import_module("dask._task_spec").convert_legacy_graph(dict(graph))
            times = []
            for _ in range(1 + int(sizes["rounds"])):
                start = time.perf_counter()
                get(graph, keys)
                times.append(1e6 * (time.perf_counter() - start) / len(graph))
            found[name] = measure.p50(times[1:])  # the first one starts workers
            details[f"{name}_tasks"] = len(graph)
    return Turn(found, details)


def none(*_: Any) -> int:
    """Do nothing."""
    return 1


class _Programs:
    """Each makes a collection of Dask."""

    @staticmethod
    def merge(n: int) -> Any:
        delayed = importlib.import_module("dask").delayed
        call = delayed(none, pure=False)
        return call([call(i) for i in range(n)])

    @staticmethod
    def tree(n: int) -> Any:
        delayed = importlib.import_module("dask").delayed
        layer = [delayed(none, pure=False)(i) for i in range(n)]
        add = delayed(operator.add, pure=False)
        while len(layer) > 1:
            pairs = [add(*layer[i : i + 2]) for i in range(0, len(layer) - 1, 2)]
            layer = pairs + layer[len(pairs) * 2 :]
        return layer[0]

    @staticmethod
    def bag(n: int) -> Any:
        bags = importlib.import_module("dask.bag")
        return bags.range(4 * n, npartitions=n).map(none).fold(operator.add)

    @staticmethod
    def array(n: int) -> Any:
        arrays = importlib.import_module("dask.array")
        side = max(2, round(n**0.5))
        square = arrays.ones((8 * side, 8 * side), chunks=8)
        return (square + square.T).sum()


class _Scheduler:
    """Dask's ``get`` of a runtime, while the ``with`` block lasts."""

    def __init__(self, runtime: str, workers: int) -> None:
        self._runtime, self._workers = runtime, workers
        self._close: Callable[[], Any] = int

    def __enter__(self) -> Callable[..., Any]:
        if self._runtime == "cellmill":
            cellmill = importlib.import_module("cellmill")
            executor = cellmill.Executor(self._workers)
            self._close = executor.shutdown
            ours = importlib.import_module("cellmill.dask").get
            return lambda graph, keys: ours(graph, keys, executor=executor)
        if self._runtime == "distributed":
            distributed = importlib.import_module("distributed")
            cluster = distributed.LocalCluster(self._workers, threads_per_worker=1, dashboard_address=None)
            client = distributed.Client(cluster)
            self._close = lambda: (client.close(), cluster.close())
            get: Callable[..., Any] = client.get
            return get
        module = {"threads": "dask.threaded", "processes": "dask.multiprocessing"}[self._runtime]
        theirs = importlib.import_module(module).get
        return lambda graph, keys: theirs(graph, keys, num_workers=self._workers)

    def __exit__(self, *_: object) -> None:
        self._close()


def _missing(_: str) -> str | None:
    found = all(importlib.util.find_spec(name) for name in ("dask", "distributed"))
    return None if found else "needs Dask: pip install 'cellmill[dask]'"


BENCHMARK = Benchmark(
    name="dask-graphs",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "threads", "processes", "distributed"),
    full={"merge": 20_000, "tree": 10_000, "bag": 5_000, "array": 1_600, "rounds": 3},
    quick={"merge": 2_000, "tree": 1_000, "bag": 500, "array": 400, "rounds": 1},
    notes=("processes: a tenth of each graph; its workers start anew in each call",),
    own={"threads": "Dask's threads", "processes": "Dask's processes", "distributed": "distributed"},
    missing=_missing,
)
