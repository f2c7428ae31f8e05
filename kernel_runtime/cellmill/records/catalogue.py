"""The runs that are known, of this process and in folders; one of them with its journeys; two beside each other."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TypeAlias

from .. import run_registry
from ..errors import UsageError
from ..history import RunRecord, Runs
from ..run_registry import Run
from ..telemetry import comparison
from ..telemetry.comparison import Comparison, Side
from . import folders
from .form import SUFFIX
from .memory import of_run
from .record import Record, read, summary
from .recorder import current

__all__ = ["compare", "open_record", "runs"]

What: TypeAlias = "str | os.PathLike[str] | RunRecord | Run | Record | int | None"
Compared: TypeAlias = "RunRecord | Run | Record | int | str | os.PathLike[str]"


def runs(folder: str | os.PathLike[str] | None = None) -> Runs:
    """The latest runs, newest last: a map, a cell's calls of one function, or a ``%%task``. With a folder those that
    are recorded there, of whatever process; see `record`.

    Each is a `RunRecord`: ``id``, ``name``, ``cell`` ("In[3]"), ``began``, ``wall`` (seconds), ``finished``, the
    numbers of tasks ``submitted``, ``succeeded``, ``failed``, ``cancelled``, ``busy``, the share of the workers'
    time in your code, and ``spent``, where the rest went: a ``sentence``, the ``idle`` share, and its ``reasons``.
    256 are kept of those that are over. A notebook shows the list as a table.
    """
    if folder is None:
        return run_registry.records(whole=True)
    found = []
    recorder = current()
    if recorder is not None:
        recorder.flush()
    for path in folders.records_in(Path(folder).expanduser()):
        try:
            found.append(summary(path))
        except UsageError as error:
            warnings.warn(f"left out: {error}", stacklevel=2)
    return Runs(sorted(found, key=lambda run: run.began))  # names of files tell seconds only


def or_latest(what: What) -> str | os.PathLike[str] | RunRecord | Run | Record | int:
    """The same, or the latest run of this kernel. Raises `UsageError` where there is none."""
    if what is not None:
        return what
    known = run_registry.records()
    if not known:
        raise UsageError("there is no run yet: a map, a call of a parallel function, or a %%task makes one")
    return known[-1]


def open_record(what: str | os.PathLike[str] | RunRecord | Run | Record | int) -> Record:
    """A run with the journeys of its tasks: of a file, or as far as this kernel keeps them of a run (itself, its record
    of `runs`, or its number).

    ``.run`` has its figures, ``.journeys()`` the stamps of its tasks, ``.failures``, ``.samples``, ``.notes`` what a
    reader has to know, and ``.rename("baseline")`` gives it a name. Raises `UsageError` for what is no record.
    """
    if isinstance(what, Record):
        return what
    if isinstance(what, str | os.PathLike):
        return read(what)
    if isinstance(what, RunRecord) and what.path is not None:
        return read(what.path)
    return of_run(_remembered(what, "open_record takes a file, a run or its number"))


def _remembered(what: object, takes: str) -> RunRecord:
    """The record of a run, or of the one of this number; ``takes``: what may be given, for the error."""
    number = what.id if isinstance(what, Run | RunRecord) else what
    if not isinstance(number, int) or isinstance(number, bool):
        raise UsageError(f"{takes}, not {what!r}")
    found = run_registry.record_of(number, whole=True)
    if found is None:
        raise UsageError(f"{number} is the number of no run that is remembered: cellmill.runs() has those")
    return found


def compare(before: Compared, after: Compared) -> Comparison:
    """Two runs beside each other: what changed, and what is no more than chance.

    Each is a run (itself, its record of `runs`, or its number), a record or its file, or a cell with all its runs,
    ``"In[3]"``. A cell that was changed and executed again, or the same one with another backend or more workers:
    ``print(cellmill.compare(3, 5))`` says in its first sentence how much sooner it was done, and which functions' tasks
    took less or more time. A notebook shows tables.

    The time per task is called changed where the 95 % interval of the ratio of its medians does not contain 1 and it
    exceeds what runs alike differ by, which at least three of them in `runs` tell; without these, 10 %. With fewer than
    five tasks nothing is said of it. Raises `UsageError` for a run that is not remembered.
    """
    past = run_registry.records()
    first, second = _side(before, past), _side(after, past)
    if first.label == second.label:
        first, second = (
            Side(", ".join(f"run {run.id}" for run in side.runs), side.runs) for side in (first, second)
        )
    return comparison.compare(first, second, past)


def _side(what: Compared, past: Runs) -> Side:
    if isinstance(what, os.PathLike) or (isinstance(what, str) and what.endswith(SUFFIX)):
        what = summary(Path(what).expanduser())
    if isinstance(what, Record):
        what = what.run
    if isinstance(what, RunRecord) and what.path is not None:
        return Side(what.label or f"{what.name} of {what.began:%Y-%m-%d %H:%M:%S}", (what,))
    if isinstance(what, RunRecord) and what.figures is not None:
        return Side(_run_label(what, past), (what,))
    if isinstance(what, str):
        cell = "".join(what.split())
        found = [run_registry.record_of(record.id, whole=True) for record in past if record.cell == cell]
        if not found:
            known = ", ".join(dict.fromkeys(record.cell for record in past if record.cell)) or "none"
            raise UsageError(f"no run of a cell {what!r} is remembered; there are of: {known}")
        return Side(_cell_label(cell), tuple(record for record in found if record is not None))
    record = _remembered(what, "compare takes runs, their numbers, or cells such as 'In[3]'")
    return Side(_run_label(record, past), (record,))


def _run_label(record: RunRecord, past: Runs) -> str:
    """The cell, where no other run is of it; a run's number and name."""
    if record.cell and sum(other.cell == record.cell for other in past) == 1:
        return _cell_label(record.cell)
    return f"run {record.id} ({record.name})"


def _cell_label(cell: str) -> str:
    return cell.replace("[", " [")
