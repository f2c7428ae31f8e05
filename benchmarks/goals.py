"""The figures Cellmill wants to reach, as data: what, against whom, how much, and what bounds it.

`figures` measures them and prints the table. A goal reads medians of other benchmarks; nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from cellmill.bench.harness import OURS, Report, Result

Reports = list[Report]
Reached = Callable[[Reports], float | None]

_PYTHON_TASK = (
    "bound by Python on both sides: a future, its place in a table, one cffi call and its settling in the kernel, a "
    "call and its answer in the worker"
)
_TWO_CORES = "kernel and workers share the cores, so what the kernel spends on a task is missing for work"
_MEMORY_SPEED = "bound by two copies at the speed of memory: into shared memory, and the result into it"
_FRESH_PAGES = "the first time, the system makes and clears every page; later ones find them"


@dataclass(frozen=True, slots=True)
class Goal:
    """One row. ``shown`` are further figures of the same run to print beside it: benchmark, metric, runtime."""

    what: str
    rival: str
    better: Literal["higher", "lower"]
    wanted: float
    unit: str
    reached: Reached
    note: str = ""
    shown: tuple[tuple[str, str, str], ...] = ()

    def met(self, value: float) -> bool:
        """Whether a figure is good enough."""
        return value >= self.wanted if self.better == "higher" else value <= self.wanted


def result(reports: Reports, benchmark: str, metric: str, runtime: str) -> Result | None:
    """What was measured, wherever it was."""
    found = (r.result(metric, runtime) for r in reports if r.benchmark == benchmark)
    return next((one for one in found if one is not None), None)


def median(benchmark: str, metric: str, runtime: str = OURS, scale: float = 1.0) -> Reached:
    """The figure itself."""

    def reached(reports: Reports) -> float | None:
        found = result(reports, benchmark, metric, runtime)
        return None if found is None else found.median * scale

    return reached


def times(benchmark: str, metric: str, rival: str) -> Reached:
    """How many times as good Cellmill is as a rival (or a ceiling) measured in the same run."""

    def reached(reports: Reports) -> float | None:
        other = result(reports, benchmark, metric, rival)
        report = next((r for r in reports if r.benchmark == benchmark and other in r.results), None)
        return None if other is None or report is None else report.ratio(other)

    return reached


def journeys_cost(reports: Reports) -> float | None:
    """Percent of a no-op's time that journeys take: their nanoseconds in C over those of a task through submit."""
    on = result(reports, "scheduler-alone", "journeys", OURS)
    off = result(reports, "scheduler-alone", "journeys", "journeyless")
    submit = result(reports, "throughput", "submit", OURS)
    if on is None or off is None or submit is None:
        return None
    return max(on.median - off.median, 0.0) * submit.median / 1e9 * 100


def _rival(what: str, key: str, name: str, wanted: float, metric: str = "submit", note: str = "") -> Goal:
    shown = (("throughput", metric, OURS), ("throughput", metric, key))
    return Goal(what, name, "higher", wanted, "x", times("throughput", metric, key), note, shown)


def _least(what: str, wanted: float, unit: str, benchmark: str, metric: str, rival: str, note: str) -> Goal:
    return Goal(what, rival, "higher", wanted, unit, median(benchmark, metric), note)


