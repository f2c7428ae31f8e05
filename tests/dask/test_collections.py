"""Dataframes and xarray on Cellmill's workers: values, index, kinds and errors as with Dask's threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pandas as pd
import pytest

import cellmill.dask
from cellmill import Executor
from tests.support.helpers import comes_down

pytest.importorskip("pyarrow")  # dask.dataframe needs it

import dask.dataframe as dd


@pytest.fixture(autouse=True)
def ours(pool: Executor) -> Iterator[None]:
    """Dask computes with the shared pool."""
    with cellmill.dask.scheduler(pool):
        yield
    assert comes_down(lambda: pool.stats().running, 0)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    random = np.random.default_rng(3)
    n = 600
    return pd.DataFrame(
        {
            "id": random.integers(0, 50, n),
            "name": random.choice(["ann", "bob", "cy"], n),
            "x": random.normal(size=n),
            "when": pd.date_range("2024-01-01", periods=n, freq="h"),
            "kind": pd.Categorical(random.choice(["a", "b"], n)),
        }
    )


def spread(group: pd.DataFrame) -> float:
    return float(group.x.max() - group.x.min())


def _meaningful(part: pd.DataFrame) -> pd.DataFrame:
    if part.x.isna().any():
        raise LookupError("a value is missing")
    return part


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "arithmetic and a filter": lambda d: d[d.x > 0].assign(y=d.x * 2 + d.id)[["name", "y", "kind"]],
    "groupby": lambda d: d.groupby("name").agg({"x": ["mean", "std", "count"], "id": "max"}),
    "groupby with a function": lambda d: d.groupby("id").apply(spread, meta=("x", "f8")),
    "merge by tasks": lambda d: d.merge(d, on="id", shuffle_method="tasks")[["x_x", "x_y"]].sum(),
    "merge on the disk": lambda d: d.merge(d, on="id", shuffle_method="disk")[["x_x", "x_y"]].sum(),
    "a new index": lambda d: d.set_index("id").x,
    "resampled": lambda d: d.set_index("when").x.resample("1D").mean(),
    "rolling": lambda d: d.x.rolling(5).sum(),
    "counts": lambda d: d.name.value_counts(),
    "quantiles": lambda d: d.x.quantile([0.25, 0.5]),
    "parts": lambda d: d.map_partitions(lambda part: part.sort_values("x").head(2)),
    "ends": lambda d: d.nlargest(7, "x"),
    "without duplicates": lambda d: d.drop_duplicates(subset=["name", "kind"])[["name", "kind"]],
}
# In blocks, with a function of a test's module, by exchange between tasks and over borders of parts; the graphs of
# others are of the same tasks.
DIFFER = ("arithmetic and a filter", "groupby with a function", "merge by tasks", "rolling")


@pytest.mark.parametrize(
    "name", [name if name in DIFFER else pytest.param(name, marks=pytest.mark.long) for name in PROGRAMS]
)
def test_dataframes_give_the_same_as_with_dasks_threads(name: str, frame: pd.DataFrame) -> None:
    program = PROGRAMS[name](dd.from_pandas(frame, npartitions=5))
    mine, theirs = program.compute(), program.compute(scheduler="threads")
    if name in ("groupby with a function", "a new index"):  # the disk has the rows of a group in any order
        mine, theirs = (each.sort_index(kind="stable") for each in (mine, theirs))
        mine, theirs = (pd.Series(sorted(zip(each.index, each, strict=True))) for each in (mine, theirs))
    (pd.testing.assert_frame_equal if isinstance(mine, pd.DataFrame) else pd.testing.assert_series_equal)(
        mine, theirs
    )


def test_error_of_a_part_is_its_own(frame: pd.DataFrame) -> None:
    broken = frame.assign(x=frame.x.where(frame.index != 400))
    checked = dd.from_pandas(broken, npartitions=5).map_partitions(_meaningful)
    with pytest.raises(LookupError, match="a value is missing"):
        checked.compute()
    assert len(dd.from_pandas(frame, npartitions=5).map_partitions(_meaningful).compute()) == len(frame)


def test_persisted_frames_are_used_again(frame: pd.DataFrame) -> None:
    kept = dd.from_pandas(frame, npartitions=5).assign(y=1).persist()
    assert (kept.y.sum().compute(), kept.id.max().compute()) == (len(frame), frame.id.max())


@pytest.mark.long  # its graphs are of functions of arrays, as those in `test_get`
def test_xarray_gives_the_same_as_with_dasks_threads() -> None:
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(1).random((120, 6, 8))
    times = pd.date_range("2013-01-01", periods=120, freq="6h")
    air = xarray.DataArray(values, dims=("time", "lat", "lon"), coords={"time": times}, name="air")
    chunked = air.chunk({"lat": 3, "lon": 4})
    hours = chunked.groupby("time.hour")
    programs = [
        hours - hours.mean("time"),
        (chunked - chunked.mean(("lat", "lon"))).std("time"),
        xarray.apply_ufunc(np.sqrt, chunked, dask="parallelized", output_dtypes=[float]),
    ]
    for program in programs:
        with dask.config.set(scheduler="threads"):
            expected = program.compute()
        xarray.testing.assert_identical(program.compute(), expected)
