"""`.parallel` gives what pandas gives: each call is made with and without it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cellmill
from cellmill import Executor
from tests.support.helpers import run_script

pd = pytest.importorskip("pandas")
pytest.importorskip("cellmill.pandas")


@pytest.fixture(scope="module")
def frame() -> Any:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": draw.integers(0, 9, 50),
            "b": draw.normal(size=50),
            "word": draw.choice(["x", "yy", None], 50),
            "kind": pd.Categorical(draw.choice(["p", "q"], 50)),
            "when": pd.date_range("2024-01-01", periods=50, freq="h"),
        },
        index=[f"row {i}" for i in range(50)],
    )


def spread(row: Any) -> Any:
    return pd.Series({"sum": row["a"] + row["b"], "name": row.name})


def sometimes(row: Any) -> Any:
    return None if row["a"] < 3 else [row["a"], row["word"]]


def scaled(value: Any, factor: float, *, plus: float = 0.0) -> Any:
    return value * factor + plus


def fails_on_seven(value: int) -> int:
    if value == 7:
        raise ValueError("seven")
    return value


def shifted(group: Any) -> Any:
    return group.assign(b=group["b"] - group["b"].mean(), name=str(group.name))


def spread_of(group: Any) -> Any:
    return pd.Series({"low": group["b"].min(), "high": group["b"].max()})


def can_be_written_to(values: Any) -> bool:
    return bool(values.flags.writeable)


def of_kind(column: Any) -> bool:
    return isinstance(column, pd.Series)


CALLS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "rows to numbers": lambda f, p: p(f).apply(lambda row: row["a"] * 2, axis=1),
    "rows to series": lambda f, p: p(f).apply(spread, axis=1),
    "rows to lists": lambda f, p: p(f).apply(sometimes, axis="columns"),
    "rows expanded": lambda f, p: p(f).apply(lambda row: [row["a"], 1], axis=1, result_type="expand"),
    "rows themselves": lambda f, p: p(f[["a", "b"]]).apply(lambda row: row, axis=1),
    "raw rows": lambda f, p: p(f[["a", "b"]]).apply(lambda row: row.sum(), axis=1, raw=True),
    "raw columns of several types": lambda f, p: p(f[["a", "b"]]).apply(
        lambda column: column.max(), raw=True
    ),
    "raw rows of integers, some missing": lambda f, p: p(f[["a"]].astype("Int64").where(f[["a"]] > 3)).apply(
        lambda row: str(row.dtype), axis=1, raw=True
    ),
    "broadcast columns": lambda f, p: p(f[["a", "b"]]).apply(np.max, result_type="broadcast"),
    "broadcast columns, not raw": lambda f, p: p(f[["a", "b"]]).apply(
        of_kind, raw=True, result_type="broadcast"
    ),
    "broadcast rows of one label": lambda f, p: p(f[["a", "b"]].rename(lambda _: "row")[:2]).apply(
        lambda row: row.to_numpy().max(axis=0), axis=1, result_type="broadcast"
    ),
    "whether raw rows can be written to": lambda f, p: p(f[["a"]]).apply(can_be_written_to, axis=1, raw=True),
    "whether raw columns can be written to": lambda f, p: p(f[["a"]]).apply(can_be_written_to, raw=True),
    "whether raw rows of several types can be": lambda f, p: p(f[["a", "b"]]).apply(
        can_be_written_to, axis=1, raw=True
    ),
    "no columns": lambda f, p: p(f[[]]).apply(lambda column: column.sum()),
    "rows without columns": lambda f, p: p(f[[]]).apply(lambda row: row.sum(), axis=1),
    "raw rows without columns": lambda f, p: p(f[[]]).apply(lambda row: row.sum(), axis=1, raw=True),
    "columns": lambda f, p: p(f[["a", "b"]]).apply(lambda column: column.max() - column.min()),
    "columns to columns": lambda f, p: p(f[["a", "b"]]).apply(lambda column: column - column.mean()),
    "further arguments": lambda f, p: p(f[["a", "b"]]).apply(scaled, args=(2,), plus=1),
    "a name": lambda f, p: p(f[["a", "b"]]).apply("sum"),
    "a ufunc": lambda f, p: p(f[["a"]]).apply(np.sqrt),
    "no rows": lambda f, p: p(f[:0]).apply(spread, axis=1),
    "each value": lambda f, p: p(f).map(str),
    "each value but missing ones": lambda f, p: p(f).map(lambda value: f"<{value}>", na_action="ignore"),
    "a series": lambda f, p: p(f["a"]).map(lambda value: value + 0.5),
    "a series with missing ones": lambda f, p: p(f["word"]).map(len, na_action="ignore"),
    "categories": lambda f, p: p(f["kind"]).map(str.upper),
    "categories, some missing": lambda f, p: p(f["word"].astype("category")).map(lambda word: word),
    "sparse values": lambda f, p: p(f["a"].astype("Sparse[int]")).map(lambda value: value + 1),
    "sparse values applied": lambda f, p: p(f["a"].astype("Sparse[int]")).apply(scaled, args=(2,)),
    "times": lambda f, p: p(f["when"]).map(lambda when: when.hour),
    "a dict": lambda f, p: p(f["a"]).map({1: "one"}),
    "series apply": lambda f, p: p(f["b"]).apply(scaled, args=(3,), plus=2),
    "series to series": lambda f, p: p(f["a"]).apply(lambda value: pd.Series([value, value * 2])),
    "groups to series": lambda f, p: p(f.groupby("a")).apply(spread_of),
    "groups to frames": lambda f, p: p(f.groupby(["a", "kind"], observed=True)).apply(shifted),
    "groups without keys": lambda f, p: p(f.groupby("a", group_keys=False)).apply(shifted),
    "groups of a series": lambda f, p: p(f.groupby("a")["b"]).apply(lambda values: values.sum()),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_is_as_of_pandas(frame: Any, name: str) -> None:
    expected = CALLS[name](frame, lambda each: each)
    found = CALLS[name](frame, lambda each: each.parallel)
    same = (
        pd.testing.assert_frame_equal
        if isinstance(expected, pd.DataFrame)
        else pd.testing.assert_series_equal
    )
    same(found, expected)


def test_the_engine_is_an_argument_of_pandas(frame: Any) -> None:
    pytest.importorskip("pandas", "3.0")
    pd.testing.assert_series_equal(frame["a"].parallel.map(str, engine=None), frame["a"].map(str))


def test_columns_of_one_name_cannot_be_broadcast(frame: Any) -> None:
    twice = pd.concat([frame["a"], frame["a"]], axis=1)
    for each in (twice, twice.parallel):
        with pytest.raises(ValueError, match="cannot broadcast result"):
            each.apply(lambda column: column.mean(), result_type="broadcast")


def test_what_pandas_refuses_is_refused_before_a_call(frame: Any) -> None:
    def refused(call: Callable[[Any], Any], column: bool) -> tuple[str, str]:
        of = frame["a"] if column else frame
        found = []
        for each in (of, of.parallel):
            with pytest.raises((ValueError, TypeError)) as error:
                call(each)
            found.append(str(error.value))
        return found[0], found[1]

    calls: list[tuple[Callable[[Any], Any], bool]] = [
        (lambda each: each.apply(fails_on_seven, axis=2), False),
        (lambda each: each.apply(fails_on_seven, axis=None, raw=True), False),
        (lambda each: each.apply(fails_on_seven, axis=1, result_type="wide"), False),
        (lambda each: each.map(fails_on_seven, na_action="drop"), False),
        (lambda each: each.map(fails_on_seven, na_action="drop"), True),
    ]
    for call, column in calls:
        theirs, ours = refused(call, column)
        assert theirs == ours


def test_a_row_within_what_a_function_returns_is_refused(frame: Any) -> None:
    """All of them would be the last one: pandas has one object for all rows."""
    assert frame.apply(lambda row: (row, 1), axis=1).iloc[0][0].name == frame.index[-1]
    for kept in (lambda row: (row, 1), lambda row: {"at": [row]}):
        with pytest.raises(cellmill.UsageError, match=r"return row\.copy\(\) there"):
            frame.parallel.apply(kept, axis=1)
        assert str(frame[:1].parallel.apply(kept, axis=1).iloc[0]) == str(kept(frame.iloc[0]))


def test_an_error_is_that_of_the_function(frame: Any) -> None:
    with pytest.raises(ValueError, match="seven"):
        frame["a"].parallel.map(fails_on_seven)


def test_calls_run_in_workers_under_their_own_name(pool: Executor, frame: Any) -> None:
    here = set(pool.run_on_workers(os.getpid))

    def where(_: Any) -> int:
        return os.getpid()

    assert set(frame["a"].parallel.map(where)) <= here
    assert cellmill.runs()[-1].name.endswith("where")
    assert pool.submit(lambda: frame["a"].parallel.map(fails_on_six).sum()).result() == frame["a"].sum()


def fails_on_six(value: int) -> int:
    return value


def test_a_wide_frame_is_not_sent_in_more_parts_than_it_has_columns() -> None:
    wide = pd.DataFrame(np.ones((40, 60)))
    pd.testing.assert_frame_equal(wide.parallel.map(str), wide.map(str))
    assert cellmill.runs()[-1].succeeded == 60


def test_messages_name_the_function_of_the_user(frame: Any) -> None:
    met: list[Any] = []

    def noted(value: Any) -> Any:
        met.append(value)
        return value

    def locked(_: Any) -> Any:
        return threading.Lock()

    def ends(_: Any) -> Any:
        return next(iter(()))

    with pytest.warns(RuntimeWarning, match=r"tasks of .*noted change met"):
        frame["a"].parallel.map(noted)
    with pytest.raises(cellmill.PayloadError, match=r"the result of .*locked, a list, cannot be sent back"):
        frame.parallel.apply(locked, axis=1)
    with pytest.raises(RuntimeError, match="ends raised StopIteration"):
        frame.groupby("a").parallel.apply(ends)


def test_it_is_there_after_the_import_and_tells_of_draws_that_the_seed_does_not_reach(tmp_path: Any) -> None:
    code = """
import cellmill.pandas
import numpy as np
import pandas as pd

def double(x):
    return 2 * x

def noisy(x):
    return x + np.random.normal()

if __name__ == "__main__":
    cellmill.set_default_executor(cellmill.Executor(1))
    print(pd.DataFrame({"a": [1, 2]}).parallel.map(double)["a"].tolist())
    np.random.seed(3)
    pd.DataFrame({"a": [1, 2]})["a"].parallel.map(noisy)
"""
    out, errors = run_script(tmp_path, code)
    assert out == "[2, 4]\n"
    assert "tasks of noisy draw from numpy.random" in errors
