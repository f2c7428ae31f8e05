"""What does it cost to keep the results of a map as they come, so that it goes on after any death?

Beside the same maps without a checkpoint. One of 1,000,000 tasks of a millisecond takes nine minutes on two cores, so
one turn (``--repeats 1``) tells as much as several shorter ones.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cellmill
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    elements, tasks = int(sizes["elements"]), int(sizes["tasks"])
    return [
        Metric("elements", f"a map of {elements:,} no-ops", "elements/s"),
        Metric("again", "the same again, all kept", "elements/s"),
        Metric("seconds", f"a map of {tasks:,} tasks of 1 ms", "s", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Maps with a checkpoint, or ``plain`` ones."""
    elements, tasks = int(sizes["elements"]), int(sizes["tasks"])
    with tempfile.TemporaryDirectory() as folder, cellmill.Executor(workers) as ex:
        kept = None if runtime == "plain" else Path(folder)
        list(ex.map(successor, range(elements)))
        found = {"elements": elements / _seconds(ex, successor, elements, kept and kept / "no-ops")}
        if kept:
            found["again"] = elements / _seconds(ex, successor, elements, kept / "no-ops")
        found["seconds"] = _seconds(ex, millisecond, tasks, kept and kept / "milliseconds")
    return Turn(found)


def _seconds(ex: cellmill.Executor, function: Callable[[int], int], count: int, kept: Path | None) -> float:
    start = time.perf_counter()
    for _ in ex.map(function, range(count), checkpoint=kept):
        pass
    return time.perf_counter() - start


def successor(x: int) -> int:
    """The next number."""
    return x + 1


def millisecond(x: int) -> int:
    """The number itself, after a millisecond of work."""
    until = time.perf_counter() + 1e-3
    while time.perf_counter() < until:
        pass
    return x


BENCHMARK = Benchmark(
    name="checkpoints",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill", "plain"),
    full={"elements": 1_000_000, "tasks": 1_000_000},
    quick={"elements": 5_000, "tasks": 500},
    own={"plain": "without a checkpoint"},
)
