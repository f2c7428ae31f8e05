"""Frames, functions and options drawn at random: `.parallel` gives what pandas gives, values, types and errors."""

from __future__ import annotations

import operator
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("cellmill.pandas")


# -- frames

WORDS = np.array(["a", "bb", "", "é", "Z"], dtype=object)
MIXED = np.array([1, 2.5, "x", None, pd.NaT, pd.NA, True, b"b", (1, 2)], dtype=object)


def _column(draw: random.Random, rows: int) -> Any:
    numbers = np.random.default_rng(draw.randrange(1 << 30)).integers(-3, 6, rows)
    missing = np.arange(rows) % draw.choice([2, 7, 100]) == 1
    when = pd.to_datetime("2024-03-01") + pd.to_timedelta(numbers * 7, unit="h")
    words = pd.Series(WORDS[abs(numbers) % 5])
    made: dict[str, Callable[[], Any]] = {
        "int": lambda: numbers,
        "float": lambda: pd.Series(numbers / 2).mask(missing),
        "bool": lambda: numbers > 1,
        "Int64": lambda: pd.Series(numbers, dtype="Int64").mask(missing),
        "Float64": lambda: pd.Series(numbers / 2, dtype="Float64").mask(missing),
        "boolean": lambda: pd.Series(numbers > 1, dtype="boolean").mask(missing),
        "str": lambda: words.mask(missing),
        "string": lambda: words.astype("string").mask(missing),
        "object": lambda: MIXED[abs(numbers)],
        "category": lambda: words.mask(missing).astype("category"),
        "numbers in categories": lambda: pd.Categorical(numbers),
        "time": lambda: pd.Series(when).mask(missing),
        "zone": lambda: when.tz_localize("Europe/Berlin"),
        "span": lambda: pd.to_timedelta(numbers, unit="h"),
        "period": lambda: pd.PeriodIndex(when, freq="D"),
        "interval": lambda: pd.IntervalIndex.from_arrays(numbers, numbers + 1),
        "sparse": lambda: pd.arrays.SparseArray(numbers),
        "complex": lambda: numbers + 1j,
    }
    return pd.Series(made[draw.choice(list(made))]()).array


