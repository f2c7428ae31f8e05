"""The graphs of the CyRun paper, and what is told of threads beside its figures."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks import graphs
from benchmarks.gil_graphs import SUITE, cholesky, fft, map_reduce, scatter_reduction, sweep
from benchmarks.shapes import Graph, independent, stencil
from cellmill.bench.harness import Metric, Report, Result, Settings


@pytest.mark.parametrize(
    ("graph", "tasks", "edges", "path"),
    [
        (independent(1000), 1000, 0, 1),
        (stencil(32, 1000), 32000, 93906, 1000),
        (sweep(32, 1000), 32000, 62968, 1031),
        (fft(257, 9), 2570, 5917, 10),
        (scatter_reduction(8), 766, 1020, 17),
        (cholesky(10), 220, 825, 28),
        (cholesky(40), 11480, 133250, 118),
        (map_reduce(500, 4), 2500, 3996, 1000),
    ],
)
def test_graphs_are_those_of_the_paper(graph: Graph, tasks: int, edges: int, path: int) -> None:
    rows = graph.rows()
    depths: list[int] = []
    for i, inputs in enumerate(rows):
        assert all(k < i for k in inputs)
        depths.append(1 + max((depths[k] for k in inputs), default=0))
    assert (graph.tasks, graph.edges, max(depths)) == (tasks, edges, path)


@pytest.mark.parametrize("kind", [graphs.OURS, graphs.THREADED])
def test_a_graph_runs_in_order(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == graphs.THREADED and importlib.util.find_spec("dask") is None:
        pytest.skip("dask is not installed")
    count = [0]

    def body(seconds: float, *inputs: Any) -> int:
        count[0] += 1  # one thread
        return 1 + max(inputs, default=0)

    monkeypatch.setattr(graphs, "body", body)
    rows = SUITE["cholesky"][1](4).rows()
    with closing(graphs.KINDS[kind](1)) as pool:
        assert pool.run(rows, 0) > 0
    assert count[0] == len(rows)


def test_ratios_stand_beside_those_of_the_paper() -> None:
    sizes = {**graphs.BENCHMARK.full, "threads": [16], "durations_us": [500]}
    titles = {graphs.OURS: "ours", graphs.THREADED: "dask"}
    report = Report("graphs", "?", Settings(), sizes, graphs.metrics(sizes), titles)
    for key, runtime, value in (
        ("16x500us", graphs.OURS, 12.0),
        ("16x500us", graphs.THREADED, 6.0),
        ("16x500us_short", graphs.OURS, 9.0),
    ):
        report.results.append(Result(Metric(key, "", ""), runtime, (value,)))
    graphs.finish(report)
    first, *lines = report.summary.splitlines()
    assert "CyRun" in first
    assert [line.split() for line in lines] == [
        [
            "16",
            "threads,",
            "0.5",
            "ms",
            "12.0",
            "/",
            "6.0",
            "=",
            "2.00",
            "CyRun",
            "10.2",
            "/",
            "6.5",
            "=",
            "1.57",
        ]
    ]


COUNTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
static long taken;
long gil_taken(void) { return __atomic_load_n(&taken, __ATOMIC_RELAXED); }
void PyEval_RestoreThread(void *state)
{
    static void (*real)(void *);
    if (!real)
        real = dlsym(RTLD_NEXT, "PyEval_RestoreThread");
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    real(state);
}
"""
PROGRAM = """
import ctypes
import cellmill
counter = ctypes.PyDLL(None)
sleep = ctypes.CDLL(None).usleep
with cellmill.Executor(8, backend="threads") as pool:
    for future in [pool.submit(sleep, 500) for _ in range(100)]:
        future.result()
    before = counter.gil_taken()
    for future in [pool.submit(sleep, 500) for _ in range(1000)]:
        future.result()
    print((counter.gil_taken() - before) / 1000)
"""


def test_the_gil_is_taken_three_times_a_task_at_most(tmp_path: Path) -> None:
    """Counted where it is taken, by whomever: the tasks' threads, their own code, who waits, who settles."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text(COUNTER)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    taken = float(done.stdout)
    print(f"the GIL is taken {taken} times a task")
    assert 1 <= taken <= 3  # once by the task's own code
