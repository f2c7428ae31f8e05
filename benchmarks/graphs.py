"""How well do threads share the work of tasks that release the GIL, alone and in graphs?

Workload: tables 1 and 2 and the graphs of the CyRun paper: tasks of 1 and 0.5 ms that sleep without the GIL, so that no
core is needed for them, on 8 and 16 threads; once with Python's switch interval as it is, once at 5 us. The speed-up is
over one thread that does the same one after another. Bodies sleep until a moment on the clock, with timers that are
exact (PR_SET_TIMERSLACK) but for the short switch interval; how long they really take is measured, and is what the
speed-up is over.
"""

from __future__ import annotations

import ctypes
import statistics
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import closing
from typing import Any

from cellmill.bench import rivals
from cellmill.bench.harness import OURS, Benchmark, Metric, Report
from cellmill.bench.turn import Sizes, Turn

from .gil_graphs import SUITE
from .shapes import Graph, independent

STDLIB, THREADED, CLUSTER = "thread-pool", "dask:threaded", "dask:cluster"
PR_SET_TIMERSLACK = 29
EXACT_NS = 1
SHORT_SWITCH_S = 5e-6
CYRUN = {(8, 1000): (7.0, 6.6), (16, 1000): (12.6, 11.0), (8, 500): (6.2, 5.1), (16, 500): (10.2, 6.5)}
"""Table 1 of the paper, by threads and microseconds: the speed-up of CyRun, and of Dask beside it."""
CYRUN_SHORT = {(8, 1000): (7.4, 6.6), (16, 1000): (13.0, 11.1), (8, 500): (6.4, 5.2), (16, 500): (10.7, 6.5)}
"""Table 2: the same with a switch interval of 5 us."""


def body(seconds: float, *_inputs: Any) -> None:
    """Sleeps without the GIL."""
    time.sleep(seconds)


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = []
    for short in (False, True):
        for us in sizes["durations_us"]:
            for threads in sizes["threads"]:
                switch = ", switch interval 5 us" if short else ""
                title = f"{sizes['tasks']:,} tasks of {us / 1000:g} ms, {threads} threads{switch}"
                found.append(Metric(_key(threads, us, short), title, "times one thread"))
    for name, (title, *_) in SUITE.items():
        threads, us = sizes["graph_threads"], sizes["graph_us"]
        found.append(
            Metric(name, f"{title}, tasks of {us / 1000:g} ms, {threads} threads", "times one thread")
        )
    found.append(Metric("gil", "the GIL taken for a task, its own code included", "times", "lower"))
    return found


def _key(threads: int, us: int, short: bool) -> str:
    return f"{threads}x{us}us" + ("_short" if short else "")


class Threads(ABC):
    """A runtime over threads of this process: runs a graph of equal tasks to its end."""

    @abstractmethod
    def run(self, rows: list[list[int]], seconds: float) -> float:
        """Seconds from the first submit to the last result."""

    @abstractmethod
    def close(self) -> None:
        """End the threads."""


class Ours(Threads):
    """Cellmill's threads."""

    def __init__(self, threads: int) -> None:
        from cellmill import Executor

        self.pool = Executor(threads, backend="threads")
        self.waits = 0
        scheduler: Any = self.pool._backend.scheduler  # type: ignore[attr-defined]
        wait = scheduler.wait

        def counted(*given: Any) -> Any:
            self.waits += 1
            return wait(*given)

        scheduler.wait = counted

    def run(self, rows: list[list[int]], seconds: float) -> float:
        submit = self.pool.submit
        futures: list[Any] = []
        start = time.perf_counter()
        for inputs in rows:
            futures.append(submit(body, seconds, *[futures[i] for i in inputs]))
        for future in futures:
            future.result()
        return time.perf_counter() - start

    def acquisitions(self) -> int:
        """How often the GIL was taken so far, but for the tasks' own code: by their threads, and to settle futures."""
        members = self.pool._backend.pool.members.values()  # type: ignore[attr-defined]
        return self.waits + sum(int(member.form.acquired) for member in members)

    def close(self) -> None:
        self.pool.shutdown()


class Stdlib(Threads):
    """concurrent.futures.ThreadPoolExecutor, which knows no dependencies."""

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.pool = ThreadPoolExecutor(threads)

    def run(self, rows: list[list[int]], seconds: float) -> float:
        submit = self.pool.submit
        start = time.perf_counter()
        for future in [submit(body, seconds) for _ in rows]:
            future.result()
        return time.perf_counter() - start

    def close(self) -> None:
        self.pool.shutdown()


class DaskThreaded(Threads):
    """dask.threaded: its graph is made before the clock runs."""

    def __init__(self, threads: int) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self.pool = ThreadPoolExecutor(threads)
        self.threads = threads

    def run(self, rows: list[list[int]], seconds: float) -> float:
        from dask.threaded import get

        graph = {f"t{i}": (body, seconds, *[f"t{k}" for k in inputs]) for i, inputs in enumerate(rows)}
        ends = sorted(set(range(len(rows))).difference(*rows))
        start = time.perf_counter()
        get(graph, [f"t{i}" for i in ends], pool=self.pool, num_workers=self.threads)
        return time.perf_counter() - start

    def close(self) -> None:
        self.pool.shutdown()


class DaskCluster(Threads):
    """A LocalCluster of one worker with threads, in this process."""

    def __init__(self, threads: int) -> None:
        import logging

        from distributed import Client, LocalCluster

        logging.getLogger("distributed").setLevel(logging.ERROR)
        self.cluster = LocalCluster(
            n_workers=1, threads_per_worker=threads, processes=False, dashboard_address=None
        )
        self.client = Client(self.cluster)

    def run(self, rows: list[list[int]], seconds: float) -> float:
        submit = self.client.submit
        futures: list[Any] = []
        start = time.perf_counter()
        for inputs in rows:
            futures.append(submit(body, seconds, *[futures[i] for i in inputs], pure=False))
        self.client.gather(futures)
        return time.perf_counter() - start

    def close(self) -> None:
        self.client.close()
        self.cluster.close()


