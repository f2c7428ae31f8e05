"""How do Dask graphs go on many workers: where tasks do nothing, and where they sleep?

Workloads of the RSDS paper, sections VI-C and VI-D: merge, whose tasks do nothing, on workers of `distributed` that say
at once that a task is done; and merge_slow, whose tasks sleep, so that there may be more workers than processors. Its
tasks are as many for each worker as in the paper: at the ideal, any number of workers takes 13 times as long as a task.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from cellmill.bench.harness import OURS, Benchmark, Metric, Report, figure
from cellmill.bench.turn import Sizes, Turn

from .dask_graphs import missing_dask, seconds
from .dask_programs import Prepared, emptied, slept
from .distributed_workers import PER_PROCESS, Kind, client_of, settle

RANDOM = "random"
TASKS_A_WORKER = 13
OUTPUT_BYTES = 23
CELL_S = 300.0


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    merge = int(sizes["merge"])
    found = [
        Metric(
            f"merge:{count}", f"merge-{merge}, tasks that do nothing, {count} workers", "us a task", "lower"
        )
        for count in sizes["answering"]
    ]
    return found + [
        Metric(f"slow:{ms}:{count}", f"merge_slow, tasks of {ms} ms, {count} workers", "% of the ideal")
        for ms in sizes["milliseconds"]
        for count in sizes["sleeping"]
    ]


def turn(runtime: str, _workers: int, sizes: Sizes) -> Turn:
    """One scheduler: each number of workers on its own."""
    found: dict[str, float] = {}
    left: dict[str, str] = {}
    for count in sizes["answering"]:
        graph, keys = emptied(f"merge-{sizes['merge']}")
        with _scheduler(runtime, count, "answering") as (get, settle):
            found[f"merge:{count}"] = 1e6 * seconds(get, settle, graph, keys) / len(graph)
    for count in sizes["sleeping"]:
        with _scheduler(runtime, count, "ordinary") as (get, settle):
            get(*_sleeps(2 * count, 20))
            for ms in sizes["milliseconds"]:
                took = seconds(get, settle, *_sleeps(TASKS_A_WORKER * count, ms))
                if took > CELL_S:
                    left[f"slow:{ms}:{count}"] = f"took {took:.0f} s; {CELL_S:.0f} are allowed"
                    continue
                found[f"slow:{ms}:{count}"] = 100 * TASKS_A_WORKER * ms / 1e3 / took
    return Turn(found, {"left": left})


def _sleeps(tasks: int, ms: float) -> Prepared:
    """So many tasks that sleep, and one that has all of them as inputs."""
    spec = importlib.import_module("dask._task_spec")
    graph = {f"sleep-{i}": spec.Task(f"sleep-{i}", slept, 1000 * ms, OUTPUT_BYTES) for i in range(tasks)}
    graph["sum"] = spec.Task("sum", slept, 0, OUTPUT_BYTES, *map(spec.TaskRef, list(graph)))
    return graph, ["sum"]


@contextlib.contextmanager
def _scheduler(
    runtime: str, count: int, kind: Kind
) -> Iterator[tuple[Callable[..., Any], Callable[[], None]]]:
    """Dask's ``get`` with so many workers, and what to call before each. Cellmill's run the tasks in any case."""
    if runtime == "distributed":
        with client_of(count, kind) as client:
            yield client.get, lambda: settle(client)
        return
    get = importlib.import_module("cellmill.dask").get
    with importlib.import_module("cellmill").Executor(count) as executor:
        if runtime == RANDOM:
            executor.policy = RANDOM
        executor.run_on_workers(int)  # all have started
        yield lambda graph, keys: get(graph, keys, executor=executor), lambda: None


def finish(report: Report) -> None:
    """Say how much longer a no-op takes on many workers than on few, and which cells were left out."""
    lines = []
    counts = report.sizes["answering"]
    for runtime, title in report.titles.items():
        results = [report.result(f"merge:{count}", runtime) for count in (counts[0], counts[-1])]
        if None not in results:
            few, many = (result.median for result in results if result is not None)
            lines.append(
                f"{title}: a task that does nothing takes {figure(few)} us on {counts[0]} workers and "
                f"{figure(many)} us on {counts[-1]} ({figure(many / few)} times as long)"
            )
    report.summary = "\n".join(lines)
    for entry in report.turns:
        for key, why in entry["details"]["left"].items():
            report.notes.append(f"Left out of {report.titles[entry['runtime']]}: {key} ({why}).")


BENCHMARK = Benchmark(
    name="dask-workers",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, RANDOM, "distributed"),
    full={
        "merge": 20_000,
        "answering": [1, 8, 24, 64, 128],
        "milliseconds": [10, 100, 1000],
        "sleeping": [1, 8, 24, 64, 128],
    },
    quick={"merge": 2000, "answering": [1, 4], "milliseconds": [10], "sleeping": [1, 4]},
    notes=(
        "no-ops: Cellmill's workers are processes that run each task, distributed's say at once that it is done.",
        f"{PER_PROCESS} workers of distributed share a process; each of Cellmill's has its own.",
        "`python -m benchmarks scheduler-alone` has Cellmill's scheduler with up to 1,512 workers that answer at once.",
    ),
    own={RANDOM: "Cellmill, workers at random", "distributed": "distributed"},
    missing=missing_dask,
    finish=finish,
)
