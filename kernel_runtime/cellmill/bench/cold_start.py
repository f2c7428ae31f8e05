"""How long from a new Python process to the first result, and where does it go?

Workload: figures 3.1 and 3.3 to 3.5 of the thesis, with processes in the place of virtual machines: the phases of one
start, and how many workers, started together, are ready when; each with a library imported by the user's function, or
imported before it by the process that workers are forked from.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from . import measure
from .harness import OURS, Benchmark, Metric, Settings
from .turn import Sizes, Turn

_PROGRAM = """\
import time
awake = time.monotonic_ns()
from cellmill.bench.cold_process import main
main({runtime!r}, {workers}, awake)
"""
_TOGETHER = """\
from cellmill.bench.cold_process import together
together({runtime!r}, {workers}, {library!r}, {preload})
"""
PRELOADED = "preloaded"
TOGETHER = (OURS, PRELOADED, "ppe", "pool")
_PHASES = ("import", "create", "first_call", "second_call", "stop")


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    together = f"{sizes['together']} workers that need {sizes['library']}"
    return [
        Metric("first_result", "new process to first result", "ms", "lower"),
        Metric("interpreter", "  interpreter starts", "ms", "lower"),
        Metric("import", "  runtime is imported", "ms", "lower"),
        Metric("create", "  executor is made", "ms", "lower"),
        Metric("first_call", "  first call returns", "ms", "lower"),
        Metric("second_call", "second call", "ms", "lower"),
        Metric("stop", "shut down", "ms", "lower"),
        Metric("together_p50", f"{together}: half of them run user code", "ms", "lower"),
        Metric("together_last", f"{together}: all of them do", "ms", "lower"),
    ]


def prepare(settings: Settings, sizes: dict[str, Any], folder: Path) -> None:
    """Without numpy, a smaller library serves."""
    if importlib.util.find_spec(sizes["library"]) is None:
        sizes["library"] = "sqlite3"


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure one runtime in new processes that have imported nothing before it."""
    values, details = ({}, {}) if runtime == PRELOADED else _phases(runtime, workers)
    if runtime in TOGETHER:
        program = _TOGETHER.format(
            runtime=OURS if runtime == PRELOADED else runtime,
            workers=int(sizes["together"]),
            library=sizes["library"],
            preload=runtime == PRELOADED,
        )
        ready = sorted(int(ns) / 1e6 for ns in _said(program))
        values |= {"together_p50": measure.p50(ready), "together_last": ready[-1]}
        details["ready_ms"] = ready
    return Turn(values, details)


def _phases(runtime: str, workers: int) -> tuple[dict[str, float], dict[str, Any]]:
    spawned = time.monotonic_ns()
    said = _said(_PROGRAM.format(runtime=runtime, workers=workers))
    awake, *ends = (int(ns) for ns in said)
    values = {"interpreter": (awake - spawned) / 1e6}
    for phase, start, end in zip(_PHASES, ends, ends[1:], strict=False):
        values[phase] = (end - start) / 1e6
    values["first_result"] = sum(values[k] for k in ("interpreter", "import", "create", "first_call"))
    return values, {"benchmark_import_ms": (ends[0] - awake) / 1e6}


def _said(program: str) -> list[str]:
    """The words of the last line that a fresh interpreter printed."""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout.splitlines()[-1].split()


BENCHMARK = Benchmark(
    name="cold-start",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", PRELOADED, "ppe", "pool", "loky", "joblib", "dask", "ray", "parsl"),
    full={"together": 15, "library": "numpy"},
    quick={"together": 4, "library": "numpy"},
    prepare=prepare,
    own={PRELOADED: "cellmill, preloaded"},
    notes=(
        (
            "'new process to first result' is the sum of the four phases under it; what the benchmark itself imports "
            "is left out."
        ),
        (
            "workers together: each runs one task that imports the library and then waits for the others, so that "
            "none runs two; every worker's time is in the JSON, which makes the distribution."
        ),
        "Cellmill imports its parts on first use: what others import at once is in its 'executor is made'.",
    ),
)
