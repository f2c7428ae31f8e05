"""How many no-op apps per second does Parsl run with Cellmill beneath, with its threads, and with its own processes?

Parsl's data-flow kernel handles each app in the caller: what it takes by itself is measured with an executor that has
each result at once. It is compared by processor time: its apps per second are no bound, for with other executors the
kernel's work is done in several threads.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from cellmill.bench import measure
from cellmill.bench.harness import OURS, Benchmark, Metric, Report
from cellmill.bench.turn import Sizes, Turn

ALONE = "at-once"


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("apps", f"{int(sizes['apps']):,} no-op apps", "apps/s"),
        Metric("submitted", "of these, handed over", "apps/s"),
        Metric("caller", "of these, the caller's processor time", "us an app", "lower"),
        Metric("chain", f"a chain of {int(sizes['links'])} apps", "ms each", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One executor, the median of some rounds."""
    parsl = importlib.import_module("parsl")
    app = parsl.python_app(none)
    with tempfile.TemporaryDirectory() as folder:
        config = parsl.Config(
            executors=[executor_of(runtime, workers)], run_dir=folder, initialize_logging=False
        )
        with parsl.load(config):
            rates, submitted, caller = [], [], []
            for _ in range(1 + int(sizes["rounds"])):
                start, processor = time.perf_counter(), time.process_time()
                futures = [app(i) for i in range(int(sizes["apps"]))]
                submitted.append(len(futures) / (time.perf_counter() - start))
                for future in futures:
                    future.result()
                rates.append(len(futures) / (time.perf_counter() - start))
                caller.append(1e6 * (time.process_time() - processor) / len(futures))
            start = time.perf_counter()
            last: Any = 0
            for _ in range(int(sizes["links"])):
                last = app(last)
            last.result()
            each = 1000 * (time.perf_counter() - start) / int(sizes["links"])
    # in the first round workers start, and import Parsl
    found = {"apps": rates, "submitted": submitted, "caller": caller}
    return Turn({**{key: measure.p50(values[1:]) for key, values in found.items()}, "chain": each})


def none(_: Any) -> int:
    """Do nothing."""
    return 7


def executor_of(runtime: str, workers: int) -> Any:
    """Make an executor of Parsl's, by the name of a contender."""
    if runtime == "cellmill":
        return importlib.import_module("cellmill.parsl").CellmillExecutor(max_workers=workers)
    if runtime == ALONE:
        return _at_once()
    if runtime == "threads":
        return importlib.import_module("parsl.executors").ThreadPoolExecutor(max_threads=workers)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # its own programs
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))  # the functions that it is given
    executors = importlib.import_module("parsl.executors")
    providers = importlib.import_module("parsl.providers")
    return executors.HighThroughputExecutor(
        address="127.0.0.1",
        loopback_address="127.0.0.1",
        max_workers_per_node=workers,
        provider=providers.LocalProvider(init_blocks=1, max_blocks=1),
        encrypted=False,
    )


def _at_once() -> Any:
    """An executor of Parsl's interface without workers: each app is over as soon as it is handed over."""
    base: Any = importlib.import_module("parsl.executors.base").ParslExecutor

    class AtOnce(base):
        label = "at_once"

        def start(self) -> None:
            pass

        def submit(self, func: Any, resource_specification: Any, *args: Any, **kwargs: Any) -> Any:
            future: Future[int] = Future()
            future.set_result(none(*args))
            return future

        def shutdown(self) -> None:
            super().shutdown()

        def monitor_resources(self) -> bool:
            return False

    return AtOnce()


def finish(report: Report) -> None:
    """How much of what an app takes in the caller is Parsl's own kernel."""
    ours, alone = (report.result("caller", who) for who in (OURS, ALONE))
    if ours is None or alone is None:
        return
    report.summary = (
        f"Processor time of the caller for each app: {ours.median:.0f} us with Cellmill beneath, "
        f"{alone.median:.0f} us in Parsl's data-flow kernel alone ({alone.median / ours.median:.0%} of it)."
    )


def missing_parsl(_: str) -> str | None:
    """Why no contender can be measured here; None where all can."""
    return None if importlib.util.find_spec("parsl") else "needs Parsl: pip install 'cellmill[parsl]'"


BENCHMARK = Benchmark(
    name="parsl-apps",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, ALONE, "threads", "htex"),
    full={"apps": 5_000, "links": 500, "rounds": 3},
    quick={"apps": 500, "links": 50, "rounds": 1},
    own={ALONE: "Parsl's kernel alone", "threads": "Parsl's threads", "htex": "HighThroughputExecutor"},
    missing=missing_parsl,
    finish=finish,
)
