"""What `dask_graphs` computes: programs of today's Dask, and the graphs of `table_one` with tasks that do as little.

Each is made into a graph as Dask's schedulers get it, and the keys of what is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import operator
import time
from collections.abc import Callable
from typing import Any

from .table_one import Row, row

Prepared = tuple[dict[Any, Any], Any]
"""A graph, and nested lists of keys."""


def replayed(name: str) -> Prepared:
    """A graph of the paper: each task computes (or sleeps) for the mean time, and returns as much as the mean."""
    spec = importlib.import_module("dask._task_spec")
    found: Row = row(name)
    function = slept if found.sleeps else computed
    graph = {}
    ends = set(range(found.graph.tasks))
    for i, needs in enumerate(found.graph.rows()):
        ends.difference_update(needs)
        references = [spec.TaskRef(f"task-{k}") for k in needs]
        graph[f"task-{i}"] = spec.Task(f"task-{i}", function, found.us, found.bytes, *references)
    return graph, [f"task-{i}" for i in sorted(ends)]


def emptied(name: str) -> Prepared:
    """A graph of the paper whose tasks do nothing: what remains is the scheduler's."""
    graph, keys = replayed(name)
    spec = importlib.import_module("dask._task_spec")
    return {key: spec.Task(key, nothing, *task.args[2:]) for key, task in graph.items()}, keys


def nothing(*_inputs: Any) -> None:
    """Return at once."""


def computed(us: float, size: int, *_inputs: Any) -> Any:
    """Compute for so many microseconds, and return so many bytes."""
    end = time.perf_counter_ns() + 1000 * us
    value = _output(size)
    while time.perf_counter_ns() < end:
        pass
    return value


def slept(us: float, size: int, *_inputs: Any) -> Any:
    """Sleep for so many microseconds, and return so many bytes."""
    time.sleep(us / 1e6)
    return _output(size)


def _output(size: int) -> Any:
    """An array, as the tasks of Dask's collections return; bytes where it is smaller than an array's own header."""
    return importlib.import_module("numpy").ones(size, "uint8") if size > 1000 else bytes(size)


def programmed(name: str) -> Prepared:
    """A program, ``KIND-n``, as today's Dask makes and optimizes its graph."""
    dask = importlib.import_module("dask")
    kind, _, size = name.partition("-")
    program = PROGRAMS[kind](int(size))
    # dataframes have their own; they make graphs of nothing else
    collection = program.optimize() if kind in FRAMES else dask.optimize(program)[0]
    convert = importlib.import_module("dask._task_spec").convert_legacy_graph
    return convert(dict(collection.__dask_graph__())), collection.__dask_keys__()


def missing(name: str) -> str | None:
    """Why a program cannot run here; None where it can."""
    needed = {"groupby": "pyarrow", "join": "pyarrow", "xarray": "xarray"}.get(name.partition("-")[0])
    return None if needed is None or importlib.util.find_spec(needed) else f"needs {needed}"


def none(*_: Any) -> int:
    """Do nothing."""
    return 1


def _merge(n: int) -> Any:
    delayed = importlib.import_module("dask").delayed
    times = delayed(operator.mul, pure=False)
    return delayed(sum)([times(i, 10) for i in range(n)])


def _tree(n: int) -> Any:
    add = importlib.import_module("dask").delayed(operator.add, pure=False)
    layer: list[Any] = list(range(2**n))
    while len(layer) > 1:
        layer = [add(layer[i], layer[i + 1]) for i in range(0, len(layer), 2)]
    return layer[0]


def _bag(parts: int) -> Any:
    people = importlib.import_module("dask.bag").range(20 * parts, npartitions=parts).map(_person)
    adults = people.filter(_is_adult)
    pairs = adults.product(adults).filter(_same_age)
    return pairs.pluck(0).map(len).sum()


def _person(i: int) -> dict[str, Any]:
    return {"age": 7 * i % 60, "name": ("first", f"last{i}"), "city": f"city{i % 11}"}


def _is_adult(person: dict[str, Any]) -> bool:
    return int(person["age"]) > 30


def _same_age(pair: Any) -> bool:
    return bool(pair[0]["age"] == pair[1]["age"])


def _numpy(parts: int) -> Any:
    side = 50 * parts
    x = importlib.import_module("dask.array").random.random((side, side), chunks=(50, 50))
    y = x + x.T
    return y[::2, side // 2 :].mean(axis=1).sum()


def _series(hours: int) -> Any:
    """Days of a table with a row every two minutes, in parts of so many hours."""
    datasets = importlib.import_module("dask.datasets")
    return datasets.timeseries("2000-01-01", "2000-01-11", freq="120s", partition_freq=f"{hours}h", seed=1)


def _groupby(hours: int) -> Any:
    return _series(hours).groupby("name").x.mean().sum()


def _join(hours: int) -> Any:
    table = _series(hours)
    return table.merge(table, on="id", shuffle_method="tasks")[["x_x", "y_y"]].sum()


def _xarray(chunk: int) -> Any:
    """Weekly means of two years of air over a grid, taken away from it."""
    numpy, pandas = importlib.import_module("numpy"), importlib.import_module("pandas")
    values = numpy.random.default_rng(1).random((2920, 25, 53), dtype="float32")
    times = pandas.date_range("2013-01-01", periods=2920, freq="6h")
    make = importlib.import_module("xarray").DataArray
    air = make(values, dims=("time", "lat", "lon"), coords={"time": times}).chunk(
        {"lat": chunk, "lon": chunk}
    )
    week = air.time.dt.isocalendar().week
    weekly = air.groupby(week)
    return (weekly - weekly.mean("time")).sum().data


def _vectorizer(parts: int) -> Any:
    delayed = importlib.import_module("dask").delayed
    return delayed(list)([delayed(_vectorized)(i) for i in range(parts)])


def _vectorized(part: int) -> int:
    text = importlib.import_module("sklearn.feature_extraction.text")
    reviews = [" ".join(f"word{(i * k + part) % 997}" for k in range(60)) for i in range(50)]
    made = text.HashingVectorizer(ngram_range=(1, 2), n_features=2**20).transform(reviews)
    return int(made.nnz)


FRAMES = ("groupby", "join")
PROGRAMS: dict[str, Callable[[int], Any]] = {
    "merge": _merge,
    "tree": _tree,
    "bag": _bag,
    "numpy": _numpy,
    "groupby": _groupby,
    "join": _join,
    "xarray": _xarray,
    "vectorizer": _vectorizer,
}
