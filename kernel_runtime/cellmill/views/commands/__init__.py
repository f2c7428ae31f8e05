"""Commands that a view may give to its executor: carried out at once, also while a cell runs, on the thread that
received them.

The commands are those of the schema. One that cannot be obeyed raises, and the view is told why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cellmill.diagnostics.blame import cancelling
from cellmill.errors import CellmillError, UsageError
from cellmill.executor import Executor
from cellmill.telemetry import schema

from . import control, failures, runs, state_map, tasks, timeline, usage

__all__ = ["QUESTIONS", "obey", "refused"]

QUESTIONS = frozenset(
    {
        "zoom-timeline",
        "zoom-map",
        "show-worker-usage",
        "list-tasks",
        "list-failure",
        "show-task",
        "compare-runs",
    }
)
"""What changes nothing: the answer is all that is to be said."""


def obey(command: Mapping[str, Any], executor: Executor | None) -> schema.Frame | None:
    """Do what a view asks of an executor (None: there is none yet); the answer for it alone, if there is one.

    Raises `CellmillError` with a reason for people.
    """
    kind = command.get("kind")
    if command.get("cellmill") != schema.VERSION:
        raise UsageError("this page and this kernel have different versions of Cellmill: reload the page")
    if kind in ("refresh", "watch"):
        return None  # answered with the present state; what is watched is the link's
    act = _ACTS.get(str(kind))
    if act is None:
        raise UsageError(f"there is no command {kind!r}; reload the page if Cellmill was updated")
    if executor is None:
        raise UsageError("there are no workers yet: they start with the first task")
    with cancelling("Cancel in the panel"):
        return act(executor, command)


def refused(command: Mapping[str, Any], error: Exception) -> schema.Refused:
    """The frame that tells a view why."""
    reason = str(error) if isinstance(error, CellmillError) else f"{type(error).__name__}: {error}"
    kind = str(command.get("kind"))
    return {"cellmill": schema.VERSION, "kind": "refused", "command": kind, "reason": reason}


_ACTS: dict[str, Callable[[Executor, Mapping[str, Any]], schema.Frame | None]] = {
    "cancel-run": control.cancel_run,
    "pause": control.pause,
    "resume": control.resume,
    "set-workers": control.set_workers,
    "replace-worker": control.replace_worker,
    "apply-advice": control.apply_advice,
    "set-profile": control.set_profile,
    "zoom-timeline": timeline.zoom,
    "zoom-map": state_map.zoom_map,
    "show-worker-usage": usage.show_worker,
    "list-tasks": tasks.list_tasks,
    "list-failure": failures.list_failure,
    "retry-failure": failures.retry_failure,
    "show-task": tasks.show_task,
    "compare-runs": runs.compare_runs,
    "cancel-task": tasks.cancel_task,
    "set-priority": tasks.set_priority,
    "rerun-task": tasks.rerun_task,
}
