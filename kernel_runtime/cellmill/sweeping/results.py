"""The results of a sweep as rows: parameters, a column for each part of a result, the error."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ..backends.settled import SettledOwner
from ..errors import BackendError, in_words
from ..futures import Future

RESULT, ERROR = "result", "error"


class SweepCounts(NamedTuple):
    """Points by their state; ``open`` are those of which nothing was begun, or that were cancelled."""

    open: int
    waiting: int
    running: int
    done: int
    failed: int


class Known(SettledOwner):
    """The owner of futures of points that are over."""

    def call_text(self, future: Future) -> str:
        """Nothing was kept for it."""
        return "of a point that is known"


KNOWN = Known()


class Outcome(NamedTuple):
    """How a point ended: its value or its error; ``number`` counts them as they come."""

    number: int
    value: Any
    error: BaseException | None = None


def parts(value: Any) -> dict[str, Any]:
    """The columns of a result: the fields of a dict, a namedtuple or a dataclass; else the value itself."""
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return {RESULT: value}


class Table(NamedTuple):
    """``names`` of all columns, the last that of errors; ``columns`` of those that are parts of results; and a dict for
    each row.
    """

    names: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]


def table(parameters: tuple[str, ...], points: Iterable[tuple[dict[str, Any], Outcome]]) -> Table:
    """Points that are over, in their order, as rows; None where a row has no such column.

    A part of a result named as a parameter, or as the column of errors, becomes ``result.name``; that column is
    ``sweep.error`` where a parameter has its name.
    """
    error_name = _free(ERROR, "sweep", parameters)
    made = [
        (at, parts(outcome.value) if outcome.error is None else {}, outcome.error) for at, outcome in points
    ]
    found = dict.fromkeys(name for _, fields, _ in made for name in fields)
    columns: dict[str, str] = {}  # by the names of the parts
    for name in found:
        taken = (*parameters, error_name)
        columns[name] = _free(name, RESULT, (*taken, *found, *columns.values())) if name in taken else name
    names = (*parameters, *columns.values(), error_name)
    rows = []
    for at, fields, error in made:
        row = {**at, **{columns[name]: part for name, part in fields.items()}}
        row[error_name] = in_words(error) if error is not None else None
        rows.append({name: row.get(name) for name in names})
    return Table(names, tuple(columns.values()), rows)


def _free(name: str, prefix: str, taken: Collection[str]) -> str:
    """The name, with ``prefix.`` before it until it is none of those taken."""
    while name in taken:
        name = f"{prefix}.{name}"
    return name


def frame(made: Table) -> Any:
    """The rows as a pandas DataFrame.

    Raises:
        BackendError: there is no pandas.
    """
    try:
        import pandas
    except ImportError as error:
        raise BackendError(
            "frame() needs pandas: pip install 'cellmill[sweep]'; rows() has the same without it"
        ) from error
    return pandas.DataFrame({name: pandas.Series([row[name] for row in made.rows]) for name in made.names})
