"""How fast is the scheduler by itself, against workers that answer at once?

Workload: the zero workers of the RSDS paper (section VI-D): independent tasks, a tree, a stencil, and the recorded
graphs of its table I. Everything but user code, pickling and futures happens: records, dependencies, placement, rings,
results, journeys.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cellmill.bench.harness import OURS, Benchmark, Metric, Report, Settings
from cellmill.bench.turn import Sizes, Turn

from . import reference, shapes
from .shapes import Graph

BATCH = 8192
LEAST_S = 0.05  # a graph is run for that long, and at least `rounds` times
DESCRIPTORS_EACH = 6  # of a zero worker in this process
SOURCES = Path(__file__).resolve().parents[1] / "csched"
JOURNEYLESS = "journeyless"


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = [
        Metric("independent", "independent tasks", "tasks/s"),
        Metric("tree", "a binary tree", "tasks/s"),
        Metric("stencil", "a stencil with three inputs a task", "tasks/s"),
        Metric("stencil_edges", "the same", "edges/s"),
    ]
    found += [Metric(f"aot_{name}", f"{name}, per task", "us", "lower") for name in sizes["graphs"]]
    found += [
        Metric(f"merge_{count}", f"merge, policy random, {count} zero workers, per task", "us", "lower")
        for count in sizes["workers"]
    ]
    return [
        *found,
        Metric("journeys", "processor time of a task, kernel and worker in one C thread", "ns", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """One contender: each graph ``rounds`` times after a warm-up, the best of them."""
    programs: dict[str, str] = sizes.get("programs", {})
    values: dict[str, float] = {}
    if runtime in programs:
        values["journeys"] = _program(programs[runtime], int(sizes["tasks"]))
    if runtime == JOURNEYLESS:
        return Turn(values)
    rounds = int(sizes["rounds"])
    run = _contender(runtime, 1)
    tasks = int(sizes["tasks"])
    values["independent"] = tasks / _best(run, shapes.independent(tasks), rounds)
    graph = shapes.tree(int(sizes["depth"]))
    values["tree"] = graph.tasks / _best(run, graph, rounds)
    graph = shapes.stencil(int(sizes["width"]), int(sizes["steps"]))
    values["stencil"] = graph.tasks / (seconds := _best(run, graph, rounds))
    values["stencil_edges"] = graph.edges / seconds
    for name in sizes["graphs"]:
        graph = shapes.recorded(name)
        values[f"aot_{name}"] = _best(run, graph, rounds) / graph.tasks * 1e6
    details: dict[str, Any] = {"tasks": tasks, "rounds": rounds}
    if runtime == OURS:
        _more_descriptors()
        graph = shapes.merge(int(sizes["merge"]))
        for count in sizes["workers"]:
            if count * DESCRIPTORS_EACH > _descriptors():
                details[f"merge_{count}"] = f"needs {count * DESCRIPTORS_EACH} descriptors (ulimit -n)"
                continue
            many = _contender(runtime, count, "random")
            values[f"merge_{count}"] = _best(many, graph, rounds) / graph.tasks * 1e6
    return Turn(values, details)


Run = Callable[[Graph], float]


def _best(run: Run, graph: Graph, rounds: int) -> float:
    """Seconds of the best of so many rounds, or of more where one takes microseconds."""
    run(graph)
    times: list[float] = []
    while len(times) < rounds or (sum(times) < LEAST_S and len(times) < 100):
        times.append(run(graph))
    return min(times)


def _contender(runtime: str, workers: int, policy: str = "least-loaded") -> Run:
    """A function that runs a graph to its end and returns the seconds that took."""
    if runtime == "python":
        return lambda graph: _run_reference(reference.Scheduler(graph.tasks, workers), graph)
    return ZeroWorld(workers, policy).run


def _run_reference(scheduler: reference.Scheduler, graph: Graph) -> float:
    rows = graph.rows() if graph.edges else None
    slots = range(graph.tasks)
    done, start = 0, time.perf_counter()
    if rows is None:
        for begin in range(0, graph.tasks, BATCH):
            scheduler.submit_many(slots[begin : begin + BATCH])
            scheduler.serve()
            scheduler.poll()
            done += len(scheduler.discard(BATCH))
    else:
        scheduler.submit_many(slots, rows)
    while done < graph.tasks:
        scheduler.serve()
        scheduler.poll()
        done += len(scheduler.discard(BATCH))
    return time.perf_counter() - start


class ZeroWorld:
    """The C scheduler with zero workers in this process; stopped with the process."""

    def __init__(self, workers: int, policy: str) -> None:
        from cellmill.backends.scheduled.scheduler import Scheduler, check, ffi, with_gil

        from .csched_lab import lab, lab_ffi

        self._ffi, self._with_gil, self._check = ffi, with_gil, check
        self._scheduler = Scheduler(
            arena_bytes=1 << 20, file_bytes=1 << 20, ring_bytes=1 << 17 if workers > 1 else 0
        )
        handle = self._handle = self._scheduler.handle
        check(with_gil.csched_set_policy(handle, policy.encode()), "choosing a policy")
        fds = lab_ffi.new("int[]", 4 * workers)
        for i in range(workers):
            fds[4 * i : 4 * i + 4] = self._scheduler.add_worker()[1]
        zero = lab_ffi.new("csched_zero_t **")
        check(lab.csched_zero_start(fds, workers, zero), "starting zero workers")
        self._lab, self._zero = lab, zero[0]
        stats = ffi.new("csched_stats_t *")
        while with_gil.csched_stats(handle, stats) == 0 and stats.ready_workers < workers:
            self._scheduler.poll(50)
        self._freed = ffi.new("uint32_t[]", BATCH)

    def __del__(self) -> None:
        if hasattr(self, "_zero"):
            self._with_gil.csched_stop(self._handle)
            self._lab.csched_zero_stop(self._zero)

    def run(self, graph: Graph) -> float:
        """Submit the graph and wait for its last task; seconds."""
        with_gil, handle, ffi = self._with_gil, self._handle, self._ffi
        tasks = graph.tasks
        self._check(with_gil.csched_reserve(handle, tasks), "reserving tasks")
        kept = (array("I", range(tasks)), array("Q", bytes(8 * tasks)), graph.ends, graph.inputs)
        slots, tickets, ends, inputs = (ffi.from_buffer(a) for a in kept)
        slots, tickets = ffi.cast("uint32_t *", slots), ffi.cast("uint64_t *", tickets)
        batch = ffi.new("csched_batch_t *", {"count": tasks, "slots": slots, "tickets": tickets})
        done, start = 0, time.perf_counter()
        if graph.edges:
            batch.input_ends, batch.inputs = ffi.cast("uint64_t *", ends), ffi.cast("uint64_t *", inputs)
            self._submit(batch)
        else:
            for begin in range(0, tasks, BATCH):
                batch.count = min(BATCH, tasks - begin)
                batch.slots, batch.tickets = slots + begin, tickets + begin
                self._submit(batch)
                done += with_gil.csched_discard(handle, BATCH, self._freed)
        while done < tasks:
            with_gil.csched_poll(handle, 50)
            done += with_gil.csched_discard(handle, BATCH, self._freed)
        return time.perf_counter() - start

    def _submit(self, batch: Any) -> None:
        count = self._check(self._with_gil.csched_submit_many(self._handle, batch), "submitting a batch")
        if count != batch.count:
            raise RuntimeError(f"{count} of {batch.count} tasks were submitted")


def _descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 64


def _more_descriptors() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _program(path: str, tasks: int) -> float:
    """ns of processor time per independent task, by a compiled bench_alone."""
    said = subprocess.run([path, str(tasks)], capture_output=True, text=True, check=True).stdout
    found = re.search(r"both ends of independent tasks\s+([0-9.]+) ns/op", said)
    if found is None:
        raise RuntimeError(f"{path} said {said!r}")
    return float(found[1])


def prepare(settings: Settings, sizes: dict[str, Any], folder: Path) -> None:
    """Compile the C benchmark with journeys and without, where there are sources and a compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not (SOURCES / "bench" / "bench_alone.c").exists():
        return
    programs = {OURS: str(folder / "with-journeys"), JOURNEYLESS: str(folder / "without")}
    for who, target in programs.items():
        flags = ["-DCSCHED_NO_JOURNEY"] if who == JOURNEYLESS else []
        files = [str(path) for folder in ("src", "lab") for path in sorted((SOURCES / folder).glob("*.c"))]
        paths = [f"-I{SOURCES / name}" for name in ("include", "src", "lab", "bench")]
        command = [compiler, "-std=c11", "-O2", "-pthread", *flags, *paths, *files]
        subprocess.run([*command, str(SOURCES / "bench" / "bench_alone.c"), "-o", target], check=True)
    sizes["programs"] = programs