def _frame(draw: random.Random) -> Any:
    rows, columns = draw.choice([0, 1, 2, 5, 23]), draw.choice([0, 1, 1, 2, 3])
    index = {
        "range": lambda: pd.RangeIndex(5, 5 + rows),
        "twice": lambda: pd.Index(np.arange(rows) // 2, name="ix"),
        "zone": lambda: pd.date_range("2024-03-30", periods=rows, freq="h", tz="Europe/Berlin"),
        "two": lambda: pd.MultiIndex.from_arrays([np.arange(rows) % 2, np.arange(rows)], names=[None, "n"]),
        "category": lambda: pd.CategoricalIndex(np.array(["x", "y"])[np.arange(rows) % 2]),
    }
    of = index[draw.choice(list(index))]()
    made = pd.DataFrame({i: pd.Series(_column(draw, rows), index=of) for i in range(columns)}, index=of)
    names: list[Any] = [
        list("abc"),
        ["a", "a", "b"],
        [0, 1, 2],
        pd.MultiIndex.from_product([["A"], [0, 1, 2]]),
    ]
    made.columns = draw.choice(names)[:columns]
    return made


# -- functions

OF_VALUES: list[Any] = [
    lambda x: x,
    lambda x: type(x).__name__,
    repr,
    lambda x: x + 1,
    lambda x: None if str(x) < "2" else x,
    lambda x: pd.NA if str(x) < "2" else 1,
    lambda x: pd.NaT if str(x) < "2" else pd.Timestamp("2024-01-01"),
    lambda x: [x, 1],
    lambda x: (x, x),
    lambda x: pd.Series([x, 1], index=["p", "q"]),
    lambda x: 2**70 if str(x) > "2" else 1,
    lambda x: x.day,
    operator.neg,
    np.sin,
    {1: 2},
]
OF_PARTS: list[Any] = [
    lambda x: x,
    lambda x: x.sum(),
    lambda x: str(getattr(x, "dtype", type(x))),
    lambda x: (repr(getattr(x, "name", None)), len(x)),
    lambda x: [type(each).__name__ for each in x],
    lambda x: x.iloc[0],
    lambda x: x[:1],
    lambda x: x.iloc[::-1],
    lambda x: x.to_dict(),
    lambda x: pd.Series({"n": len(x), "name": str(getattr(x, "name", ""))}),
    lambda x: pd.Series({f"c{i}": i for i in range(len(str(getattr(x, "name", ""))) % 3)}),
    lambda x: None if len(str(getattr(x, "name", ""))) % 2 else x,
    lambda x: pd.DataFrame({"n": [len(x)], "m": ["q"]}),
    lambda x: x - x.mean(),
    lambda x: str(x.index),
    lambda x: x.flags.writeable,
    lambda x: x["nope"],
    len,
    "max",
    np.sqrt,
]


def _call(draw: random.Random) -> Callable[[Any, Callable[[Any], Any]], Any]:
    kind = draw.choice(
        ["rows", "raw", "broadcast", "values", "column map", "column apply", "groups", "groups of one"]
    )
    of_values, of_parts = draw.choice(OF_VALUES), draw.choice(OF_PARTS)
    axis, ignored = draw.choice([0, 1, "columns", 2]), draw.choice([None, "ignore", "other"])
    shape = draw.choice([None, None, "expand", "reduce"])
    of_groups = {
        name: draw.random() < 0.5 for name in ("sort", "group_keys", "dropna", "observed", "as_index")
    }

    def column(frame: Any) -> Any:
        return frame.iloc[:, 0]

    def groups(frame: Any) -> Any:
        by: Any = np.arange(len(frame)) % 3 if len(set(frame.columns)) < 2 else [frame.columns[0]]
        return frame.groupby(by, **of_groups)

    calls: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
        "rows": lambda f, p: p(f).apply(of_parts, axis=axis, result_type=shape),
        "raw": lambda f, p: p(f).apply(of_parts, axis=axis, raw=True),
        "broadcast": lambda f, p: p(f).apply(of_parts, axis=axis, result_type="broadcast"),
        "values": lambda f, p: p(f).map(of_values, na_action=ignored),
        "column map": lambda f, p: p(column(f)).map(of_values, na_action=ignored),
        "column apply": lambda f, p: p(column(f)).apply(of_values),
        "groups": lambda f, p: p(groups(f)).apply(of_parts),
        "groups of one": lambda f, p: p(groups(f)[f.columns[-1]]).apply(of_parts),
    }
    return calls[kind]


# -- what is compared


def _described(value: Any) -> Any:
    """Values with their types, down to those in frames."""
    if isinstance(value, pd.DataFrame):
        columns = [_described(value.iloc[:, i]) for i in range(value.shape[1])]
        return "frame", _described(value.index), _described(value.columns), columns
    if isinstance(value, pd.Series):
        return (
            "series",
            repr(value.name),
            _described(value.index),
            repr(value.dtype),
            _described(value.tolist()),
        )
    if isinstance(value, pd.Index):
        return type(value).__name__, repr(value.dtype), repr(value.names), repr(list(value))
    if isinstance(value, np.ndarray):
        return "array", str(value.dtype), value.shape, repr(value.tolist())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [_described(each) for each in value]
    return type(value).__name__, repr(value)


def _outcome(call: Callable[..., Any], frame: Any, how: Callable[[Any], Any]) -> Any:
    try:
        return _described(call(frame, how))
    except Exception as error:
        return "raised", type(error).__name__, str(error)


def _differing(seeds: range) -> list[Any]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            draw = random.Random(seed)
            frame, call = _frame(draw), _call(draw)
            before = _described(frame)
            theirs = _outcome(call, frame, lambda each: each)
            ours = _outcome(call, frame, operator.attrgetter("parallel"))
            if theirs != ours or _described(frame) != before:
                found.append((seed, theirs, ours))
    return found


def test_a_few_are_as_of_pandas() -> None:
    assert not _differing(range(55, 115))


@pytest.mark.long
def test_many_are_as_of_pandas() -> None:
    assert not _differing(range(1000, 3000))
