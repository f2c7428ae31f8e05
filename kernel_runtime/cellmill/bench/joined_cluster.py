"""What a cluster that was there before takes: to join it, small round trips, short tasks, arrays, and large values that
one task makes and another uses.
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from cellmill import Executor

from . import bodies, rivals
from .turn import Sizes

WARM_TASKS = 200
ARRAY_BYTES = 1_000_000
VALUE_BYTES = 100_000_000  # of each that goes from task to task
SHORT_SECONDS = 0.01


class _Calls(NamedTuple):
    """One way to call functions on the cluster: by the engine's own client, or over Cellmill."""

    submit: Callable[..., Any]
    gather: Callable[[Sequence[Any]], list[Any]]
    map_all: Callable[[Callable[..., Any], Sequence[Any]], list[Any]]


def measure(runtime: str, engine: str, workers: int, sizes: Sizes) -> dict[str, float]:
    """Return the figure of each metric, in seconds (``trip``: milliseconds); ``runtime`` is ``engine`` or its on-."""
    with rivals.running(engine, workers) as pool, contextlib.ExitStack() as joined:
        pool.gather([pool.submit(bodies.noop) for _ in range(WARM_TASKS)])
        start = time.perf_counter()
        calls = _join(runtime, engine, workers, pool, joined)
        calls.gather([calls.submit(bodies.noop)])
        values = {"join": time.perf_counter() - start}
        if runtime == "ray":  # whose driver is there already
            values["join"] = _another_driver(pool)
        for count in (workers * 4, int(sizes["arrays"])):  # the first ones import numpy
            values["arrays"] = _arrays(calls, count)
        values["trip"] = _trip(calls, int(sizes["trips"]))
        values["short"] = _short(calls, int(sizes["short_tasks"]))
        values["values"] = _values(calls, int(sizes["values"]))
        values["values_again"] = _values(calls, int(sizes["values"]))
        values["brought"] = _brought(calls, int(sizes["values"]))
    return values


def _join(runtime: str, engine: str, workers: int, pool: Any, joined: contextlib.ExitStack) -> _Calls:
    if runtime != engine:
        executor = joined.enter_context(Executor(workers, backend=_address(engine, pool)))
        executor.submit(bodies.noop).result()
        return _Calls(
            executor.submit,
            lambda futures: [each.result() for each in futures],
            lambda function, items: list(executor.map(function, items)),
        )
    if engine == "dask":
        client = joined.enter_context(pool.library.Client(pool.cluster.scheduler_address))
        return _Calls(
            partial(client.submit, pure=False),
            client.gather,
            lambda function, items: list(client.gather(client.map(function, list(items), pure=False))),
        )
    return _Calls(pool.submit, pool.gather, pool.map_all)


def _address(engine: str, pool: Any) -> str:
    if engine == "ray":
        return f"ray:{pool.library.get_runtime_context().gcs_address}"
    return str(pool.cluster.scheduler_address)


def _another_driver(pool: Any) -> float:
    """Return the seconds that another process takes to join a Ray and have the result of a first task."""
    code = (
        "import sys, ray\n"
        "ray.init(sys.argv[1], log_to_driver=False, logging_level='ERROR')\n"
        "print(ray.get(ray.remote(lambda: 3).remote()), flush=True)\n"
    )
    address = pool.library.get_runtime_context().gcs_address
    start = time.perf_counter()
    with subprocess.Popen([sys.executable, "-c", code, address], stdout=subprocess.PIPE) as driver:
        assert driver.stdout is not None
        said = driver.stdout.readline()
        seconds = time.perf_counter() - start
    if said != b"3\n":
        raise RuntimeError("another driver of Ray had no result")
    return seconds


def _arrays(calls: _Calls, count: int) -> float:
    """Return the seconds of arrays of which each comes back with every number changed."""
    import numpy

    sent = [numpy.full(ARRAY_BYTES, i % 100, numpy.uint8) for i in range(count)]
    start = time.perf_counter()
    found = calls.gather([calls.submit(_next, array) for array in sent])
    seconds = time.perf_counter() - start
    if any(int(array[-1]) != i % 100 + 1 for i, array in enumerate(found)):
        raise RuntimeError("the arrays that came back are wrong")
    return seconds


def _trip(calls: _Calls, count: int) -> float:
    """Return the median milliseconds from a call to its result, one call after another."""
    took = []
    for _ in range(count):
        start = time.perf_counter()
        calls.gather([calls.submit(bodies.noop)])
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1000


def _short(calls: _Calls, count: int) -> float:
    naps = [SHORT_SECONDS] * count
    start = time.perf_counter()
    if len(calls.map_all(_nap, naps)) != count:
        raise RuntimeError("outcomes of short tasks are missing")
    return time.perf_counter() - start


def _values(calls: _Calls, count: int) -> float:
    """Return the seconds of values that one task makes and the next one uses."""
    start = time.perf_counter()
    made = [calls.submit(_make, i) for i in range(count)]
    found = calls.gather([calls.submit(_largest, value) for value in made])
    if found != [i % 100 for i in range(count)]:
        raise RuntimeError("the values that tasks have passed on are wrong")
    return time.perf_counter() - start


def _brought(calls: _Calls, count: int) -> float:
    """Return the seconds of values that tasks make and the caller reads."""
    start = time.perf_counter()
    for i in range(count):
        (value,) = calls.gather([calls.submit(_make, i)])
        if _largest(value) != i % 100:
            raise RuntimeError("a value that came to the caller is wrong")
        del value
    return time.perf_counter() - start


def _nap(seconds: float) -> None:  # Ray refuses built-in functions
    time.sleep(seconds)


def _next(array: Any) -> Any:
    return array + 1


def _make(number: int) -> Any:
    import numpy

    return numpy.full(VALUE_BYTES, number % 100, numpy.uint8)


def _largest(array: Any) -> int:
    """Read all of a value, as a task that uses it does."""
    return int(array.max())
