"""What the care costs: how soon a new worker runs, how many tasks a second with everything on, what a print takes."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from statistics import median

from cellmill.executor import Executor, ExecutorView

ROUNDS = 5
LIMITS = {"timeout": 60.0, "retries": 2}
LINES = 100  # that one task prints


def nothing() -> None:
    """A task."""


def same(x: int) -> int:
    """An element."""
    return x


def speak(lines: int) -> None:
    """A task that prints."""
    for line in range(lines):
        print("line", line)


def measure(workers: int, tasks: int, kills: int) -> dict[str, float]:
    """Values by metric key: milliseconds, ratios to the plain run beside them, microseconds."""
    found = {"replaced_ms": _replaced(workers, kills)}
    with (
        Executor(workers) as plain,
        Executor(workers, memory_per_worker="8GB", max_tasks_per_child=1 << 40) as guarded,
    ):
        limited = guarded.options(**LIMITS)
        for key, on in (("guarded", guarded), ("limited", limited)):
            found[f"{key}_submit"] = _ratio(partial(_submits, on, tasks), partial(_submits, plain, tasks))
            found[f"{key}_map"] = _ratio(partial(_maps, on, tasks), partial(_maps, plain, tasks))
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            found["print_us"] = _print_us(plain)
    return found


def _submits(pool: Executor | ExecutorView, tasks: int) -> None:
    for future in [pool.submit(nothing) for _ in range(tasks)]:
        future.result()


def _maps(pool: Executor | ExecutorView, tasks: int) -> None:
    for _ in pool.map(same, range(tasks)):
        pass


def _replaced(workers: int, kills: int) -> float:
    """From a SIGKILL until as many workers stand as before, in milliseconds; the median."""
    times = []
    with Executor(workers) as executor:
        executor.run_on_workers(nothing)
        for _ in range(kills):
            before = {w.pid for w in executor.workers()}
            victim = min(before)
            start = time.perf_counter()
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
            while True:
                standing = {w.pid for w in executor.workers() if w.state == "idle"}
                if len(standing) == workers and victim not in standing:
                    break
                time.sleep(0.0005)
            times.append(1000 * (time.perf_counter() - start))
    return median(times)


def _ratio(one: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times as fast as ``other``; the median of rounds in which both ran."""
    one(), other()
    return median(_seconds(other) / _seconds(one) for _ in range(ROUNDS))


def _print_us(executor: Executor) -> float:
    """Of a line: what tasks that print take beyond those that print nothing."""
    rounds = []
    for _ in range(ROUNDS):
        quiet = _seconds(lambda: [f.result() for f in [executor.submit(speak, 0) for _ in range(20)]])
        loud = _seconds(lambda: [f.result() for f in [executor.submit(speak, LINES) for _ in range(20)]])
        rounds.append(1e6 * (loud - quiet) / (20 * LINES))
    return median(rounds)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
