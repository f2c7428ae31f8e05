"""How many fine tasks per second reach a cluster, packed by Cellmill and as one task of the engine each?

Workload: no-ops, as in the Parsl paper (figures 4 to 8), on a cluster of this machine. Over Cellmill each has an
outcome and a journey of its own; both are counted, and a run in which one is missing fails.

And how soon are tasks over that begin on a cluster without workers, which adapts to what waits? How long does the first
task take of an executor that joins a cluster (and what follows: see `joined_cluster`), or that has stopped tasks which
do not hear it?
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from cellmill import Executor
from cellmill.backends import KNOWN

from . import bodies, joined_cluster, rivals
from .harness import Benchmark, Metric, Report
from .turn import Sizes, Turn

ENGINES = {"dask": "Dask", "ray": "Ray"}
WARM_TASKS = joined_cluster.WARM_TASKS
ADAPTED = 3  # workers
NAP_SECONDS = 0.1
LEAVING_SECONDS = 60.0
DEAF_SECONDS = 600.0
STOP_SECONDS = 10.0  # into the deaf calls


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("submit", "no-op submit, one future each, all gathered", "tasks/s"),
        Metric("map", "map of no-ops", "elements/s"),
        Metric(
            "adapt",
            f"{sizes['adapt_tasks']} tasks of {NAP_SECONDS:g} s, adapt(minimum=0, maximum={ADAPTED}) from no worker",
            "s",
            "lower",
        ),
        Metric(
            "arrays",
            f"{sizes['arrays']} arrays of 1 MB there and back, on a cluster that was there before",
            "s",
            "lower",
        ),
        Metric("trip", "one no-op and its result, one after another, on such a cluster", "ms", "lower"),
        Metric(
            "short",
            f"map of {sizes['short_tasks']} tasks of {joined_cluster.SHORT_SECONDS * 1000:g} ms on such a cluster",
            "s",
            "lower",
        ),
        Metric(
            "values",
            f"{sizes['values']} values of {joined_cluster.VALUE_BYTES // 10**6} MB from one task to another",
            "s",
            "lower",
        ),
        Metric("values_again", "the same again, in memory that was used before", "s", "lower"),
        Metric("brought", "such values to the caller, one after another, each read there", "s", "lower"),
        Metric(
            "join", "the first result of an executor, or a driver, that joins such a cluster", "s", "lower"
        ),
        Metric(
            "stop",
            f"the first result after Stop, where each task has slept for {STOP_SECONDS:g} s by then",
            "s",
            "lower",
        ),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure both once with one runtime."""
    name = runtime.removeprefix("on-")
    if runtime in ENGINES:
        found = _engine(runtime, workers, int(sizes["engine_tasks"]))
    else:
        found = _packed(name, workers, int(sizes["tasks"]))
    if name == "dask":
        found.values["adapt"] = _adapted(runtime != name, int(sizes["adapt_tasks"]))
    found.values.update(joined_cluster.measure(runtime, name, workers, sizes))
    found.values["stop"] = _after_end(name, workers) if runtime in ENGINES else _after_stop(name, workers)
    return found


def _engine(name: str, workers: int, tasks: int) -> Turn:
    """Run each call as one task of the engine."""
    with rivals.running(name, workers) as pool:
        pool.gather([pool.submit(bodies.noop) for _ in range(WARM_TASKS)])
        submit = _rate(tasks, lambda: pool.gather([pool.submit(bodies.noop) for _ in range(tasks)]))
        mapped = _rate(tasks, lambda: pool.map_all(bodies.noop_of, range(tasks)))
    return Turn({"submit": submit, "map": mapped}, {"tasks": tasks})


def _packed(name: str, workers: int, tasks: int) -> Turn:
    """The same calls as tasks of Cellmill."""
    with Executor(workers, backend=name) as executor:
        executor.run_on_workers(bodies.noop)  # all of them are there
        [future.result() for future in [executor.submit(bodies.noop) for _ in range(WARM_TASKS)]]
        list(executor.map(bodies.noop_of, range(WARM_TASKS)))

        def submit() -> list[Any]:
            futures = [executor.submit(bodies.noop) for _ in range(tasks)]
            return [future.result() for future in futures]

        before = _journeys(executor)
        values = {"submit": _rate(tasks, submit)}
        values["map"] = _rate(tasks, lambda: list(executor.map(bodies.noop_of, range(tasks))))
        missing = 2 * tasks - (_journeys(executor) - before)
        if missing > 0:
            raise RuntimeError(f"{missing} of {2 * tasks} journeys are missing")
    return Turn(values, {"tasks": tasks})


