"""What do Dask's graphs take with Cellmill beneath, with Dask's own schedulers, and with `distributed`?

The graphs are those of table I of the RSDS paper: as Dask 2.16 made them, with tasks that compute for the mean time and
return as much as the mean (replay), with tasks that do nothing (empty), and as today's Dask makes them for such
programs (program). Each is made into a graph before the clock starts: what remains is the scheduler, and the tasks.
"""

from __future__ import annotations

import importlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from cellmill.bench.harness import OURS, Benchmark, Metric, Report, figure
from cellmill.bench.turn import Sizes, Turn

from .dask_programs import computed, emptied, missing, programmed, replayed
from .distributed_workers import settle
from .table_one import PAPER, family

MODES = {"replay": replayed, "empty": emptied, "program": programmed}
RIVALS = {"threads": "Dask's threads", "processes": "Dask's processes", "distributed": "distributed"}
ROUNDS, ROUNDS_S = 4, 5.0
"""Short graphs are computed so often, while all rounds so far took less than this; the first is not counted then:
workers import in it what the tasks need.
"""


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [Metric(key, key.replace(":", " of "), "us a task", "lower") for key, *_ in _graphs(sizes)]


def _graphs(sizes: Sizes) -> Iterator[tuple[str, str, str]]:
    """The key of a metric, how the graph is made, and its name; without what cannot be made here."""
    for mode in MODES:
        for name in sizes.get(mode, ()):
            if mode != "program" or missing(name) is None:
                yield f"{mode}:{name}", mode, name


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One scheduler: all graphs."""
    found: dict[str, float] = {}
    details: dict[str, Any] = {"tasks": {}, "made_s": {}}
    with _Scheduler(runtime, workers) as scheduler:
        task = importlib.import_module("dask._task_spec").Task
        scheduler.get({f"w{i}": task(f"w{i}", computed, 1000, 2000) for i in range(20)}, ["w0", "w19"])
        for key, mode, name in _graphs(sizes):
            start = time.perf_counter()
            graph, keys = MODES[mode](name)
            details["made_s"][key] = round(time.perf_counter() - start, 3)
            details["tasks"][key] = len(graph)
            found[key] = 1e6 * seconds(scheduler.get, scheduler.settle, graph, keys) / len(graph)
    return Turn(found, details)


def seconds(get: Callable[..., Any], settle: Callable[[], None], graph: Any, keys: Any) -> float:
    """From the graph to the values that are asked for, in the median of one round or some."""
    times: list[float] = []
    while len(times) < ROUNDS and sum(times) < ROUNDS_S:
        settle()
        start = time.perf_counter()
        get(graph, keys)
        times.append(time.perf_counter() - start)
    return statistics.median(times[1:] or times)


class _Scheduler:
    """Dask's ``get`` of a runtime, while the ``with`` block lasts."""

    get: Callable[..., Any]

    def __init__(self, runtime: str, workers: int) -> None:
        self._runtime, self._workers = runtime, workers
        self._close: Callable[[], Any] = int
        self._client: Any = None

    def __enter__(self) -> _Scheduler:
        if self._runtime == OURS:
            executor = importlib.import_module("cellmill").Executor(self._workers)
            self._close = executor.shutdown
            ours = importlib.import_module("cellmill.dask").get
            self.get = lambda graph, keys: ours(graph, keys, executor=executor)
        elif self._runtime == "distributed":
            distributed = importlib.import_module("distributed")
            cluster = distributed.LocalCluster(self._workers, threads_per_worker=1, dashboard_address=None)
            self._client = client = distributed.Client(cluster)
            self._close = lambda: (client.close(), cluster.close())
            self.get = client.get
        else:
            module = {"threads": "dask.threaded", "processes": "dask.multiprocessing"}[self._runtime]
            theirs = importlib.import_module(module).get
            self.get = lambda graph, keys: theirs(graph, keys, num_workers=self._workers)
        return self

    def settle(self) -> None:
        """Wait until nothing is left of the last graph: `distributed` takes values that it still has."""
        if self._client is not None:
            settle(self._client)

    def __exit__(self, *_: object) -> None:
        self._close()


