"""The accessors ``parallel`` of frames, series and groups."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from ..executor import default_executor, in_worker
from ..serialization.function_code import function_name
from .calls import Replay, apply_rows, call_column, call_each, call_group, map_values

# What pandas takes; on anything else it raises its own error before the function is called.
AXES = (0, 1, "index", "rows", "columns")
RESULT_TYPES = (None, "expand", "reduce", "broadcast")
NA_ACTIONS = (None, "ignore")
PARTS_OF_A_WORKER = 8  # in which a frame is sent: so that one slow part does not hold up the end


class ParallelFrame:
    """``frame.parallel``."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame

    def apply(
        self,
        func: Any,
        axis: Any = 0,
        raw: bool = False,
        result_type: Any = None,
        args: tuple[Any, ...] = (),
        **keywords: Any,
    ) -> Any:
        """`pandas.DataFrame.apply`; each row (``axis=1``) or column is a call of ``func`` in a worker."""
        frame, how = self._frame, {"axis": axis, "raw": raw, "result_type": result_type}
        known = axis in AXES and result_type in RESULT_TYPES
        if (
            not known
            or not _can_be_split(func, frame)
            or {"by_row", "engine", "engine_kwargs"} & keywords.keys()
        ):
            return frame.apply(func, args=args, **how, **keywords)
        call, of_rows = _Call(func, args, keywords), axis in (1, "columns")
        if result_type == "broadcast":  # pandas takes columns by their names here, and never raw ones
            columns = frame.T if of_rows else frame
            values = call.over(call_column, [columns[name] for name in columns.columns])
        elif raw:  # of the type that all values have in common, which those of a part need not have
            table = frame.values
            parts = _parts(table) if of_rows else [[column] for column in table.T]
            values = call.over(call_each, parts, table.flags.writeable)
        elif of_rows:
            values = call.over(apply_rows, _parts(frame), len(frame) == 1)
        else:
            values = call.over(call_column, [frame.iloc[:, place] for place in range(frame.shape[1])])
        return Replay(values).through(lambda replay: frame.apply(replay, **how))

    def map(self, func: Any, na_action: Any = None, **keywords: Any) -> Any:
        """`pandas.DataFrame.map`; ``func`` is called with each value in a worker."""
        frame = self._frame
        if na_action not in NA_ACTIONS or not _can_be_split(func, frame):
            return frame.map(func, na_action, **keywords)
        call = _Call(func, (), keywords)
        columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
        parts = [part for column in columns for part in _parts_of_series(column, len(columns))]
        values = call.over(map_values, parts, na_action)
        return Replay(values).through(lambda replay: frame.map(replay, na_action))


class ParallelSeries:
    """``series.parallel``."""

    def __init__(self, series: pd.Series) -> None:
        self._series = series

    def map(self, func: Any, na_action: Any = None, **keywords: Any) -> Any:
        """`pandas.Series.map`; ``func`` is called with each value in a worker."""
        series = self._series
        if na_action not in NA_ACTIONS or not _can_be_split(func, series) or "engine" in keywords:
            return series.map(func, na_action, **keywords)
        values = _Call(func, (), keywords).over(map_values, _parts_of_series(series), na_action)
        return Replay(values).through(lambda replay: series.map(replay, na_action))

    def apply(self, func: Any, args: tuple[Any, ...] = (), *, by_row: Any = "compat", **keywords: Any) -> Any:
        """`pandas.Series.apply`; ``func`` is called with each value in a worker."""
        series = self._series
        if by_row != "compat" or not _can_be_split(func, series):
            return series.apply(func, args=args, by_row=by_row, **keywords)
        values = _Call(func, args, keywords).over(map_values, _parts_of_series(series), None)
        return Replay(values).through(series.apply)


class ParallelGroups:
    """``groups.parallel``, of the groups of a frame or a series."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    def apply(self, func: Any, *args: Any, **keywords: Any) -> Any:
        """`pandas.api.typing.DataFrameGroupBy.apply`; ``func`` is called with each group in a worker."""
        groups = self._groups
        if not _can_be_split(func, groups.obj) or "include_groups" in keywords:
            return groups.apply(func, *args, **keywords)
        found: list[tuple[Any, Any]] = []

        def note(group: Any) -> None:
            found.append((group, group.name))

        groups.apply(note)
        values = _Call(func, args, keywords).over(call_group, found)
        return Replay(values).through(groups.apply)


class _Call:
    """A function of the user's, and its further arguments."""

    def __init__(self, func: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self._func, self._args, self._keywords = func, args, keywords

    def over(self, task: Callable[..., list[Any]], parts: Iterable[Any], *how: Any) -> list[Any]:
        """Return the values of the calls that ``task`` makes for each part, in order."""
        func, args, keywords = self._func, self._args, self._keywords

        def run(part: Any) -> list[Any]:
            return task(part, lambda value: func(value, *args, **keywords), *how)

        run.__name__ = run.__qualname__ = function_name(
            func
        )  # messages about its tasks name the user's function
        return [value for values in default_executor().map(run, parts) for value in values]


def _can_be_split(func: Any, of: Any) -> bool:
    """Whether pandas calls it with one part after another: not the name of a function, a ufunc, a list or a dict, and
    with none where there are no values.
    """
    plain = isinstance(func, (str, list, dict, np.ufunc, pd.Series)) or not callable(func)
    return not plain and of.size > 0 and not in_worker()


def _parts(of: Any, among: int = 1) -> list[Any]:
    """Return parts of rows; ``among``: as many as this together make up what is sent."""
    parts = min(len(of), max(PARTS_OF_A_WORKER * default_executor().max_workers // among, 1))
    ends = [len(of) * part // parts for part in range(parts + 1)]
    rows = getattr(of, "iloc", of)  # or those of an array
    return [rows[begin:end] for begin, end in itertools.pairwise(ends)]


def _parts_of_series(series: pd.Series, among: int = 1) -> list[pd.Series]:
    """Return its parts; of categories and sparse values, which pandas maps once each, the whole."""
    whole = isinstance(series.dtype, (pd.CategoricalDtype, pd.SparseDtype))
    return [series] if whole else _parts(series, among)
