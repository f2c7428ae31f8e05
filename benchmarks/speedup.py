"""What does `%%speedup` promise for plain cells, and how long do the cells take that it offers?

Each cell runs below `%%speedup` in one shell; the cell that it offers runs next. Bodies sleep or count.
A cell that is promised nothing has to be one that gains nothing: its loops run as tasks all the same.
"""

from __future__ import annotations

import time
from typing import Any

from cellmill.bench.harness import Benchmark, Metric
from cellmill.bench.turn import Sizes, Turn

CELLS = {
    "sleeps": "for i in range(20):\n    time.sleep(S)",
    "uneven": "for i in range(20):\n    time.sleep(S * (i % 4 + 1) / 2)",
    "one_long": "for i in range(8):\n    time.sleep(S * 6 if i == 0 else S / 2)",
    "comprehension": "out = [nap(i) for i in range(20)]",
    "serial_rest": "time.sleep(S * 4)\ntotal = 0\nfor i in range(16):\n    total += nap(i)\ntime.sleep(S)",
    "computing": "out = [busy(R) for i in range(40)]",
    "short": "out = []\nfor i in range(1000):\n    out.append(i * i)",
}
SETUP = """
import time
from cellmill.bench.bodies import busy
S, R = {sleep}, {rounds}
def nap(i):
    time.sleep(S)
    return i
"""


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module."""
    found = []
    for name in CELLS:
        found.append(Metric(f"{name}_plain", f"{name}: plain", "s", "lower"))
        found.append(Metric(f"{name}_promised", f"{name}: promised as tasks", "s", "lower"))
        found.append(Metric(f"{name}_measured", f"{name}: measured as tasks", "s", "lower"))
    return found


def turn(runtime: str, workers: int, sizes: Sizes) -> Turn:
    """All cells, one after another."""
    from IPython.core.interactiveshell import InteractiveShell

    shell: Any = InteractiveShell.instance()
    for line in ("%load_ext cellmill", f"%cellmill workers {workers}"):
        shell.run_cell(line).raise_error()
    shell.run_cell(SETUP.format(sleep=sizes["sleep"], rounds=sizes["rounds"])).raise_error()
    values: dict[str, float] = {}
    for name, cell in CELLS.items():
        shell.run_cell(f"%%speedup -> report\n{cell}").raise_error()
        report = shell.user_ns["report"]
        began = time.perf_counter()
        shell.run_cell(report.possible).raise_error()
        values[f"{name}_measured"] = time.perf_counter() - began
        values[f"{name}_plain"] = report.wall
        values[f"{name}_promised"] = report.promised
    return Turn(values)


BENCHMARK = Benchmark(
    name="speedup",
    module=__name__,
    metrics=metrics,
    runtimes=("cellmill",),
    full={"sleep": 0.05, "rounds": 1_000_000},
    quick={"sleep": 0.02, "rounds": 200_000},
    notes=("where nothing is promised, the promise is the time of the plain cell.",),
)
