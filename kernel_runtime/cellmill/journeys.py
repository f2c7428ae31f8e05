"""Journeys: eight stamps for every finished task, one row each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .errors import BackendError
from .executor import Executor, peek_default_executor
from .runs import Run
from .telemetry.schema import STAGES

if TYPE_CHECKING:
    import pandas


def journey_rows(executor: Executor | None = None) -> Iterator[dict[str, Any]]:
    """The journeys that are kept (the newest 262,144), oldest first.

    Keys: task (number), run (its number in the scheduler), function, element (place in its chunk), worker, status,
    attempt, pack_ns, position (in the order of submission, a chunk's elements one by one; the state map shows tasks by
    it), and one stamp per stage in monotonic nanoseconds, None where it is not known.
    """
    found = executor if executor is not None else peek_default_executor()
    if found is not None:
        yield from found.journey_rows()


def journeys(run: Run | None = None, executor: Executor | None = None) -> pandas.DataFrame:
    """Journeys as a table, of one run or of all; see `journey_rows` for the columns."""
    try:
        import pandas
    except ImportError as error:
        raise BackendError("journeys() needs pandas: pip install 'cellmill[report]'") from error
    columns = [
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
    ]
    table = pandas.DataFrame(journey_rows(executor), columns=columns)
    return table if run is None else table[table["run"] == run.key].reset_index(drop=True)