def _rate(tasks: int, run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    outcomes = len(run())
    seconds = time.perf_counter() - start
    if outcomes != tasks:
        raise RuntimeError(f"{outcomes} outcomes of {tasks} tasks")
    return tasks / seconds


def _adapted(packed: bool, tasks: int) -> float:
    """Return the seconds until all are over, over Cellmill or as tasks of Dask; the workers then have to go."""
    import distributed

    settings: dict[str, Any] = {"n_workers": 0, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        cluster.adapt(minimum=0, maximum=ADAPTED)
        naps = [NAP_SECONDS] * tasks
        if packed:
            with Executor(backend=client) as executor:
                start = time.perf_counter()
                list(executor.map(time.sleep, naps))
                seconds = time.perf_counter() - start
                _left(cluster)
        else:
            start = time.perf_counter()
            client.gather(client.map(time.sleep, naps, pure=False))
            seconds = time.perf_counter() - start
            _left(cluster)
    return seconds


def _after_stop(name: str, workers: int) -> float:
    """Return the seconds from Stop to the next result, where all workers of an own cluster are in a deaf call."""
    with Executor(workers, backend=name) as executor:
        executor.run_on_workers(bodies.noop)
        deaf = [executor.submit(time.sleep, DEAF_SECONDS) for _ in range(workers)]
        deadline = time.monotonic() + LEAVING_SECONDS
        while executor.stats().running < workers:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{executor.stats().running} of {workers} tasks run")
            time.sleep(0.01)
        time.sleep(STOP_SECONDS)
        start = time.perf_counter()
        for future in deaf:
            future.cancel(force=True)
        executor.submit(bodies.noop).result()
        return time.perf_counter() - start


def _after_end(name: str, workers: int) -> float:
    """Return the seconds from the end of such calls to the next result, by the engine's own means: Ray ends what a
    task runs in, Dask the workers of the whole cluster.
    """
    with rivals.running(name, workers) as pool:
        pool.gather([pool.submit(bodies.noop) for _ in range(WARM_TASKS)])
        deaf = [pool.submit(_sleep, DEAF_SECONDS) for _ in range(workers)]
        time.sleep(STOP_SECONDS)
        start = time.perf_counter()
        if name == "dask":
            pool.client.restart(wait_for_workers=False)
        else:
            for each in deaf:
                pool.library.cancel(each, force=True)
        pool.gather([pool.submit(bodies.noop)])
        return time.perf_counter() - start


def _sleep(seconds: float) -> None:  # Ray refuses built-in functions
    time.sleep(seconds)


def _left(cluster: Any) -> None:
    """Return when the cluster has let its workers go."""
    deadline = time.monotonic() + LEAVING_SECONDS
    while cluster.scheduler.workers:
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(cluster.scheduler.workers)} workers without work have stayed")
        time.sleep(0.05)


def _journeys(executor: Executor) -> int:
    return sum(row["status"] == "done" and row["resolved"] is not None for row in executor.journey_rows())


def finish(report: Report) -> None:
    """Say how many times as fast packed tasks are."""
    said = []
    for key, name in ENGINES.items():
        for metric in report.metrics:
            ours, theirs = report.result(metric.key, f"on-{key}"), report.result(metric.key, key)
            if ours is not None and theirs is not None and theirs.median and metric.better == "higher":
                times = ours.median / theirs.median
                said.append(f"{metric.key}: over {name} {times:,.0f} times as many as one {name} task each")
    report.summary = "; ".join(said)


def missing(runtime: str) -> str | None:
    """None where the engine is installed, and has a backend."""
    engine = runtime.removeprefix("on-")
    if engine not in KNOWN:
        return "Cellmill has no such backend here"
    return rivals.missing(engine)


BENCHMARK = Benchmark(
    name="clusters",
    module=__name__,
    metrics=metrics,
    runtimes=("on-dask", "dask", "on-ray", "ray"),
    full={
        "tasks": 100_000,
        "engine_tasks": 5_000,
        "adapt_tasks": 300,
        "arrays": 200,
        "trips": 200,
        "short_tasks": 1_000,
        "values": 20,
    },
    quick={
        "tasks": 10_000,
        "engine_tasks": 500,
        "adapt_tasks": 60,
        "arrays": 50,
        "trips": 50,
        "short_tasks": 200,
        "values": 4,
    },
    own={f"on-{key}": f"Cellmill over {name}" for key, name in ENGINES.items()},
    missing=missing,
    finish=finish,
    notes=(
        (
            "each on a cluster of this machine with processes of one thread; the engine alone: client.map or one "
            "remote task per call, and all gathered. The engine's rate hardly depends on how many tasks there are, so "
            "it is measured with fewer."
        ),
        "over Cellmill every task and element has an outcome and a journey, which is checked.",
        (
            f"adapt: on a LocalCluster of Dask, up to {ADAPTED} workers of one thread, started and ended by its "
            "adaptive scaling as it is set by default; the tasks sleep. That the workers leave afterwards is checked."
        ),
        (
            "values: a task's value is its own, so the worker copies it for each task that takes it; Dask gives the "
            "same object to all, Ray one that is read-only. The first time memory is new to the system."
        ),
        (
            "arrays, trip, short, values and join: by the address of a cluster that runs already. The engine's join is "
            "that of one more client, and for Ray, of which a process has one driver, that of one more process. "
            "stop: the processes of the deaf tasks are ended; by the engine alone with `ray.cancel(..., force=True)`, "
            "and with `Client.restart()` on Dask, which ends no single task."
        ),
    ),
)
