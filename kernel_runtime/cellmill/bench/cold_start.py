"""How long from a new Python process to the first result, and where does it go?

Workload: figures 3.3 to 3.5 of the thesis, with processes in the place of virtual machines.
"""

from __future__ import annotations

import subprocess
import sys
import time

from .harness import Benchmark, Metric, Sizes, Turn

_PROGRAM = """\
import time
awake = time.monotonic_ns()
from cellmill.bench.cold_process import main
main({runtime!r}, {workers}, awake)
"""
_PHASES = ("import", "create", "first_call", "second_call", "stop")


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("first_result", "new process to first result", "ms", "lower"),
        Metric("interpreter", "  interpreter starts", "ms", "lower"),
        Metric("import", "  runtime is imported", "ms", "lower"),
        Metric("create", "  executor is made", "ms", "lower"),
        Metric("first_call", "  first call returns", "ms", "lower"),
        Metric("second_call", "second call", "ms", "lower"),
        Metric("stop", "shut down", "ms", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One runtime, in yet another process that has imported nothing before it."""
    program = _PROGRAM.format(runtime=runtime, workers=workers)
    spawned = time.monotonic_ns()
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True)
    awake, *ends = (int(ns) for ns in done.stdout.splitlines()[-1].split())
    values = {"interpreter": (awake - spawned) / 1e6}
    for phase, start, end in zip(_PHASES, ends, ends[1:], strict=False):
        values[phase] = (end - start) / 1e6
    values["first_result"] = sum(values[k] for k in ("interpreter", "import", "create", "first_call"))
    return Turn(values, {"benchmark_import_ms": (ends[0] - awake) / 1e6})


BENCHMARK = Benchmark(
    name="cold-start",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", "loky", "joblib", "dask", "ray", "parsl"),
    full={},
    quick={},
    notes=(
        (
            "'new process to first result' is the sum of the four phases under it; what the benchmark itself imports "
            "is left out."
        ),
        "Cellmill imports its parts on first use: what others import at once is in its 'executor is made'.",
    ),
)