KINDS: dict[str, Callable[[int], Threads]] = {
    OURS: Ours,
    STDLIB: Stdlib,
    THREADED: DaskThreaded,
    CLUSTER: DaskCluster,
}


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime: independent tasks on more and more threads, then the graphs."""
    values: dict[str, float] = {}
    details: dict[str, Any] = {}
    rows = independent(int(sizes["tasks"])).rows()
    for short in (False, True):
        before = sys.getswitchinterval()
        sys.setswitchinterval(SHORT_SWITCH_S if short else before)
        # With exact timers, who waits for the GIL would really wake every 5 us, and take all cores for that.
        details["body_s_short" if short else "body_s"] = bodies = _bodies(0 if short else EXACT_NS, sizes)
        for threads in sizes["threads"]:
            with closing(KINDS[runtime](int(threads))) as pool:
                pool.run(rows[: 4 * threads], 1e-4)
                for us in sizes["durations_us"]:
                    values[_key(threads, us, short)] = _speed_up(pool, rows, us, bodies[us], sizes)
                if isinstance(pool, Ours) and not short:
                    values["gil"] = _acquisitions(pool, rows, sizes)
        sys.setswitchinterval(before)
    if runtime != STDLIB:
        bodies = _bodies(EXACT_NS, sizes)
        with closing(KINDS[runtime](int(sizes["graph_threads"]))) as pool:
            for name, (_, make, full, quick) in SUITE.items():
                graph: Graph = make(*(quick if sizes["small_graphs"] else full))
                us = sizes["graph_us"]
                values[name] = _speed_up(pool, graph.rows(), us, bodies[us], sizes)
    return Turn(values, details)


def _bodies(slack_ns: int, sizes: Sizes) -> dict[int, float]:
    """Seconds that each body takes with timers so exact (0: as the system has them), by its nominal microseconds.

    Threads that are started from here have such timers too.
    """
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0)
    return {us: _serial(us) for us in {*sizes["durations_us"], sizes["graph_us"]}}


def _serial(us: int) -> float:
    """Seconds that a body of so many microseconds takes in one thread."""
    count = max(20, 50_000 // us)
    start = time.perf_counter()
    for _ in range(count):
        body(us * 1e-6)
    return (time.perf_counter() - start) / count


def _speed_up(pool: Threads, rows: list[list[int]], us: int, alone: float, sizes: Sizes) -> float:
    """The middle one of some rounds; of fewer where they are long, which then vary less."""
    seconds: list[float] = []
    while len(seconds) < sizes["rounds"] and sum(seconds) < sizes["longest_s"]:
        seconds.append(pool.run(rows, us * 1e-6))
    return len(rows) * alone / statistics.median(seconds)


def _acquisitions(pool: Ours, rows: list[list[int]], sizes: Sizes) -> float:
    """A task, of those with the shortest body; one of them is that body's."""
    before = pool.acquisitions()
    pool.run(rows, min(sizes["durations_us"]) * 1e-6)
    return 1 + (pool.acquisitions() - before) / len(rows)


def finish(report: Report) -> None:
    """Our speed-up over that of Dask's threads, beside what the paper has."""
    lines = ["Speed-up of Cellmill's threads over that of Dask's (dask.threaded), and what CyRun reached:"]
    for short, paper in ((False, CYRUN), (True, CYRUN_SHORT)):
        for us in report.sizes["durations_us"]:
            for threads in report.sizes["threads"]:
                ours = report.result(_key(threads, us, short), OURS)
                dask = report.result(_key(threads, us, short), THREADED)
                if ours is None or dask is None or (threads, us) not in paper:
                    continue
                mine, theirs = paper[threads, us]
                lines.append(
                    f"  {threads:2} threads, {us / 1000:g} ms{', switch interval 5 us' if short else '':24}"
                    f" {ours.median:5.1f} / {dask.median:4.1f} = {ours.median / dask.median:.2f}"
                    f"   CyRun {mine:4.1f} / {theirs:4.1f} = {mine / theirs:.2f}"
                )
    if len(lines) > 1:
        report.summary = "\n".join(lines)


def missing(key: str) -> str | None:
    """Dask's threads need dask alone."""
    return rivals.missing(key) if rivals.is_rival(key) else None


BENCHMARK = Benchmark(
    name="graphs",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, STDLIB, THREADED, CLUSTER),
    full={
        "tasks": 1024,
        "durations_us": [1000, 500],
        "threads": [8, 16],
        "rounds": 5,
        "longest_s": 2.0,
        "graph_us": 1000,
        "graph_threads": 8,
        "small_graphs": False,
    },
    quick={
        "tasks": 256,
        "durations_us": [1000, 500],
        "threads": [8, 16],
        "rounds": 1,
        "longest_s": 2.0,
        "graph_us": 1000,
        "graph_threads": 8,
        "small_graphs": True,
    },
    own={
        OURS: "cellmill, threads",
        STDLIB: "ThreadPoolExecutor",
        THREADED: "dask.threaded",
        CLUSTER: "Dask, LocalCluster(processes=False)",
    },
    missing=missing,
    finish=finish,
    notes=(
        "The speed-up is over one thread that sleeps as long, measured in the same process; it is at most the threads.",
        "dask.threaded is given its graph ready made; the others begin with the first submit.",
        (
            "The GIL is counted where Cellmill takes it, in the task's thread and to settle its future, and once for "
            "the return of the task's own code to Python."
        ),
    ),
)
