"""What does it take to watch a kernel from outside?

A program whose two workers have tasks of 5 ms is looked at by `cellmill top` in a terminal of 120 columns and 40 lines,
then by the server of `cellmill dashboard` without a page that is open. The processor times are those of the viewer, and
of the program with its workers and the process that answers, above what these take without a viewer. Answers to
`cellmill.attach` are timed while the program's main thread computes and keeps the GIL.
"""

from __future__ import annotations

import contextlib
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Iterator
from fcntl import ioctl

import cellmill
from cellmill.bench import machine, measure
from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn

NAPS = """
import sys, time, cellmill
cellmill.serve()
with cellmill.Executor(2) as executor:
    naps = executor.map(time.sleep, [0.005] * 10_000_000, chunksize=1, prefetch=2000)
    print("ready", flush=True)
    for _ in naps:
        pass
"""
COMPUTES = """
import sys, cellmill
cellmill.serve()
with cellmill.Executor(2) as executor:
    executor.submit(int).result()
    data = list(range(4_000_000, 0, -1)) + list(range(4_000_000))
    print("ready", flush=True)
    while True:
        sorted(data, key=float)
"""


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    return [
        Metric("answer_p50", "answer of a program that keeps the GIL, median", "ms", "lower"),
        Metric("answer_p99", "  p99", "ms", "lower"),
        Metric("top", "cellmill top", "% of a core", "lower"),
        Metric("top_program", "  more in the program that is looked at", "% of a core", "lower"),
        Metric("dashboard", "server of cellmill dashboard, no page open", "% of a core", "lower"),
        Metric("dashboard_program", "  more in the program that is looked at", "% of a core", "lower"),
    ]


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """Measure all of it once."""
    with tempfile.TemporaryDirectory(prefix="cm-") as folder:
        os.environ["CELLMILL_RUNTIME_DIR"] = os.path.join(folder, "run")
        values = dict(zip(("answer_p50", "answer_p99"), _answers(int(sizes["looks"])), strict=True))
        with _program(NAPS) as program:
            seconds = float(sizes["seconds"])
            time.sleep(seconds / 4)
            alone = _percent(machine.family(program.pid), seconds)
            for name in ("top", "dashboard"):
                command = [sys.executable, "-m", "cellmill", name]
                with _in_terminal(command) as viewer:
                    time.sleep(float(sizes["start_seconds"]))
                    both = _percents([[viewer.pid], machine.family(program.pid)], seconds)
                    if viewer.poll() is not None:
                        raise RuntimeError(f"cellmill {name} ended with {viewer.returncode}")
                values[name], values[f"{name}_program"] = both[0], max(0.0, both[1] - alone)
    return Turn(values, {"program_alone": alone})


def _answers(looks: int) -> tuple[float, float]:
    with _program(COMPUTES) as program, cellmill.attach(program.pid) as kernel:
        took = [1e3 * measure.timed(kernel.look)[0] for _ in range(looks)]
    return measure.p50(took), measure.p99(took)


def _percent(pids: list[int], seconds: float) -> float:
    return _percents([pids], seconds)[0]


def _percents(groups: list[list[int]], seconds: float) -> list[float]:
    """Return the processor time that each group of processes takes meanwhile, in percent of a core."""
    before, began = [machine.cpu_ns(pids) for pids in groups], time.monotonic_ns()
    time.sleep(seconds)
    wall = time.monotonic_ns() - began
    return [100 * (machine.cpu_ns(pids) - was) / wall for pids, was in zip(groups, before, strict=True)]


@contextlib.contextmanager
def _program(code: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the program that is to be looked at did not begin")
        yield process
    finally:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def _in_terminal(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a terminal whose output is read and dropped."""
    ours, its = pty.openpty()
    ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(command, stdin=its, stdout=its, stderr=its, env=environment)
    os.close(its)

    def drop() -> None:
        with contextlib.suppress(OSError):  # it has ended
            while os.read(ours, 1 << 16):
                pass

    reader = threading.Thread(target=drop, daemon=True)
    reader.start()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        reader.join(5)
        os.close(ours)


BENCHMARK = Benchmark(
    name="watching",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill",),
    full={"looks": 200, "seconds": 20.0, "start_seconds": 6.0},
    quick={"looks": 20, "seconds": 4.0, "start_seconds": 4.0},
    notes=("a terminal's own work, to draw what it gets, is not counted.",),
)
