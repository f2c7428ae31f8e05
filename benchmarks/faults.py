"""What happens to a notebook when something goes wrong: in Cellmill, in its peers, and with workers killed at random?

Each experiment has a real kernel of its own: a helper is redefined, tasks print, one of them kills its worker, Stop is
pressed, the kernel is killed.
"""

from __future__ import annotations

import ast
import re
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cellmill.bench import rivals
from cellmill.bench.harness import OURS, Benchmark, Metric, Report
from cellmill.bench.turn import Sizes, Turn

from .notebook import Notebook
from .peers import PEERS, Peer

KILLS = "kills"
GUARDED = "guarded"
_BY_THEMSELVES = (KILLS, GUARDED)  # measured in no notebook
START_S = 60.0  # for a pool to stand
LINES, CRASHING, STOPPED = 20, 6, 4  # lines of each of two tasks; tasks
_WORK = """
def opposite(x):
    return -x
def helper():
    return "old"
def work(x):
    return helper()
def speak(x):
    for line in range({lines}):
        print("task", x, "line", line)
def crash(x):
    import os, signal, time
    time.sleep(0.1)
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return x
def slow(x):
    import time
    with open({log!r}, "a", buffering=1) as log:
        log.write(f"{{x}} begins\\n")
        for _ in range({steps}):
            time.sleep(0.05)
        log.write(f"{{x}} ends\\n")
"""


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    later, limit = sizes["later_s"], sizes["limit_s"]
    course = f"{sizes['tasks']:,} tasks, {sizes['kills']:,} random kills"
    return [
        Metric("redefined", "helper redefined: the next task runs the new one", "of 1"),
        Metric("printed", "printed lines that come whole, to their cell", "%"),
        Metric("crash_lost", f"1 crash among {CRASHING} tasks: others lost", "tasks", "lower"),
        Metric("crash_next", f"  until the next call returns (at most {limit:g})", "s", "lower"),
        Metric("stop_running", "Stop, 2 running + 2 queued: running that end", "tasks", "lower"),
        Metric("stop_queued", "  queued that begin all the same", "tasks", "lower"),
        Metric("stop_next", f"  until the next call returns (at most {limit:g})", "s", "lower"),
        Metric("left_soon", "kernel killed: processes left after 1 s", "processes", "lower"),
        Metric("left_later", f"  after {later:g} s", "processes", "lower"),
        Metric("replaced_ms", "a new worker runs after a kill (at most 100)", "ms", "lower"),
        Metric("guarded_submit", "rate with limits of memory and tasks for each worker: submit", "x plain"),
        Metric("guarded_map", "  map (at least 0.9)", "x plain"),
        Metric("limited_submit", "with a time limit and retries for each no-op as well: submit", "x plain"),
        Metric("limited_map", "  map", "x plain"),
        Metric("print_us", "a line printed by a task", "us", "lower"),
        Metric("kills_seconds", course, "s", "lower"),
        Metric("kills_lost", "  lost, each named by its error", "tasks", "lower"),
        Metric("kills_wrong", "  not ended once, or not named", "tasks", "lower"),
        Metric("kills_leaks", "  counts of what is left that have grown", "counts", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """All experiments with one runtime; the course with random kills is a contender of its own."""
    if runtime == KILLS:
        return _random_kills(workers, sizes)
    if runtime == GUARDED:
        from .guarded import measure

        return Turn(measure(workers, int(sizes["rate_tasks"]), int(sizes["replaced"])), {})
    found = Turn({}, {})
    for experiment, columns in _EXPERIMENTS.items():
        with Notebook() as notebook, tempfile.TemporaryDirectory(prefix="cellmill-faults-") as folder:
            log = Path(folder, "log")
            log.touch()
            try:
                _prepare(notebook, PEERS[runtime], log, sizes)
                experiment(notebook, log, sizes, found)
            except TimeoutError as error:
                found.details.update(dict.fromkeys(columns, str(error)))
    return found


def _prepare(notebook: Notebook, peer: Peer, log: Path, sizes: Sizes) -> None:
    """Start the pool in one cell, define functions in another, and run a task on each worker."""
    steps = int(float(sizes["run_s"]) / 0.05)
    for code in (
        peer.start,
        peer.definitions,
        _WORK.format(lines=LINES, log=str(log), steps=steps),
        "outcomes(opposite, [1, 2, 3, 4], 30)",
    ):
        cell = notebook.run(code, START_S)
        if cell.status != "ok":
            raise TimeoutError(f"no pool: {cell.error or 'no answer'}")


def _redefine_and_print(notebook: Notebook, log: Path, sizes: Sizes, found: Turn) -> None:
    limit = float(sizes["limit_s"])
    notebook.run(f"outcomes(work, [0], {limit})", 2 * limit)
    notebook.run('def helper():\n    return "new"', limit)
    cell = notebook.run(f"found = outcomes(work, [0], {limit})", 2 * limit, ask="found")
    ((good, said),) = _read(cell.answer, 1)
    found.values["redefined"] = float(said == "new")
    found.details["redefined"] = said if good else str(said)

    before = notebook.shown()
    cell = notebook.run(f"outcomes(speak, [0, 1], {limit})", 2 * limit)
    notebook.listen(2.0)
    expected = {f"task {x} line {line}" for x in (0, 1) for line in range(LINES)}
    here, somewhere = (
        sum(re.search(rf"{line}\b", text) is not None for line in expected)
        for text in (cell.output, notebook.shown())
    )
    shown = notebook.shown()[len(before) :]
    found.values["printed"] = 100 * here / len(expected)
    found.details["printed"] = f"{here} of {len(expected)} here" + (
        f", {somewhere - here} otherwise" if somewhere > here else "" if shown else ", nothing shown"
    )


def _crash(notebook: Notebook, log: Path, sizes: Sizes, found: Turn) -> None:
    limit = float(sizes["limit_s"])
    start = time.monotonic()
    cell = notebook.run(f"found = outcomes(crash, range({CRASHING}), {limit})", limit + 5, ask="found")
    ends = _read(cell.answer, CRASHING)
    lost = sum(not good for x, (good, _) in enumerate(ends) if x != 2)
    after = notebook.run(f"found = outcomes(opposite, [-7], {limit})", limit + 5, ask="found")
    recovered = _read(after.answer, 1) == [(True, 7)]
    seconds = time.monotonic() - start
    found.values["crash_lost"] = float(lost)
    found.values["crash_next"] = min(seconds, limit) if recovered else limit
    found.details["crash"] = f"{lost} lost" + (f", {seconds:.1f} s" if recovered else ", pool dead")
    found.details["crash_culprit"] = ends[2][1]


def _stop(notebook: Notebook, log: Path, sizes: Sizes, found: Turn) -> None:
    limit = float(sizes["limit_s"])
    cell = notebook.start(f"outcomes(slow, range({STOPPED}), {2 * limit})")
    end = time.monotonic() + limit
    while log.read_text().count("begins") < 2 and time.monotonic() < end:
        notebook.listen(0.02)
    stop = time.monotonic()
    notebook.interrupt()
    notebook.finish(cell, limit)
    after = notebook.run(f"found = outcomes(opposite, [-7], {limit})", limit, ask="found")
    seconds = time.monotonic() - stop
    works = _read(after.answer, 1) == [(True, 7)]
    notebook.listen(max(0.0, 2 * float(sizes["run_s"]) + 1 - seconds))  # what runs on has ended by then
    lines = log.read_text().splitlines()
    begun = [line.split()[0] for line in lines if line.endswith("begins")]
    ended = {line.split()[0] for line in lines if line.endswith("ends")}
    running, queued = float(len(ended & set(begun[:2]))), float(len(set(begun[2:])))
    found.values.update(stop_running=running, stop_queued=queued)
    found.values["stop_next"] = min(seconds, limit) if works else limit
    how = f"next call after {seconds:.1f} s" if works else f"no next call in {limit:g} s"
    found.details["stop"] = f"{running:g}+{queued:g} run on, {how}"


def _kill_kernel(notebook: Notebook, log: Path, sizes: Sizes, found: Turn) -> None:
    """While tasks run."""
    notebook.start(f"outcomes(slow, range({STOPPED}), 60)")
    end = time.monotonic() + float(sizes["limit_s"])
    while log.read_text().count("begins") < 2 and time.monotonic() < end:
        notebook.listen(0.02)
    before = len(notebook.processes()) - 1
    notebook.kill()
    time.sleep(1.0)
    soon = len(notebook.processes())
    time.sleep(max(0.0, float(sizes["later_s"]) - 1))
    later = len(notebook.processes())
    found.values.update(left_soon=float(soon), left_later=float(later))
    found.details["killed"] = f"{soon}, later {later} of {before} left"


_EXPERIMENTS = {
    _redefine_and_print: ("redefined", "printed"),
    _crash: ("crash",),
    _stop: ("stop",),
    _kill_kernel: ("killed",),
}
"""Each with the columns of the summary that it fills."""


def _read(answer: str, count: int) -> list[tuple[bool, Any]]:
    """The outcomes that a cell told; a cell that did not end told none."""
    outcomes: list[tuple[bool, Any]] = ast.literal_eval(answer) if answer else []
    return outcomes or [(False, "never ends")] * count


def _random_kills(workers: int, sizes: Sizes) -> Turn:
    from .kills import kill_at_random

    outcome = kill_at_random(int(sizes["tasks"]), int(sizes["kills"]), workers)
    values = {
        "kills_seconds": outcome.seconds,
        "kills_lost": float(outcome.lost),
        "kills_wrong": float(len(outcome.wrong)),
        "kills_leaks": float(len(outcome.leaks)),
    }
    return Turn(values, asdict(outcome))


COLUMNS: dict[str, str] = {
    "redefined": "helper redefined",
    "printed": "40 lines printed",
    "crash": f"1 crash among {CRASHING}",
    "stop": "Stop, 2 running + 2 queued",
    "killed": "kernel killed",
}


def summarise(report: Report) -> None:
    """The table of the experiments, a row for each runtime, and a line about the random kills."""
    rows = [("", *COLUMNS.values())]
    for one in report.turns:
        details: dict[str, Any] = one["details"]
        if one["runtime"] in _BY_THEMSELVES:
            continue
        rows.append((report.titles[one["runtime"]], *(str(details.get(key, "-")) for key in COLUMNS)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    for one in report.turns:
        if one["runtime"] == KILLS:
            lines += ["", *_told(one["details"])]
    report.summary = "\n".join(lines)


def _told(outcome: dict[str, Any]) -> list[str]:
    told = (
        f"Random kills: {outcome['tasks']:,} tasks, {outcome['kills']:,} kills, {outcome['seconds']:.0f} s: "
        f"{outcome['succeeded']:,} succeeded, {outcome['lost']:,} lost by name, {outcome['not_run']:,} not run after "
        f"one of them, {len(outcome['wrong'])} wrong, {len(outcome['leaks'])} leaks."
    )
    return [told, *outcome["wrong"], *outcome["leaks"]]


def missing(key: str) -> str | None:
    """None when the runtime is installed, else what to do."""
    return None if key in _BY_THEMSELVES else rivals.missing(key)


BENCHMARK = Benchmark(
    name="faults",
    module=__name__,
    metrics=metrics,
    runtimes=(OURS, GUARDED, KILLS, *(key for key in PEERS if key != OURS)),
    full={
        "tasks": 1_000_000,
        "kills": 1000,
        "rate_tasks": 20_000,
        "replaced": 20,
        "limit_s": 25.0,
        "later_s": 15.0,
        "run_s": 3.0,
    },
    quick={
        "tasks": 20_000,
        "kills": 30,
        "rate_tasks": 2000,
        "replaced": 5,
        "limit_s": 25.0,
        "later_s": 5.0,
        "run_s": 1.5,
    },
    own={KILLS: "cellmill, workers killed", GUARDED: "cellmill, everything on"},
    missing=missing,
    finish=summarise,
    once=True,
    notes=(
        "lost: of the tasks beside the one that crashes. run on: of the running ones, plus of the queued ones.",
        "processes left: everything that the kernel and its children started, whatever process adopted it.",
    ),
)
