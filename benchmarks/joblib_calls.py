"""How long do `joblib.Parallel` calls take with Cellmill beneath, and with joblib's own processes?

joblib makes and settles each call in the caller, and looks for results every 10 ms. What that takes by itself is
measured with a backend that runs nothing and has each result at once: no backend can take less.
"""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections.abc import Callable
from typing import Any

from cellmill.bench import measure
from cellmill.bench.harness import OURS, Benchmark, Metric, Report
from cellmill.bench.turn import Sizes, Turn

ALONE = "at-once"
ALONE_BATCH = 4096  # calls in a batch, where joblib asks
BODY_US = (0, 50, 1000)
ALONE_US = (0, 50)


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    bodies_of = [
        Metric(f"body_{us}", f"{_count(sizes, us):,} calls of {us} us", "ms", "lower") for us in BODY_US
    ]
    alone = [
        Metric(
            f"alone_{us}",
            f"{int(sizes['alone']):,} calls of {us} us, each by itself (batch_size=1)",
            "ms",
            "lower",
        )
        for us in ALONE_US
    ]
    few = Metric("few", f"{int(sizes['few'])} calls of nothing", "ms", "lower")
    array = Metric("array", f"{int(sizes['arrays'])} calls with one array of 8 MB", "ms", "lower")
    return [*bodies_of, *alone, few, array]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One backend, each size the median of some."""
    numpy, joblib = importlib.import_module("numpy"), importlib.import_module("joblib")
    if runtime == OURS:
        importlib.import_module("cellmill.joblib")
    if runtime == ALONE:
        return _alone(joblib, workers, sizes)
    array = numpy.ones(1_000_000)
    found: dict[str, float] = {}
    with joblib.parallel_config(backend=runtime, n_jobs=workers):
        for us in BODY_US:
            function, argument = (abs, 0) if us == 0 else (spin, us)
            found[f"body_{us}"] = _ms(joblib, function, [argument] * _count(sizes, us), sizes)
        for us in ALONE_US:
            arguments = [us] * int(sizes["alone"])
            found[f"alone_{us}"] = _ms(joblib, spin if us else abs, arguments, sizes, batch_size=1)
        found["few"] = _ms(joblib, abs, [0] * int(sizes["few"]), sizes)
        found["array"] = _ms(joblib, first, [array] * int(sizes["arrays"]), sizes)
    return Turn(found)


def _alone(joblib: Any, workers: int, sizes: Sizes) -> Turn:
    """What joblib takes by itself, where calls take no time."""
    with joblib.parallel_config(backend=_at_once(), n_jobs=workers):
        found = {
            "body_0": _ms(joblib, abs, [0] * _count(sizes, 0), sizes),
            "alone_0": _ms(joblib, abs, [0] * int(sizes["alone"]), sizes, batch_size=1),
            "few": _ms(joblib, abs, [0] * int(sizes["few"]), sizes),
        }
    return Turn(found)


def _at_once() -> Any:
    """A backend of joblib's interface that runs nothing: a thread says of each batch that it is over."""
    base: Any = importlib.import_module("joblib.parallel").ParallelBackendBase

    class AtOnce(base):
        supports_retrieve_callback = True

        def effective_n_jobs(self, n_jobs: int) -> int:
            return n_jobs

        def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
            self.parallel = parallel
            self._over: queue.SimpleQueue[Any] = queue.SimpleQueue()
            threading.Thread(target=self._tell, args=(self._over,), daemon=True).start()
            return n_jobs

        @staticmethod
        def _tell(over: Any) -> None:
            for callback, size in iter(over.get, None):
                callback(size)

        def submit(self, func: Any, callback: Any = None) -> None:
            self._over.put((callback, len(func)))

        apply_async = submit

        def retrieve_result_callback(self, out: int) -> list[int]:
            return [0] * out

        def compute_batch_size(self) -> int:
            return ALONE_BATCH

        def terminate(self) -> None:
            self._over.put(None)

    return AtOnce()


def finish(report: Report) -> None:
    """How much of it is joblib's own."""
    lines = []
    for key, what in (("body_0", "in batches"), ("alone_0", "each by itself")):
        ours, loky, alone = (report.result(key, who) for who in (OURS, "loky", ALONE))
        if ours and loky and alone:
            lines.append(
                f"Calls of nothing {what}: {loky.median / ours.median:.1f} times as fast as loky, where joblib's own "
                f"part allows {loky.median / alone.median:.1f}."
            )
    report.summary = " ".join(lines)


def spin(us: int) -> None:
    """Compute for so many microseconds."""
    end = time.perf_counter_ns() + 1000 * us
    while time.perf_counter_ns() < end:
        pass


def first(array: Any) -> float:
    """One number of it."""
    return float(array[0])


def _count(sizes: Sizes, us: int) -> int:
    return max(20, int(sizes["calls"] // max(1, us / 10)))


def _ms(
    joblib: Any,
    function: Callable[[Any], Any],
    arguments: list[Any],
    sizes: Sizes,
    batch_size: int | str = "auto",
) -> float:
    times = []
    for _ in range(1 + int(sizes["rounds"])):
        start = time.perf_counter()
        joblib.Parallel(batch_size=batch_size)(joblib.delayed(function)(argument) for argument in arguments)
        times.append(1000 * (time.perf_counter() - start))
    return measure.p50(times[1:])  # the first one starts workers


BENCHMARK = Benchmark(
    name="joblib-calls",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, "loky", ALONE),
    full={"calls": 50_000, "alone": 2000, "few": 100, "arrays": 200, "rounds": 5},
    quick={"calls": 5_000, "alone": 200, "few": 20, "arrays": 20, "rounds": 1},
    own={ALONE: "joblib alone"},
    finish=finish,
)
