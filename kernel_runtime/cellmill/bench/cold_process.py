"""The process that `cold_start` measures. It imports as little as it can before the runtime."""

from __future__ import annotations

import time

from . import bodies
from .rivals import RUNTIMES


def main(key: str, workers: int, awake_ns: int) -> None:
    """Go through all phases; the time at the end of each is printed, in nanoseconds, in the last line."""
    runtime = RUNTIMES[key]()
    stamps = [awake_ns, time.monotonic_ns()]
    runtime.load()
    stamps.append(time.monotonic_ns())
    runtime.start(workers)
    stamps.append(time.monotonic_ns())
    for _ in range(2):
        runtime.round_trip(bodies.noop)
        stamps.append(time.monotonic_ns())
    runtime.stop()
    stamps.append(time.monotonic_ns())
    print("\n" + " ".join(map(str, stamps)), flush=True)
