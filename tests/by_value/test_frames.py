"""What tasks change of data frames and series that their function refers to is told, whatever way pandas does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS
from tests.support.told import told

pandas = pytest.importorskip("pandas")


pytestmark = pytest.mark.usefixtures("notices_anew")


def _sorted_in_place(frame: Any) -> None:
    frame._update_inplace(frame.sort_values("a", ignore_index=True))  # as `inplace=True` does


def _delete(frame: Any) -> None:
    del frame["b"]


def _forbid_duplicates(frame: Any) -> None:
    frame.flags.allows_duplicate_labels = False


def _name(frame: Any) -> None:
    frame.attrs["unit"] = "kg"


@pytest.mark.parametrize(
    "change",
    [
        _delete,
        _name,
        _forbid_duplicates,
        _sorted_in_place,
        lambda frame: frame.pop("b"),
        lambda frame: frame.insert(0, "c", 1),
        lambda frame: frame.__setitem__("a", 1),
        lambda frame: setattr(frame, "columns", ["x", "y"]),
    ],
)
def test_changes_of_a_frame(pool: Executor, change: Callable[[Any], Any]) -> None:
    frame = pandas.DataFrame({"a": [3, 1, 2], "b": [1.5, 1.5, 1.5]})

    def use() -> int:
        change(frame)
        return len(frame.columns)

    def of_argument(given: Any) -> int:
        change(given)
        return 0

    assert len(told(lambda: pool.submit(use).result(SECONDS), "tasks of")) == 1
    assert len(told(lambda: pool.submit(of_argument, frame).result(SECONDS), "its argument given")) == 1


def test_the_frequency_of_an_index(pool: Executor) -> None:
    dates = pandas.DataFrame({"a": [1.0, 2.0]}, index=pandas.date_range("2020", periods=2))

    def forget() -> None:
        dates.index.freq = None

    assert len(told(lambda: pool.submit(forget).result(SECONDS), "tasks of")) == 1


def test_the_name_of_a_series(pool: Executor) -> None:
    series = pandas.Series([1, 2], name="before")

    def rename() -> str:
        series.name = "after"
        return str(series.name)

    assert len(told(lambda: pool.submit(rename).result(SECONDS), "tasks of")) == 1


def test_reading_is_no_change(pool: Executor) -> None:
    """Also where pandas puts its blocks together for it."""
    frame = pandas.DataFrame({"a": [3, 1, 2], "b": [1, 1, 2]})
    for name in "cdefg":
        frame[name] = 1.5

    def read() -> float:
        (
            frame.describe(),
            frame.sort_values("a"),
            frame.groupby("b").sum(),
            frame.loc[frame.a > 1],
            frame.iloc[0],
        )
        return float(frame.values.sum() + frame.to_numpy().sum() + frame["a"].sum())

    assert told(lambda: [pool.submit(read).result(SECONDS) for _ in range(6)]) == []


@pytest.mark.parametrize(
    ("values", "change"),
    [
        (
            pandas.date_range("2020", periods=3),
            lambda given: given.iloc.__setitem__((0, 0), given.iloc[1, 0]),
        ),
        (
            pandas.to_timedelta([1, 2, 3], "s"),
            lambda given: given.loc.__setitem__((0, "a"), given.loc[1, "a"]),
        ),
        (pandas.array([1, 2, None], dtype="Int64"), lambda given: given.a.array.__setitem__(0, None)),
        (pandas.Categorical(["p", "q", "p"]), lambda given: given.at.__setitem__((0, "a"), "q")),
    ],
    ids=["dates", "durations", "integers", "categories"],
)
def test_reading_values_of_pandas_own_types_is_no_change(
    pool: Executor, values: Any, change: Callable[[Any], Any]
) -> None:
    """They keep caches, which reading fills, and their pickles have these."""
    frame = pandas.DataFrame({"a": values, "b": 1})

    def read(given: Any) -> int:
        return len(given.values) + len(given.iloc[0]) + len(pandas.Index(given["a"])) + given["a"].nunique()

    def of_argument(given: Any) -> int:
        change(given)
        return 0

    assert told(lambda: pool.submit(read, frame).result(SECONDS)) == []
    assert len(told(lambda: pool.submit(of_argument, frame).result(SECONDS), "its argument given")) == 1
