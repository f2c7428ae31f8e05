"""Where does a task spend its time, from submit to result?

Workload: figures 2 and 3 of the Parsl paper: stamps at every boundary that a no-op with one argument crosses, for
10,000 tasks at once, for a window of a few in flight, and one at a time. The intervals add up to the whole way, which
is checked; the processor time of each part (threads of the kernel, workers) is read from the system meanwhile.
"""

from __future__ import annotations

import os
import time
from collections import deque
from itertools import pairwise
from pathlib import Path
from typing import Any

from cellmill.bench import bodies, machine, measure
from cellmill.bench.harness import OURS, Benchmark, Metric
from cellmill.bench.rivals import Runtime, running
from cellmill.bench.turn import Sizes, Turn
from cellmill.telemetry.schema import INTERVALS, STAGES

LOADS = {"flood": "all at once", "window": "64 in flight", "single": "one at a time"}
WINDOW = 64
_GAPS = tuple(interval.replace("-", "_") for interval in INTERVALS)
_PARTS = ("pickling", *_GAPS, "whole")


_TITLES = {
    "pickling": "pickling in the kernel",
    "pack": "pack the result",
    "whole": "submitted to resolved",
    "workers": "workers and zygote",
    "main_thread": "kernel, main thread",
    "other_threads": "kernel, other threads",
}


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = []
    for part in _PARTS:
        title = _TITLES.get(part, part.replace("_", " "))
        for statistic in ("mean", "p50", "p99"):
            found.append(Metric(f"{part}_{statistic}", f"{title}, {statistic}", "us", "lower"))
        if part in _GAPS:
            found.append(Metric(f"{part}_share", f"{title}, share of the whole way", "%", "lower"))
    found.append(Metric("caller_mean", "the same by the caller's clock, mean", "us", "lower"))
    for part in ("main_thread", "other_threads", "workers"):
        found.append(Metric(f"cpu_{part}", f"processor time per task: {_TITLES[part]}", "us", "lower"))
    return found


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One load."""
    tasks = int(sizes["tasks"] if runtime != "single" else sizes["single_tasks"])
    with running(OURS, workers) as pool:
        _load(pool, runtime, tasks)
        before_rows, before_cpu = sum(1 for _ in pool.pool.journey_rows()), _cpu_ns()
        trips = _load(pool, runtime, tasks)
        cpu = {part: (ns - before_cpu[part]) / 1e3 / tasks for part, ns in _cpu_ns().items()}
        rows = list(pool.pool.journey_rows())[before_rows:]
    assert len(rows) == tasks
    values = _parts([[row[stage] for stage in STAGES] for row in rows], [row["pack_ns"] for row in rows])
    if trips:
        values["caller_mean"] = _caller_us(rows, trips)
    return Turn({**values, **{f"cpu_{part}": max(us, 0.0) for part, us in cpu.items()}})


def _load(pool: Runtime, load: str, tasks: int) -> list[tuple[int, int]]:
    """Run the tasks; one at a time: with the caller's clock before and after each."""
    trips = []
    if load == "flood":
        pool.submit_all(bodies.noop_of, [(number,) for number in range(tasks)])
        pool.handles = []
    elif load == "single":
        for number in range(tasks):
            start = time.monotonic_ns()
            pool.round_trip(bodies.noop_of, number)
            trips.append((start, time.monotonic_ns()))
    else:
        flying: deque[Any] = deque()
        for number in range(tasks):
            flying.append(pool.submit(bodies.noop_of, number))
            if len(flying) == WINDOW:
                pool.take(flying.popleft())
        pool.gather(flying)
    return trips


def _parts(journeys: list[list[int]], pickling_ns: list[int]) -> dict[str, float]:
    """Mean, p50, p99 of each part in microseconds; every task's parts must add up to its whole way."""
    spent: dict[str, list[float]] = {part: [] for part in _PARTS}
    for stamps, pickling in zip(journeys, pickling_ns, strict=True):
        gaps = [end - start for start, end in pairwise(stamps)]
        assert min(gaps) >= 0, "the stamps of a task are out of order"
        assert sum(gaps) == stamps[-1] - stamps[0], "the intervals do not add up to the whole way"
        for name, gap in zip(_GAPS, gaps, strict=True):
            spent[name].append(gap / 1e3)
        spent["whole"].append(sum(gaps) / 1e3)
        spent["pickling"].append(pickling / 1e3)
    values: dict[str, float] = {}
    for part, found in spent.items():
        mean = sum(found) / len(found)
        values |= {f"{part}_mean": mean, f"{part}_p50": measure.p50(found), f"{part}_p99": measure.p99(found)}
        if part in _GAPS:
            values[f"{part}_share"] = 100 * sum(found) / sum(spent["whole"])
    return values


def _caller_us(rows: list[dict[str, Any]], trips: list[tuple[int, int]]) -> float:
    """The mean round trip by the caller's clock, between whose looks every stamp of the task must lie."""
    for row, (start, end) in zip(rows, trips, strict=True):
        assert start <= row["submitted"] <= row["resolved"] <= end, (
            "a stamp outside of the caller's own times"
        )
    return sum(end - start for start, end in trips) / 1e3 / len(trips)


def _cpu_ns() -> dict[str, int]:
    """Processor time so far: this process's main thread, its other threads, and all its descendants."""
    kernel, *others = machine.family()
    main = int(Path(f"/proc/self/task/{os.getpid()}/schedstat").read_text().split()[0])
    return {
        "main_thread": main,
        "other_threads": machine.cpu_ns([kernel]) - main,
        "workers": machine.cpu_ns(others),
    }


BENCHMARK = Benchmark(
    name="tagging",
    module=__name__,
    metrics=metrics,
    runtimes=tuple(LOADS),
    full={"tasks": 10_000, "single_tasks": 2_000},
    quick={"tasks": 1_000, "single_tasks": 200},
    own={load: f"cellmill, {how}" for load, how in LOADS.items()},
    notes=(
        (
            "checked for every task: its intervals add up to its way from submitted to resolved and, one at a time, "
            "that is within what the caller's clock measured; the rest is Python before and after."
        ),
        "all at once: nearly all of a task's time is waiting in the queue behind the others, or to be collected.",
    ),
)
