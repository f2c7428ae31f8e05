"""What `against` measures: ``python against_rows.py`` reads the names of rows, one a line, and answers each with the
microseconds that a call of it takes now.

Uses nothing but what `concurrent.futures` has, so that any commit with an executor can run it. The functions are
``__main__``'s, as those of cells are.
"""

from __future__ import annotations

import collections
import gc
import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

WORKERS = 2
SECONDS = 0.04  # about, of each measurement
PROBE = 20
MAPPED = 400  # a row of maps: an element's cost, with that of a map in it


class Small:
    """An instance that a function refers to."""

    def __init__(self) -> None:
        self.a, self.items = 1, [1, 2, 3]


class Settings:
    """A class whose attribute a function reads."""

    limit = 10


dict_8 = {f"k{i}": i for i in range(8)}
dict_100 = {f"k{i}": i for i in range(100)}
array_4kB = np.arange(512.0)
array_64kB = np.arange(8192.0)
array_1MB = np.arange(131072.0)
array_64MB = np.arange(0.0)  # made when it is asked for
frame = pd.DataFrame({"a": np.arange(1000.0), "b": np.arange(1000), "c": np.ones(1000)})
instance = Small()
number = 3


def noop(*_: Any) -> None:
    return None


def same(value: Any) -> Any:
    return value


def of_number(*_: Any) -> bool:
    return number is None


def of_dict_8(*_: Any) -> bool:
    return dict_8 is None


def of_dict_100(*_: Any) -> bool:
    return dict_100 is None


def of_array_4kB(*_: Any) -> bool:
    return array_4kB is None


def of_array_64kB(*_: Any) -> bool:
    return array_64kB is None


def of_array_1MB(*_: Any) -> bool:
    return array_1MB is None


def of_array_64MB(*_: Any) -> bool:
    return array_64MB is None


def of_frame(*_: Any) -> bool:
    return frame is None


def of_instance(*_: Any) -> bool:
    return instance is None


def of_class(*_: Any) -> bool:
    return Settings.limit is None


def of_module(*_: Any) -> bool:
    return collections.abc is None


CAPTURED = {
    "number": of_number,
    "dict of 8": of_dict_8,
    "dict of 100": of_dict_100,
    "array of 4 kB": of_array_4kB,
    "array of 64 kB": of_array_64kB,
    "array of 1 MB": of_array_1MB,
    "array of 64 MB": of_array_64MB,
    "frame of 1000x3": of_frame,
    "instance": of_instance,
    "class attribute": of_class,
    "module attribute": of_module,
}
PAYLOADS: dict[str, Callable[[], Any]] = {
    "500 floats": lambda: [float(i) for i in range(500)],
    "4 kB": lambda: np.arange(512.0),
    "100 kB": lambda: np.arange(12_500.0),
    "1 MB": lambda: np.arange(131_072.0),
    "1 MB of bytes": lambda: bytes(10**6),
}
ELEMENTS: dict[str, Callable[[int], Any]] = {
    "numbers": lambda i: i,
    "lists": lambda i: [i, i + 1, i + 2],
    "dicts": lambda i: {"a": i, "b": 1.5},
}
Row = Callable[[Any, int], int]
"""Makes so many calls, more or less, and says how many they were."""


def _calls(function: Any, *arguments: Any) -> Row:
    def row(pool: Any, count: int) -> int:
        for future in [pool.submit(function, *arguments) for _ in range(count)]:
            future.result()
        return count

    return row


def _trips(function: Any, *arguments: Any) -> Row:
    def row(pool: Any, count: int) -> int:
        for _ in range(count):
            pool.submit(function, *arguments).result()
        return count

    return row


def _maps(function: Any, made: Callable[[int], Any], each: int) -> Row:
    elements = [made(i) for i in range(each)]

    def row(pool: Any, count: int) -> int:
        maps = max(1, count // each)
        for _ in range(maps):
            collections.deque(pool.map(function, elements), maxlen=0)
        return maps * each

    return row


def _rows() -> dict[str, tuple[Row, bool]]:
    """Each row, and whether it looks at captured state that can change in place."""
    found: dict[str, tuple[Row, bool]] = {"call": (_calls(noop), False), "round trip": (_trips(noop), False)}
    for name, function in CAPTURED.items():
        found[f"call, {name}"] = (_calls(function), name != "number")
    for name, function in CAPTURED.items():
        found[f"map, {name}"] = (_maps(function, int, MAPPED), name != "number")
    for name, make in PAYLOADS.items():
        value = make()
        found[f"in, {name}"] = (_trips(noop, value), False)
        found[f"in and out, {name}"] = (_trips(same, value), False)
    for name, element in ELEMENTS.items():
        found[f"map of {name}"] = (_maps(noop, element, 100_000), False)
        found[f"map of {name}, and back"] = (_maps(same, element, 20_000), False)
    return found


class Pool:
    """A pool whose rows are measured, each with as many calls as take `SECONDS`."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool
        self._rows = _rows()
        self._counts: dict[str, int] = {}
        _calls(noop)(pool, 20_000)
        _calls(noop, frame)(pool, 20 * WORKERS)  # every worker has imported what the values need

    def measured(self, name: str) -> tuple[float, float]:
        """Microseconds of a call, by the clock and of this process's processor time."""
        row = self._rows[name][0]
        if name not in self._counts:
            if "64 MB" in name:
                make_large()
            row(self._pool, 2 * WORKERS)
            self._counts[name] = self._count(row)
        done, wall, processor = self._run(row, self._counts[name])
        return wall / done * 1e6, max(processor, 1e-9) / done * 1e6

    def _run(self, row: Row, count: int) -> tuple[int, float, float]:
        gc.collect()
        wall, processor = time.perf_counter(), time.process_time()
        done = row(self._pool, count)
        return done, time.perf_counter() - wall, time.process_time() - processor

    def _count(self, row: Row) -> int:
        count = PROBE
        while True:
            done, wall, _ = self._run(row, count)
            if wall > SECONDS / 2 or done >= 2_000_000:
                return count
            count = min(2_000_000, done * 30, max(done * 2, int(done * SECONDS / max(wall, 1e-6))))


def make_large() -> None:
    """The largest array, made when it is asked for."""
    global array_64MB
    if not array_64MB.size:
        array_64MB = np.arange(8_388_608.0)


def main() -> None:
    import cellmill

    warnings.simplefilter("ignore")  # what costs much is said here anyway
    with cellmill.Executor(WORKERS) as executor:
        pool = Pool(executor)
        for line in sys.stdin:
            print(json.dumps(pool.measured(line.strip())), flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print(json.dumps({name: looks for name, (_, looks) in _rows().items()}))
    else:
        main()
