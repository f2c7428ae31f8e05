"""Run the test suites, four at a time, go on after a failure, and end with one line of counts.

``python scripts/run_tests.py [SUITE...]``: check c typescript packaging python workers backends kernels browser
docking benchmarks notebooks (all of these without arguments), quick (what answers within two minutes), c-long or long.
The exit status is 1 when anything failed, a suite whose runner failed included.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
REPORTS = ROOT / "build" / "test-reports"
OUTPUT: ContextVar[TextIO] = ContextVar("OUTPUT", default=sys.stdout)  # where a suite's output goes
SPENT: ContextVar[list[float]] = ContextVar("SPENT")  # processor seconds of a suite's commands


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one suite came to; `error` is set when its runner failed without a failed test to show for it."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    error: str = ""
    details: tuple[str, ...] = ()  # a line for each failed test, or where a test stood that ran out of time

    @property
    def good(self) -> bool:
        return not self.failed and not self.error


def environment() -> dict[str, str]:
    """This one, with compiled modules kept: the hundreds of programs that tests start would compile them anew each."""
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}


def run(command: list[str]) -> tuple[int, str]:
    """Run a command in the root, showing its output as it comes; its exit status and output.

    Its processor time counts: its own and that of descendants whose parents have waited for them.
    """
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines: list[str] = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        print(line, end="", flush=True, file=OUTPUT.get())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    SPENT.get().append(usage.ru_utime + usage.ru_stime)
    return process.returncode, "".join(lines)


def counted(status: int, output: str, pattern: str) -> Outcome:
    """Add up the counts that `pattern` finds; a failing status with no failed test is an error of its own."""
    passed = failed = 0
    for match in re.finditer(pattern, output, re.MULTILINE):
        passed += int(match["passed"] or 0)
        failed += int(match["failed"] or 0)
    if status and not failed:
        return Outcome(passed, failed, error=f"exit status {status}")
    return Outcome(passed, failed, error="" if passed or failed else "no test was counted")


def check() -> Outcome:
    return counted(
        *run([str(BIN / "python"), "scripts/check.py"]),
        r"^check: (?P<passed>\d+) passed, (?P<failed>\d+) failed$",
    )


def c_tests(target: str = "test") -> Outcome:
    """The sanitizer tests of csched; its Makefile prints a line `N passed, N failed` for each program."""
    status, output = run(["make", "--no-print-directory", "-C", "csched", target])
    found = counted(status, output, r"\b(?P<passed>\d+) passed(?:, (?P<failed>\d+) failed)?")
    if not status and not found.passed:
        return Outcome(passed=1)
    return replace(found, details=tuple(failed_programs(output)))


def failed_programs(output: str) -> Iterator[str]:
    """The line of each test program that failed, and what it said."""
    failed = False
    for line in output.splitlines():
        if line.startswith(("ok ", "FAIL ")) or line.endswith(" failed"):
            failed = line.startswith("FAIL ")
        if failed:
            yield line


def typescript() -> Outcome:
    status, output = run([str(BIN / "jlpm"), "run", "test"])
    passed = sum(int(n) for n in re.findall(r"^\S+ pass (\d+)$", output, re.MULTILINE))
    failed = sum(int(n) for n in re.findall(r"^\S+ fail (\d+)$", output, re.MULTILINE))
    if status and not failed:
        return Outcome(passed, failed, error=f"exit status {status}")
    return Outcome(passed, failed, error="" if passed or failed else "no test was counted")


def pytest(name: str, markers: str, *more: str) -> Outcome:
    """One pytest run, counted from its report."""
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    command = [str(BIN / "python"), "-m", "pytest", "-q", "-m", markers, f"--junitxml={report}", *more]
    status, output = run(command)
    if not report.exists():
        return Outcome(error=f"pytest wrote no report (exit status {status})", details=tuple(hung(output)))
    totals = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    tree = ElementTree.parse(report)
    for suite in tree.iter("testsuite"):
        for key in totals:
            totals[key] += int(suite.get(key, 0))
    failed = totals["failures"] + totals["errors"]
    error = ""
    if status == 5:
        error = "no test was found"
    elif status and not failed:
        error = f"exit status {status}"
    passed = totals["tests"] - failed - totals["skipped"]
    return Outcome(passed, failed, totals["skipped"], error, tuple(failures(tree)))


def hung(output: str) -> Iterator[str]:
    """The lines of the tests at which pytest was ended: from the stacks that its time limit prints."""
    frames = re.finditer(r'File "(?P<file>[^"]*/tests/[^"]+)", line (?P<line>\d+), in (?P<name>\w+)', output)
    for place in dict.fromkeys((frame["file"], frame["line"], frame["name"]) for frame in frames):
        yield "ran out of time at {}:{} in {}".format(*place)


def failures(report: ElementTree.ElementTree[ElementTree.Element]) -> Iterator[str]:
    """A line for each failed test of a report: its name and the first line of its message."""
    for case in report.iter("testcase"):
        for outcome in (*case.findall("failure"), *case.findall("error")):
            message = (outcome.get("message") or "").splitlines()
            yield f"{case.get('classname')}::{case.get('name')}: {message[0] if message else outcome.tag}"


_EDITED_OFTEN = {  # files that take a few seconds each, and meet most of what is often edited
    "by_value": "functions",
    "diagnostics": "tracebacks",
    "executor": "bad_input batch control dependencies fairness futures map parallel policy resources submit",
    "magics": "parallel pfor pfor_refusals task tracebacks",
    "process_context": "settings",
    "randomness": "random",
    "serialization": "hostile payloads pieces share",
    "telemetry": "commands schema",
}
BRIEF = (
    "tests/contract",
    "tests/tree",
    *(f"tests/{room}/test_{name}.py" for room, names in _EDITED_OFTEN.items() for name in names.split()),
)

KERNELS = ("magics", "widgets", "equality", "notebooks")  # whose tests share a kernel a file
WORKERS = (
    "backends",
    "executor",
    "faults",
    "process_context",
    "worker_process",
)  # whose tests start and end many
OWN_SUITES = (
    *("packaging", "browser", "cluster", "contract", "docking", "bench", "benchmarks"),
    *KERNELS,
    *WORKERS,
)

SUITES: dict[str, Callable[[], Outcome]] = {
    "check": check,
    "c": c_tests,
    "typescript": typescript,
    "packaging": lambda: pytest("packaging", "not long", "--durations=5", "tests/packaging"),
    "python": lambda: pytest(
        "python",
        "not long and not notebook",
        "--durations=20",
        *(f"--ignore=tests/{folder}" for folder in OWN_SUITES),
    ),
    "workers": lambda: pytest(
        "workers", "not long", "--durations=20", *(f"tests/{folder}" for folder in WORKERS)
    ),
    "kernels": lambda: pytest(
        "kernels", "not long and not notebook", "--durations=10", *(f"tests/{folder}" for folder in KERNELS)
    ),
    "backends": lambda: pytest("backends", "not long", "--durations=10", "tests/contract", "tests/cluster"),
    "browser": lambda: pytest("browser", "browser and not long", "--durations=5", "tests/browser"),
    "docking": lambda: pytest("docking", "not long", "--durations=10", "tests/docking"),
    "benchmarks": lambda: pytest(
        "benchmarks", "not long", "--durations=5", "tests/bench", "tests/benchmarks"
    ),
    "notebooks": lambda: pytest("notebooks", "notebook and not long", "--durations=5", "tests/notebooks"),
    "brief": lambda: pytest(
        "brief", "not long and not notebook", "-k", "not dask and not ray and not threads", *BRIEF
    ),
    "c-long": lambda: c_tests("test-long"),
    "long": lambda: pytest("long", "long", "-o", "timeout=3600"),
}
# In the order in which they begin. They wait almost as much as they compute, so four of them share two cores: what
# takes longest begins first, so that all lanes end within the time of the shortest.
DEFAULT = [
    *("backends", "browser", "python", "kernels", "workers", "docking", "check", "c"),
    *("packaging", "benchmarks", "notebooks", "typescript"),
]
GROUPS = {"quick": ["brief", "check"]}
LANES = 4
ALONE = {"c-long", "long"}  # what nothing may run beside
_print = threading.Lock()


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the summary; times in seconds."""

    name: str
    outcome: Outcome
    wall: float
    processor: float


