"""What a view may ask of the default executor, while a cell runs too: obeyed at once, on whatever thread it came.

The commands are those of the schema. One that cannot be obeyed raises, and the view is told why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cellmill import executor as executors
from cellmill import runs, schema
from cellmill.errors import CellmillError, UsageError

MOST_WORKERS = 256


def obey(command: Mapping[str, Any]) -> None:
    """Do what a view asks; raises `CellmillError` with a reason for people."""
    kind = command.get("kind")
    if command.get("cellmill") != schema.VERSION:
        raise UsageError("this page and this kernel have different versions of Cellmill: reload the page")
    if kind == "refresh":
        return  # every command is answered with the present state
    act = _ACTS.get(str(kind))
    if act is None:
        raise UsageError(f"there is no command {kind!r}; reload the page if Cellmill was updated")
    executor = executors.peek_default_executor()
    if executor is None:
        raise UsageError("there are no workers yet: they start with the first task")
    act(executor, command)


def refused(command: Mapping[str, Any], error: Exception) -> schema.Refused:
    """The frame that tells a view why."""
    reason = str(error) if isinstance(error, CellmillError) else f"{type(error).__name__}: {error}"
    kind = str(command.get("kind"))
    return {"cellmill": schema.VERSION, "kind": "refused", "command": kind, "reason": reason}


def _cancel_run(executor: executors.Executor, command: Mapping[str, Any]) -> None:
    wanted = command.get("run")
    found = [run for run in runs.active_runs() if wanted is None or run.id == wanted]
    for run in found:
        run.stop()
    if wanted is None:
        executor.stop()  # calls of submit are part of no run
    elif not found:
        raise UsageError("that run is over already")


def _pause(executor: executors.Executor, command: Mapping[str, Any]) -> None:
    executor.pause()


def _resume(executor: executors.Executor, command: Mapping[str, Any]) -> None:
    executor.resume()


def _set_workers(executor: executors.Executor, command: Mapping[str, Any]) -> None:
    count = command.get("count")
    if type(count) is not int or not 1 <= count <= MOST_WORKERS:
        raise UsageError(f"the number of workers is a whole number from 1 to {MOST_WORKERS}, not {count!r}")
    executor.set_workers(count)


_ACTS: dict[str, Callable[[executors.Executor, Mapping[str, Any]], None]] = {
    "cancel-run": _cancel_run,
    "pause": _pause,
    "resume": _resume,
    "set-workers": _set_workers,
}
