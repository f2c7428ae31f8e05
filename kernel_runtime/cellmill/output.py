"""`output`: what tasks printed, read again."""

from __future__ import annotations

from concurrent.futures import Future as BaseFuture
from typing import Any

from .cell_output.transcript import kept
from .errors import UsageError
from .futures import Future
from .runs import Run

__all__ = ["output"]


def output(what: Future | Run | int | None = None) -> str:
    """The end of what a task (by its future) or a run (itself, or its number) printed; without one, of the latest run.

    64 kB are kept of each of the latest 1,000 tasks and 1 MB of each of the latest 100 runs, stdout and stderr in the
    order they came.
    """
    if isinstance(what, BaseFuture):
        owner: Any = getattr(what, "_owner", None)
        return kept.text((id(owner), getattr(what, "_ticket", 0), 0))
    if isinstance(what, Run):
        return what.output
    if what is not None and (not isinstance(what, int) or isinstance(what, bool)):
        raise UsageError(f"output takes a future, a run or its number, not {what!r}")
    found = kept.of_run(what)
    if found is None and what is not None:
        raise UsageError(f"no output is kept of a run {what}; there is of: {kept.runs() or 'none'}")
    return found or ""
