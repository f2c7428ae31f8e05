"""Measurements that several benchmarks take of a running runtime. Every function checks its results."""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import bodies
from .rivals import Runtime

PROBE = 200
_NOW = time.perf_counter_ns


def fitting(rate: float, seconds: float, least: int, most: int) -> int:
    """Return how many operations take about ``seconds`` at ``rate`` a second."""
    return max(least, min(most, int(rate * seconds)))


def submit_rate(runtime: Runtime, seconds: float, most: int) -> tuple[float, int]:
    """No-op tasks per second, one handle each, from the first submit to the last result; and how many they were.

    Their number grows until they take long enough: the first few say little about many.
    """
    count = min(PROBE, most)
    while True:
        calls: Sequence[tuple[Any, ...]] = [()] * count
        gc.collect()
        start = _NOW()
        results = runtime.submit_all(bodies.noop, calls)
        elapsed = _NOW() - start
        runtime.handles = []
        assert results == [None] * count
        rate = count * 1e9 / elapsed
        if count == most or elapsed > seconds * 0.6e9:
            return rate, count
        count = fitting(rate, seconds, count, min(most, 30 * count))


def map_rate(runtime: Runtime, seconds: float, most: int) -> tuple[float, int]:
    """No-op elements per second through the runtime's own map; and how many they were."""
    count, rate = PROBE, 0.0
    for _ in range(3):  # in steps, because chunked maps are much faster with more elements
        items = list(range(count))
        gc.collect()
        start = _NOW()
        results = runtime.map_all(bodies.noop_of, items)
        elapsed = _NOW() - start
        assert results == [None] * count
        rate = count * 1e9 / elapsed
        done, count = count, fitting(rate, seconds, PROBE, most)
    return rate, done


def round_trips(runtime: Runtime, seconds: float, most: int) -> list[float]:
    """Microseconds of single no-ops, one after another."""
    spent: list[float] = []
    end = _NOW() + int(seconds * 1e9)
    trip = runtime.round_trip
    for _ in range(min(20, most)):
        trip(bodies.noop)
    while len(spent) < most and (_NOW() < end or len(spent) < 5):
        start = _NOW()
        trip(bodies.noop)
        spent.append((_NOW() - start) / 1e3)
    return spent


def array_rate(runtime: Runtime, size: int, seconds: float, most: int, window: int) -> tuple[float, int]:
    """Tasks per second that take an array of ``size`` bytes and return a new one; and how many they were."""
    import numpy

    arrays = [numpy.full(size // 8, float(i)) for i in range(16)]

    def check(i: int, result: Any) -> None:
        assert (float(result[0]), result.nbytes) == (i % 16 + 1, arrays[0].nbytes)

    return _rate(runtime, bodies.add_one, arrays, check, seconds, most, window)


def bytes_rate(runtime: Runtime, size: int, seconds: float, most: int, window: int) -> tuple[float, int]:
    """The same of ``bytes``, as the contents of a file are."""
    contents = [bytes([i]) * size for i in range(16)]

    def check(i: int, result: bytes) -> None:
        assert (result[-1], len(result)) == (i % 16, size - 1)

    return _rate(runtime, bodies.rest, contents, check, seconds, most, window)


def _rate(
    runtime: Runtime,
    body: Callable[[Any], Any],
    things: list[Any],
    check: Callable[[int, Any], None],
    seconds: float,
    most: int,
    window: int,
) -> tuple[float, int]:
    """Tasks per second that take one of ``things`` each; and how many they were."""

    def go(count: int) -> float:
        start = _NOW()
        results = runtime.stream(body, (things[i % len(things)] for i in range(count)), window)
        for i, result in enumerate(results):
            check(i, result)
        return count * 1e9 / (_NOW() - start)

    probe = min(32, most)
    go(probe)
    count = fitting(go(probe), seconds, probe, most)
    gc.collect()
    return go(count), count


@contextmanager
def busy_thread() -> Iterator[None]:
    """Meanwhile a thread of this process computes in pure Python."""
    over = threading.Event()

    def compute() -> None:
        while not over.is_set():
            bodies.busy(1000)

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def p50(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def p99(values: Sequence[float]) -> float:
    """The value that one in a hundred exceeds."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.99))]


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """Seconds that a call takes, and what it returns."""
    start = _NOW()
    value = call(*arguments)
    return (_NOW() - start) / 1e9, value