def finish(report: Report) -> None:
    """How many times as long each rival takes, over the families of graphs; merge counts once."""
    lines = []
    for mode in MODES:
        keys = [metric.key for metric in report.metrics if metric.key.startswith(f"{mode}:")]
        for rival, title in RIVALS.items():
            ratios = {key: ratio for key in keys if (ratio := _ratio(report, key, rival)) is not None}
            if ratios:
                least = min(ratios, key=lambda key: ratios[key])
                lines.append(
                    f"{mode}: {title} take {figure(_over_families(ratios))} times as long as Cellmill "
                    f"(geometric mean over families); least {figure(ratios[least])} ({least.partition(':')[2]})"
                )
    tasks, made = _detail(report, "tasks"), _detail(report, "made_s")
    for result in report.results:
        if result.runtime == OURS:
            key = result.metric.key
            whole = result.median * tasks[key] / 1e6
            lines.append(
                f"  {result.metric.title}: {tasks[key]:,} tasks, made in {figure(made[key])} s, "
                f"computed in {figure(whole)} s, {figure(result.median)} us a task"
            )
    report.summary = "\n".join(lines)
    left = [name for name in PAPER if name not in report.sizes["replay"]]
    report.notes.append(f"Of the paper's graphs are left out: {', '.join(left)}.")
    absent = [f"{name} ({why})" for name in report.sizes["program"] if (why := missing(name))]
    if absent:
        report.notes.append(f"Programs that are left out: {', '.join(absent)}.")


def _ratio(report: Report, key: str, rival: str) -> float | None:
    result = report.result(key, rival)
    return None if result is None else report.ratio(result)


def _over_families(ratios: dict[str, float]) -> float:
    families: dict[str, list[float]] = {}
    for key, ratio in ratios.items():
        families.setdefault(family(key.partition(":")[2]), []).append(ratio)
    return _mean(_mean(each) for each in families.values())


def _mean(ratios: Iterable[float]) -> float:
    return statistics.geometric_mean(ratios)


def _detail(report: Report, name: str) -> dict[str, Any]:
    return next((turn["details"][name] for turn in report.turns if turn["runtime"] == OURS), {})


def missing_dask(_: str) -> str | None:
    """Why no contender can be measured here; None where all can."""
    found = all(importlib.util.find_spec(name) for name in ("dask", "distributed", "numpy"))
    return None if found else "needs Dask and NumPy: pip install 'cellmill[dask]' numpy"


BENCHMARK = Benchmark(
    name="dask-graphs",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, *RIVALS),
    full={
        "replay": [
            *("merge-10000", "merge-25000", "merge-50000", "merge-100000", "merge_slow-300", "tree-15"),
            *("xarray-25", "xarray-5", "bag-25K-10", "numpy-50K-50", "groupby-90-1S-8H", "groupby-90-1S-1H"),
            *("join-1-1S-1H", "join-1-2s-1H", "vectorizer-19", "wordbag-20"),
        ],
        "empty": ["merge-50000"],
        "program": [
            *("merge-10000", "tree-14", "bag-10", "bag-50", "numpy-10", "numpy-50"),
            *("groupby-8", "groupby-1", "join-10", "xarray-25", "vectorizer-20"),
        ],
    },
    quick={
        "replay": ["merge-2000", "tree-10", "xarray-25", "join-1-2s-1H"],
        "empty": ["merge-2000"],
        "program": ["merge-2000", "tree-10", "bag-10", "numpy-10", "groupby-24", "join-48"],
    },
    notes=(
        "merge_slow, vectorizer and wordbag are smaller than the paper's, with the same tasks; merge_slow sleeps.",
        "Programs have the paper's shapes on less data; wordbag's library is not to be had for today's Python.",
    ),
    own=RIVALS,
    missing=missing_dask,
    finish=finish,
)