_SUBMIT = "no-op submit, one future each"
_BUSY = "the same beside a busy Python thread"
GOALS = (
    _rival(_SUBMIT, "ppe", "ProcessPoolExecutor", 20, note=_PYTHON_TASK),
    Goal(
        _SUBMIT,
        "bare ring",
        "higher",
        0.40,
        "x",
        times("throughput", "submit", "bare-ring"),
        "the bare ring has no futures, records, dependencies or journeys and notices no death: what Python can hand "
        "over at most",
        (("throughput", "submit", "bare-ring"), ("throughput", "submit", "csched")),
    ),
    _rival(_SUBMIT, "pool", "multiprocessing.Pool", 7),
    _rival(_SUBMIT, "ray", "Ray", 100),
    _rival(_SUBMIT, "dask", "Dask", 400),
    _rival(_SUBMIT, "parsl", "Parsl", 250),
    Goal(
        _BUSY,
        "its fair share",
        "higher",
        0.5,
        "x",
        median("throughput", "kept_beside_busy_thread", scale=2.0),
        "two threads want the interpreter: half of the rate alone is the fair share; each hand-over of the "
        "interpreter lasts up to its switch interval (5 ms)",
        (("throughput", "submit_beside_busy_thread", OURS), ("throughput", "submit", OURS)),
    ),
    _rival(_BUSY, "ppe", "ProcessPoolExecutor", 20, "submit_beside_busy_thread"),
    Goal(
        "map of no-ops, an outcome and a journey each",
        "multiprocessing.Pool.map",
        "higher",
        1.5e6,
        "elements/s",
        median("throughput", "map"),
        "the rival hands over whole chunks and keeps nothing of an element",
        (("throughput", "map", "pool"), ("throughput", "map", "ppe")),
    ),
    Goal(
        "round trip p50 while tasks flow",
        "ProcessPoolExecutor",
        "lower",
        8,
        "us",
        median("latency", "flowing_p50"),
        "both sides spin; anything else that runs on these cores takes the place of one of them",
        (("latency", "flowing_p50", "ppe"),),
    ),
    Goal(
        "round trip p50 after a second of idleness",
        "ProcessPoolExecutor",
        "lower",
        200,
        "us",
        median("latency", "after_idleness_p50"),
        "bound by waking a sleeping process on a sleeping core, twice",
        (("latency", "after_idleness_p50", "bare-pipe"), ("latency", "after_idleness_p50", "ppe")),
    ),
    Goal(
        "the same",
        "ProcessPoolExecutor",
        "higher",
        4,
        "x",
        times("latency", "after_idleness_p50", "ppe"),
    ),
    Goal("processor time when idle", "", "lower", 1, "% of a core", median("latency", "idle_cpu")),
    Goal(
        "1 MB array in, a new one out",
        "ProcessPoolExecutor",
        "higher",
        25,
        "x",
        times("payload", "stream", "ppe"),
        _MEMORY_SPEED,
        (
            ("payload", "stream", OURS),
            ("payload", "stream", "ppe"),
            ("payload", "stream", "bare-copy"),
        ),
    ),
    Goal("the same", "joblib", "higher", 4, "x", times("payload", "stream", "joblib")),
    Goal(
        "100 MB array in, a new one out: cold",
        "ProcessPoolExecutor",
        "higher",
        5,
        "x",
        times("payload", "first_100000000", "ppe"),
        _FRESH_PAGES,
        (("payload", "first_100000000", OURS), ("payload", "first_100000000", "ppe")),
    ),
    Goal(
        "the same on recycled blocks",
        "ProcessPoolExecutor",
        "higher",
        15,
        "x",
        times("payload", "later_100000000", "ppe"),
        _MEMORY_SPEED,
        (("payload", "later_100000000", OURS), ("payload", "later_100000000", "ppe")),
    ),
    _least(
        "tasks of 100 us",
        0.93,
        "of it",
        "granularity",
        "submit_100us",
        "bare processes",
        f"{_TWO_CORES}: at 100 us, 0.93 leaves 14 us of both cores for each task",
    ),
    _least("tasks of 1 ms", 0.97, "of it", "granularity", "submit_1000us", "bare processes", ""),
    _least("tasks of 10 ms", 0.98, "of it", "granularity", "submit_10000us", "bare processes", ""),
    Goal(
        "METG(50 %), submit",
        "Dask, Ray, ProcessPoolExecutor",
        "lower",
        5,
        "us",
        median("granularity", "metg_submit"),
        _TWO_CORES,
        tuple(("granularity", "metg_submit", key) for key in ("bare-ring", "ppe", "dask", "ray")),
    ),
    Goal(
        "METG(50 %), map, per element",
        "Dask, Ray, ProcessPoolExecutor",
        "lower",
        1.5,
        "us",
        median("granularity", "metg_map"),
        "the rivals' chunks carry no outcome and no journey per element",
        tuple(("granularity", "metg_map", key) for key in ("ppe", "dask", "ray")),
    ),
    Goal(
        "memory per outstanding task, future included",
        "ProcessPoolExecutor",
        "lower",
        320,
        "bytes",
        median("memory", "bytes"),
        "128 of them are the C record (a larger one does not compile), the rest is the future and its place",
        (("memory", "bytes", "ppe"),),
    ),
    Goal(
        "memory over ten rounds of 1 M tasks",
        "its first five rounds",
        "lower",
        2,
        "% more",
        median("memory", "grown", "soak"),
        "the highest of the last five rounds over that of the first; measured once, not five times",
    ),
    Goal(
        "scheduler alone: 1 M independent tasks",
        "",
        "higher",
        5e6,
        "tasks/s",
        median("scheduler-alone", "independent"),
    ),
    Goal(
        "scheduler alone: binary tree",
        "",
        "higher",
        5e6,
        "edges/s",
        median("scheduler-alone", "tree"),
        "a tree has as many edges as tasks, less one",
    ),
    Goal(
        "scheduler alone: stencil of 1,000 x 1,000",
        "",
        "higher",
        5e6,
        "edges/s",
        median("scheduler-alone", "stencil_edges"),
    ),
    *(
        Goal(
            f"scheduler alone: {title}",
            "the same rules in Python",
            "higher",
            20,
            "x",
            times("scheduler-alone", metric, "python"),
            "about 200,000 tasks each: the reference takes long",
        )
        for metric, title in (("independent", "independent"), ("tree", "tree"), ("stencil", "stencil"))
    ),
    _least(
        "submit from 1 to 32 workers: the lowest",
        0.65,
        "of it",
        "workers",
        "submit_kept",
        "its own peak",
        "more workers than cores take turns with the kernel; which of them wake is up to the system",
    ),
    _least("map from 1 to 32 workers: the lowest", 0.65, "of it", "workers", "map_kept", "its own peak", ""),
    Goal(
        "journeys on against compiled out",
        "itself",
        "lower",
        5,
        "% of a no-op",
        journeys_cost,
        "their nanoseconds in C, measured on the scheduler alone, over those of a task through submit",
        (("scheduler-alone", "journeys", OURS), ("scheduler-alone", "journeys", "journeyless")),
    ),
    Goal(
        "chain of 1,000 no-ops while the main thread computes",
        "itself, idle",
        "lower",
        200,
        "ms",
        median("chain", "computing"),
        "C frees and sends each link without the interpreter; the helper thread wakes for it",
        (("chain", "idle", OURS), ("chain", "computing", "dask"), ("chain", "computing", "ray")),
    ),
)
