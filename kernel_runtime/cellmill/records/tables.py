"""Journeys as tables: a pandas frame, CSV and Parquet, also of a million tasks."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..backends.scheduled.figures import STATUSES
from ..backends.scheduled.scheduler import JOURNEY, NO_WORKER
from ..errors import BackendError, UsageError
from ..telemetry.schema import STAGES
from .catalogue import What, open_record, or_latest
from .record import Record

if TYPE_CHECKING:
    import numpy
    import pandas

COLUMNS = (
    "task",
    "run",
    "function",
    "element",
    "worker",
    "status",
    "attempt",
    "pack_ns",
    "position",
    *STAGES,
)
_INSTALL = "pip install 'cellmill[export]'"


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise BackendError(f"journeys() needs pandas: {_INSTALL}") from error
    return pandas


def frame_of(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    """Journeys that come as dicts as a frame."""
    return _pandas().DataFrame(rows, columns=list(COLUMNS))


def frame(record: Record) -> pandas.DataFrame:
    """Journeys as a frame, a row for each task; stamps and workers that are not known are missing (`pandas.NA`)."""
    pandas = _pandas()
    (columns, texts), known = _columns(record), {}
    for name, (values, missing) in columns.items():
        known[name] = values if missing is None else pandas.arrays.IntegerArray(values, missing)
    for name, words in texts.items():
        known[name] = pandas.Categorical.from_codes(known[name], categories=words)
    return pandas.DataFrame({name: known[name] for name in COLUMNS})


def save_journeys(path: str | os.PathLike[str], run: What = None) -> Path:
    """Write the journeys of a run as CSV or Parquet, by the name's end: of a run, its number, a record or its file;
    without one of the latest run. Stamps are nanoseconds of the monotonic clock, empty where they are not known.

    CSV needs nothing else, Parquet pyarrow. Raises `UsageError` for another end of the name.
    """
    target = Path(path).expanduser()
    writers = {".csv": _write_csv, ".parquet": _write_parquet}
    write = writers.get(target.suffix.lower())
    if write is None:
        raise UsageError(f"{target} is neither .csv nor .parquet: the name's end tells the format")
    write(open_record(or_latest(run)), target)
    return target


def _write_csv(record: Record, path: Path) -> None:
    names, statuses = record.names, STATUSES
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for (
            ticket,
            run,
            function,
            element,
            worker,
            status,
            attempt,
            *stamps,
            pack_ns,
            position,
        ) in record.tuples():
            place = "" if worker == NO_WORKER else worker
            told = (ticket, run, names.get(function, "?"), element, place, statuses[status], attempt)
            writer.writerow((*told, int(pack_ns), position, *(stamp or "" for stamp in stamps)))


def _write_parquet(record: Record, path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise BackendError(f"Parquet needs pyarrow: {_INSTALL}") from error
    (columns, texts), made = _columns(record), {}
    for name, (values, missing) in columns.items():
        column = pyarrow.array(values, mask=missing)
        made[name] = pyarrow.DictionaryArray.from_arrays(column, texts[name]) if name in texts else column
    parquet.write_table(pyarrow.table({name: made[name] for name in COLUMNS}), path)


def native(record: Record) -> numpy.ndarray:
    """The rows as numpy has them, without a copy. Raises `BackendError` without numpy."""
    try:
        import numpy
    except ImportError as error:
        raise BackendError(f"columns of journeys need numpy: {_INSTALL}") from error
    kind = [
        *(("task", "u8"), ("run", "u4"), ("function", "u4"), ("element", "u4"), ("worker", "u2")),
        *(("status", "u1"), ("attempt", "u1"), ("stamps", "u8", 8), ("pack_ns", "f4"), ("position", "u4")),
    ]
    rows = numpy.frombuffer(record.rows, dtype=kind)
    assert rows.dtype.itemsize == JOURNEY.size
    return rows


def functions_of(record: Record, rows: numpy.ndarray) -> tuple[numpy.ndarray, list[str]]:
    """For each row the place of its function in a list of names: one that was defined again has several numbers."""
    import numpy

    numbers, places = numpy.unique(rows["function"], return_inverse=True)
    names = [record.names.get(int(number), "?") for number in numbers]
    distinct = list(dict.fromkeys(names))
    return numpy.array([distinct.index(name) for name in names], "i4")[places], distinct


def _columns(record: Record) -> tuple[dict[str, tuple[Any, Any]], dict[str, list[str]]]:
    """Values of each column and where they are missing; and the texts that the numbers of two of them stand for."""
    import numpy

    rows = native(record)
    found: dict[str, tuple[Any, Any]] = {
        name: (rows[name].astype("i8"), None)
        for name in ("task", "run", "element", "attempt", "position", "pack_ns")
    }
    statuses = list(dict.fromkeys(STATUSES))
    found["status"] = numpy.array([statuses.index(name) for name in STATUSES], "i4")[rows["status"]], None
    places, functions = functions_of(record, rows)
    found["function"] = places, None
    found["worker"] = rows["worker"].astype("i8"), rows["worker"] == NO_WORKER
    for at, stage in enumerate(STAGES):
        stamps = rows["stamps"][:, at]
        found[stage] = stamps.astype("i8"), stamps == 0
    return found, {"function": functions, "status": statuses}