def finish(report: Report) -> None:
    """Say what the journeys cost, or why that is not known."""
    on, off = report.result("journeys", OURS), report.result("journeys", JOURNEYLESS)
    if on is None or off is None:
        report.notes.append("what journeys cost was not measured: that takes a C compiler and a checkout.")
    else:
        cost = on.median / off.median - 1
        text = f"journeys cost {cost:.1%} of the scheduler's processor time, compiled in against compiled out"
        report.notes.append(f"{text} ({on.median - off.median:.1f} ns a task).")
    for entry in report.turns[:1]:
        report.notes += [f"{key}: {text}." for key, text in entry["details"].items() if isinstance(text, str)]


BENCHMARK = Benchmark(
    name="scheduler-alone",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, "python", JOURNEYLESS),
    own={
        "python": "the same rules in Python",
        JOURNEYLESS: "the C without journeys",
    },
    full={
        "tasks": 1_000_000,
        "depth": 19,
        "width": 1000,
        "steps": 1000,
        "graphs": shapes.recorded_names(),
        "workers": [1, 24, 168, 1512],
        "merge": 100_000,
        "rounds": 2,
    },
    quick={
        "tasks": 50_000,
        "depth": 12,
        "width": 100,
        "steps": 100,
        "graphs": ["groupby-90-1S-8H", "xarray-25"],
        "workers": [1, 24],
        "merge": 10_000,
        "rounds": 1,
    },
    notes=(
        "one zero worker, a thread of the same process, unless said otherwise; best of the rounds of each turn.",
        "the Python reference keeps the same records and journeys, but has no rings, locks or second thread.",
    ),
    prepare=prepare,
    finish=finish,
)
