"""How does throughput change from 1 to 32 workers on the cores there are?

Workload: figures 4, 7 and 11 of the Parsl paper: no-ops on ever more workers. Beyond the number of cores nothing can
become faster; what is asked is how little it costs.
"""

from __future__ import annotations

from . import measure
from .harness import Benchmark, Metric, Report, Result
from .rivals import running
from .turn import Sizes, Turn


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = []
    for way, unit in (("submit", "tasks/s"), ("map", "elements/s")):
        counts = [int(count) for count in sizes["workers"]]
        found += [Metric(f"{way}_{n}", f"{way} of no-ops, {_named(n)}", unit) for n in counts]
        found.append(Metric(f"{way}_kept", f"{way}: the lowest of these", "of its own peak"))
    return found


def _named(workers: int) -> str:
    return f"{workers} worker{'s' if workers > 1 else ''}"


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure one runtime with pools of every size, one after the other; ``workers`` is not used."""
    seconds, values = float(sizes["seconds"]), {}
    counts = [int(count) for count in sizes["workers"]]
    if runtime in SLOW:
        counts = [count for count in counts if count <= int(sizes["most_slow_workers"])]
    for count in counts:
        with running(runtime, count) as pool:
            values[f"submit_{count}"], _ = measure.submit_rate(pool, seconds, int(sizes["most"]))
            values[f"map_{count}"], _ = measure.map_rate(pool, seconds, int(sizes["most_map"]))
    return Turn(values)


SLOW = ("dask", "ray", "parsl")


def finish(report: Report) -> None:
    """The lowest of the medians over the highest; and that the number of workers is this benchmark's own."""
    for metric in report.metrics:
        way, _, what = metric.key.rpartition("_")
        if what != "kept":
            continue
        for runtime in report.titles:
            found = [r for r in report.results if r.runtime == runtime and r.metric.key.startswith(way)]
            if found:
                rates = [result.median for result in found]
                report.results.append(Result(metric, runtime, (min(rates) / max(rates),)))
    report.notes.append(
        f"--workers {report.settings.workers} is not used: the number of workers is the axis."
    )


BENCHMARK = Benchmark(
    name="workers",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "ppe", "pool", *SLOW),
    full={
        "workers": [1, 2, 4, 8, 16, 32],
        "most_slow_workers": 8,
        "seconds": 0.5,
        "most": 400_000,
        "most_map": 4_000_000,
    },
    quick={"workers": [1, 2, 8], "most_slow_workers": 2, "seconds": 0.1, "most": 20_000, "most_map": 100_000},
    notes=("Dask, Ray and Parsl with at most 8 workers: each takes seconds to start and memory to keep.",),
    finish=finish,
)
