"""The process that `cold_start` measures. It imports as little as it can before the runtime."""

from __future__ import annotations

import time

from . import bodies
from .rivals import RUNTIMES, Cellmill


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


def together(key: str, workers: int, library: str, preload: bool) -> None:
    """Start workers, each with one task that needs a library; when each was there, in ns, is the last line."""
    from .gate import Gate

    runtime = Cellmill() if preload else RUNTIMES[key]()
    runtime.load()
    start = time.monotonic_ns()
    if isinstance(runtime, Cellmill) and preload:
        runtime.start_preloaded(workers, library)
    else:
        runtime.start(workers)
    with Gate() as gate:
        handles = [runtime.submit(bodies.hold_with, library, gate.path) for _ in range(workers)]
        gate.wait(workers)
        gate.open(workers)
        ready = runtime.gather(handles)
    runtime.stop()
    print("\n" + " ".join(str(at - start) for at in ready), flush=True)