def timed(name: str, beside: bool) -> Row:
    """Run a suite; its output is shown as it comes, or, with others `beside` it, when it ends."""
    kept = StringIO()
    spent: list[float] = []
    SPENT.set(spent)
    if beside:
        print(f"== {name} begins ==", flush=True)
        OUTPUT.set(kept)
    else:
        print(f"\n== {name} ==", flush=True)
    start = time.monotonic()
    outcome = SUITES[name]()
    if beside:
        with _print:
            print(f"\n== {name} ==\n{kept.getvalue()}", flush=True)
    return Row(name, outcome, time.monotonic() - start, sum(spent))


def run_suites(names: list[str]) -> list[Row]:
    lanes = 1 if ALONE & set(names) else min(LANES, len(names))
    with ThreadPoolExecutor(lanes) as pool:
        return list(pool.map(timed, names, [lanes > 1] * len(names)))


def main(names: list[str]) -> int:
    names = [suite for name in names for suite in GROUPS.get(name, [name])]
    unknown = [name for name in names if name not in SUITES]
    if unknown:
        print(
            f"unknown suite {', '.join(unknown)}; there are: {', '.join([*GROUPS, *SUITES])}", file=sys.stderr
        )
        return 2
    REPORTS.mkdir(parents=True, exist_ok=True)
    rows = run_suites(names or DEFAULT)
    print("\n== summary ==")
    for row in rows:
        outcome = row.outcome
        counts = f"{outcome.passed} passed, {outcome.failed} failed, {outcome.skipped} skipped"
        verdict = "ok" if outcome.good else "FAILED"
        times = f"{row.wall:6.1f} s {row.processor:6.1f} s of a core"
        print(f"{row.name:<11} {verdict:<7} {counts:<38} {times}  {outcome.error}".rstrip())
    passed = sum(row.outcome.passed for row in rows)
    failed = sum(max(row.outcome.failed, 0 if row.outcome.good else 1) for row in rows)
    skipped = sum(row.outcome.skipped for row in rows)
    processor = sum(row.processor for row in rows)
    for row in rows:
        if row.outcome.details:
            print(f"\n{row.name}:", *row.outcome.details, sep="\n  ")
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped, {processor:.0f} s of a core")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
