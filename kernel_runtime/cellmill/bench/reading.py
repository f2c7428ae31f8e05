"""One large array that many tasks read: put once in the way of each runtime, or sent with each task."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import bodies
from .harness import Metric
from .rivals import Runtime
from .turn import Sizes

HOW = {
    "cellmill": "cellmill.share",
    "ppe": "a global variable that an initializer sets",
    "joblib": "joblib's memory map",
}
Go = Callable[[int], list[Any]]


def metrics(sizes: Sizes) -> list[Metric]:
    """See the module; none without ``read_tasks``."""
    if not sizes["read_tasks"]:
        return []
    what = f"{sizes['read_tasks']:,} tasks read one array of {sizes['read_bytes'] / 1e6:g} MB"
    return [
        Metric("read_once", f"{what}, put once", "tasks/s"),
        Metric("read_each", f"{what}, sent with each", "tasks/s"),
    ]


def rates(key: str, pool: Runtime, workers: int, sizes: Sizes) -> dict[str, float]:
    """Tasks per second by metric; the array is there when the first one is measured. Empty where it is not measured."""
    count = int(sizes["read_tasks"])
    if key not in HOW or not count:
        return {}
    import numpy

    array = numpy.ones(int(sizes["read_bytes"]) // 8)
    with _once(key, pool, workers, array) as go:
        once = _rate(go, count, array.size, workers)
    with _each(key, pool, workers, array) as go:
        return {"read_once": once, "read_each": _rate(go, count, array.size, workers)}


def _rate(go: Go, count: int, total: int, workers: int) -> float:
    go(2 * workers)
    start = time.perf_counter()
    results = go(count)
    seconds = time.perf_counter() - start
    assert results == [float(total)] * count
    return count / seconds


@contextlib.contextmanager
def _once(key: str, pool: Runtime, workers: int, array: Any) -> Iterator[Go]:
    if key == "ppe":
        with pool.library.ProcessPoolExecutor(workers, initializer=bodies.keep, initargs=(array,)) as own:
            yield lambda count: [f.result() for f in [own.submit(bodies.total) for _ in range(count)]]
    elif key == "cellmill":
        with pool.library.share(array) as shared:
            yield lambda count: pool.submit_all(bodies.total, [(shared,)] * count)
    else:
        yield lambda count: pool.submit_all(bodies.total, [(array,)] * count)


@contextlib.contextmanager
def _each(key: str, pool: Runtime, workers: int, array: Any) -> Iterator[Go]:
    if key != "joblib":
        yield functools.partial(_windows, pool, array, 8 * workers)
        return
    with pool.library.Parallel(n_jobs=workers, max_nbytes=None) as own:
        total = pool.library.delayed(bodies.total)
        yield lambda count: list(own(total(array) for _ in range(count)))


def _windows(pool: Runtime, array: Any, window: int, count: int) -> list[Any]:
    """Some at a time: all of them would need their bytes at once."""
    found: list[Any] = []
    while len(found) < count:
        found += pool.submit_all(bodies.total, [(array,)] * min(window, count - len(found)))
    return found
