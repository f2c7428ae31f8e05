"""How many no-op apps per second does Parsl run with Cellmill beneath, with its threads, and with its own processes?

Parsl's data-flow kernel handles each app in the caller: it bounds them all.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cellmill.bench import measure
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("apps", f"{int(sizes['apps']):,} no-op apps", "apps/s"),
        Metric("submitted", "of these, handed over", "apps/s"),
        Metric("chain", f"a chain of {int(sizes['links'])} apps", "ms each", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One executor, the median of some rounds."""
    parsl = importlib.import_module("parsl")
    app = parsl.python_app(none)
    with tempfile.TemporaryDirectory() as folder:
        config = parsl.Config(
            executors=[_executor(runtime, workers)], run_dir=folder, initialize_logging=False
        )
        with parsl.load(config):
            rates, submitted = [], []
            for _ in range(1 + int(sizes["rounds"])):
                start = time.perf_counter()
                futures = [app(i) for i in range(int(sizes["apps"]))]
                submitted.append(len(futures) / (time.perf_counter() - start))
                for future in futures:
                    future.result()
                rates.append(len(futures) / (time.perf_counter() - start))
            start = time.perf_counter()
            last: Any = 0
            for _ in range(int(sizes["links"])):
                last = app(last)
            last.result()
            each = 1000 * (time.perf_counter() - start) / int(sizes["links"])
    # in the first round workers start, and import Parsl
    return Turn({"apps": measure.p50(rates[1:]), "submitted": measure.p50(submitted[1:]), "chain": each})


def none(_: Any) -> int:
    """Do nothing."""
    return 7


def _executor(runtime: str, workers: int) -> Any:
    if runtime == "cellmill":
        return importlib.import_module("cellmill.parsl").CellmillExecutor(max_workers=workers)
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


def _missing(_: str) -> str | None:
    return None if importlib.util.find_spec("parsl") else "needs Parsl: pip install 'cellmill[parsl]'"


BENCHMARK = Benchmark(
    name="parsl-apps",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "threads", "htex"),
    full={"apps": 5_000, "links": 500, "rounds": 3},
    quick={"apps": 500, "links": 50, "rounds": 1},
    own={"threads": "Parsl's threads", "htex": "HighThroughputExecutor"},
    missing=_missing,
)
