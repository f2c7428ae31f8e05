"""Where does the time of a Parsl app go, by stage and by thread?

Workload: figures 2 and 3 of the Parsl paper, with no-op apps. By stage: Parsl's own stamps and the app's, one app at a
time. By thread: the processor time of the caller's threads for a flood of apps. By category: a second flood under
cProfile, as in the paper, but by processor time, so that it tells no waits; it makes Python code slower than it is.
"""

from __future__ import annotations

import cProfile
import importlib
import importlib.util
import os
import tempfile
import threading
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from cellmill.bench import measure
from cellmill.bench.harness import OURS, Benchmark, Metric, Report, figure
from cellmill.bench.turn import Sizes, Turn

from .parsl_apps import executor_of, missing_parsl, none

STAGES = {
    "handed_over": "from the call to the executor",
    "begun": "from there to the worker, until it runs",
    "returned": "back, until the executor has its result",
    "settled": "until its future is done",
    "whole": "from the call to the result",
}
THREADS = {
    "main": "the calling thread",
    "kernel": "Parsl's data-flow kernel's threads",
    "executor": "the executor's threads",
}
CATEGORIES = {
    "kernel": "Parsl's data-flow kernel",
    "executor": "the executor",
    "serialising": "serialising",
    "messages": "messages",
    "futures": "futures, locks, queues",
    "other": "the rest",
}
PACKAGES = (
    ("serialising", ("/serialize/", "/serialization/", "pickle", "dill", "copyreg")),
    ("messages", ("zmq", "socket", "selectors")),
    ("kernel", ("/parsl/dataflow/", "/parsl/app/", "/parsl/data_provider/", "typeguard")),
    ("executor", ("/parsl/executors/", "/parsl/jobs/", "cellmill", "csched", "_cffi")),
    ("futures", ("/concurrent/futures/", "threading.py", "queue.py", "queue", "lock")),
)


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    apps = f"{int(sizes['apps']):,} at once"
    return [
        *(Metric(f"stage:{key}", f"one app alone: {title}", "us", "lower") for key, title in STAGES.items()),
        *(Metric(f"cpu:{key}", f"{apps}: {title}", "us an app", "lower") for key, title in THREADS.items()),
        *(
            Metric(f"profiled:{key}", f"{apps}, under cProfile: {title}", "us an app", "lower")
            for key, title in CATEGORIES.items()
        ),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One executor: stages and threads first, then another one of its kind that is profiled."""
    parsl = importlib.import_module("parsl")
    app, stamped, count = parsl.python_app(none), parsl.python_app(begun_ns), int(sizes["apps"])
    found: dict[str, float] = {}
    with _Loaded(runtime, workers):
        _flood(app, count)  # workers start, and import Parsl
        before = _processor_ns()
        _flood(app, count)
        for key, ns in _processor_ns().items():
            found[f"cpu:{key}"] = (ns - before[key]) / 1000 / count
        found.update(_stages(stamped, int(sizes["alone"])))
    profiles: list[cProfile.Profile] = []
    threading.setprofile(lambda *_: _profile(profiles))
    with _Loaded(runtime, workers):
        own = _profile(profiles)
        _flood(app, count)
        own.disable()
    threading.setprofile(None)
    by_thread = [_by_category(profile) for profile in profiles]
    for key in CATEGORIES:
        found[f"profiled:{key}"] = 1e6 * sum(times[key] for times in by_thread) / count
    return Turn(found)


def begun_ns(_: Any) -> int:
    """Tell when it runs, by the clock that Parsl's own stamps are of."""
    return time.time_ns()


class _Loaded:
    """Parsl with one executor, while the ``with`` block lasts."""

    def __init__(self, runtime: str, workers: int) -> None:
        self._folder = tempfile.TemporaryDirectory()
        parsl = importlib.import_module("parsl")
        self._kernel = parsl.load(
            parsl.Config(
                executors=[executor_of(runtime, workers)],
                run_dir=self._folder.name,
                initialize_logging=False,
            )
        )

    def __enter__(self) -> None:
        self._kernel.__enter__()

    def __exit__(self, *error: object) -> None:
        self._kernel.__exit__(*error)
        self._folder.cleanup()


def _flood(app: Any, count: int) -> None:
    for future in [app(i) for i in range(count)]:
        future.result()


def _stages(app: Any, count: int) -> dict[str, float]:
    """Microseconds of each stage of an app, in the median of so many, one after another."""
    rows: list[list[float]] = []
    for i in range(count):
        called = time.time_ns()
        future = app(i)
        begun = future.result()
        done = time.time_ns()
        record = future.task_record
        stamps = [_ns(record["try_time_launched"]), begun, _ns(record["try_time_returned"]), done]
        rows.append([*(b - a for a, b in zip([called, *stamps[:-1]], stamps, strict=True)), done - called])
    return {f"stage:{key}": measure.p50([row[i] for row in rows]) / 1000 for i, key in enumerate(STAGES)}


def _ns(stamp: datetime) -> int:
    return round(stamp.timestamp() * 1e6) * 1000


def _processor_ns() -> dict[str, int]:
    """Nanoseconds of processor time that the caller's threads have had, by whose they are."""
    names = {thread.native_id: thread.name for thread in threading.enumerate()}
    found: Counter[str] = Counter(dict.fromkeys(THREADS, 0))
    for number in map(int, os.listdir("/proc/self/task")):
        name = names.get(number, "")  # a thread of C has none
        of_kernel = name.startswith(("Task-Launch", "JobStatusPoller"))
        key = "main" if name == "MainThread" else "kernel" if of_kernel else "executor"
        found[key] += int(Path(f"/proc/self/task/{number}/schedstat").read_text().split()[0])
    return dict(found)


def _profile(profiles: list[cProfile.Profile]) -> cProfile.Profile:
    """Profile the calling thread from now on."""
    profile = cProfile.Profile(time.thread_time)
    profiles.append(profile)
    profile.enable()
    return profile


def _by_category(profile: cProfile.Profile) -> dict[str, float]:
    """Seconds of functions by category. What a function calls in C counts as its own, unless it has a category."""
    found = dict.fromkeys(CATEGORIES, 0.0)
    for entry in profile.getstats():
        if isinstance(entry.code, str):
            continue
        own = _category(entry.code.co_filename) or "other"
        found[own] += entry.inlinetime
        for called in entry.calls or ():
            if isinstance(called.code, str):
                found[_category(called.code) or own] += called.inlinetime
    return found


def _category(place: str) -> str | None:
    return next((key for key, words in PACKAGES if any(word in place for word in words)), None)


def finish(report: Report) -> None:
    """How much of the whole way of one app, and of the caller's processor time, is Parsl's own."""
    lines = []
    for runtime, title in report.titles.items():
        found = {
            key: report.result(key, runtime) for key in ("stage:whole", "stage:handed_over", "stage:settled")
        }
        cpu = {key: report.result(f"cpu:{key}", runtime) for key in THREADS}
        if any(result is None for result in (*found.values(), *cpu.values())):
            continue
        whole, *own = (result.median for result in found.values() if result is not None)
        threads = {key: result.median for key, result in cpu.items() if result is not None}
        lines.append(
            f"{title}: {figure(whole)} us for one app alone, {sum(own) / whole:.0%} of it before the executor has it "
            f"and after it is done; {figure(sum(threads.values()))} us of the caller's processors for each of many"
        )
    report.summary = "\n".join(lines)


BENCHMARK = Benchmark(
    name="parsl-time",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, "threads", "htex"),
    full={"apps": 5_000, "alone": 500},
    quick={"apps": 300, "alone": 30},
    notes=(
        "Parsl as it is installed, with its log switched off.",
        "the processor time of HighThroughputExecutor's other processes is not counted.",
    ),
    own={"threads": "Parsl's threads", "htex": "HighThroughputExecutor"},
    missing=missing_parsl,
    finish=finish,
)
