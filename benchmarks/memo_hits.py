"""How long does it take to find a result that is kept, beside joblib.Memory and Parsl's memoisation?"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellmill
from cellmill.bench import measure
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn


def metrics(_: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("cell", "a number, kept in memory, of a function of a cell", "us", "lower"),
        Metric("memory", "the same of a function of a module, whose files are looked at", "us", "lower"),
        Metric("disk", "a number, kept on disk", "us", "lower"),
        Metric("array", "an array of 1 MB, kept on disk by its content", "us", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One library: the median of the times of single hits, as its user waits for them."""
    with tempfile.TemporaryDirectory() as folder:
        return _TURNS[runtime](Path(folder), workers, int(sizes["hits"]))


def _of_cellmill(folder: Path, workers: int, hits: int) -> Turn:
    numpy = importlib.import_module("numpy")
    with cellmill.Executor(workers) as ex:
        of_cell: dict[str, Any] = {"__name__": "__main__"}
        exec("def successor(x):\n    return x + 1", of_cell)
        cell = cellmill.parallel(memo=True, executor=ex)(of_cell["successor"])
        memory = cellmill.parallel(memo=True, executor=ex)(successor)
        disk = cellmill.parallel(memo=folder / "disk", executor=ex)(successor)
        array = cellmill.parallel(memo=folder / "disk", executor=ex)(total)
        large = numpy.ones(125_000)
        found = {
            "cell": _hit(lambda: cell(1).result(), hits),
            "memory": _hit(lambda: memory(1).result(), hits),
            "disk": _hit(lambda: disk(1).result(), hits),
            "array": _hit(lambda: array(large).result(), hits),
        }
    return Turn(found)


def _of_joblib(folder: Path, _: int, hits: int) -> Turn:
    numpy = importlib.import_module("numpy")
    memory = importlib.import_module("joblib").Memory(folder, verbose=0)
    one, array, large = memory.cache(successor), memory.cache(total), numpy.ones(125_000)
    return Turn({"disk": _hit(lambda: one(1), hits), "array": _hit(lambda: array(large), hits)})


def _of_parsl(folder: Path, workers: int, hits: int) -> Turn:
    parsl, executors = importlib.import_module("parsl"), importlib.import_module("parsl.executors")
    config = parsl.Config(
        executors=[executors.ThreadPoolExecutor(max_threads=workers)],
        run_dir=str(folder),
        initialize_logging=False,
    )
    with parsl.load(config):
        app = parsl.python_app(successor, cache=True)
        return Turn({"memory": _hit(lambda: app(1).result(), hits)})


_TURNS: dict[str, Callable[[Path, int, int], Turn]] = {
    "cellmill": _of_cellmill,
    "joblib": _of_joblib,
    "parsl": _of_parsl,
}


def successor(x: int) -> int:
    """The next number."""
    return x + 1


def total(array: Any) -> float:
    """The sum of an array."""
    return float(array.sum())


def _hit(call: Callable[[], object], hits: int) -> float:
    call()
    times = []
    for _ in range(hits):
        start = time.perf_counter()
        call()
        times.append(1e6 * (time.perf_counter() - start))
    return measure.p50(times)


def _missing(runtime: str) -> str | None:
    package = {"joblib": "joblib", "parsl": "parsl"}.get(runtime)
    if package is None or importlib.util.find_spec(package):
        return None
    return f"needs {package}: pip install 'cellmill[{package}]'"


BENCHMARK = Benchmark(
    name="memo-hits",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "joblib", "parsl"),
    full={"hits": 1_000},
    quick={"hits": 200},
    own={"joblib": "joblib.Memory", "parsl": "Parsl, with threads"},
    missing=_missing,
)
