"""Single tasks: lists of them, one in full, and what may be done to one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cellmill import run_registry
from cellmill.api import questions_of
from cellmill.diagnostics.questions import KINDS, MOST_OFFSET, MOST_ROWS, ORDERS, Row, number
from cellmill.diagnostics.short_text import short_repr
from cellmill.diagnostics.tracebacks import in_cells
from cellmill.errors import UsageError, text_of
from cellmill.executor import Executor
from cellmill.telemetry import schema
from cellmill.views.scope import asked_scope

if TYPE_CHECKING:
    from cellmill.backends._observing import TaskQuestions

MOST_GROUPS = 20  # of failures in a list
MOST_OUTPUT, MOST_ATTEMPTS = 16_384, 50
_LIVE = ("waiting", "delayed", "queued", "sent", "running")
_BEGUN = ("running", "stopping")
_BAD = ("failed", "lost", "not-run", "retried")
_OVER = (*_BAD, "done", "cancelled")
RECORDED_ROWS = 100  # of each order


def list_tasks(executor: Executor, command: Mapping[str, Any]) -> schema.TaskList:
    """The best rows, and all failures folded."""
    questions = questions_of(executor)
    states = tuple(kind for kind in KINDS if kind in command["states"]) or KINDS
    order = str(command["order"])
    if order not in ORDERS:
        raise UsageError(f"tasks cannot be ordered by {order!r}")
    text = str(command["text"]).strip()
    digits = text.removeprefix("#")
    scope, offset = asked_scope(executor, command.get("run")), command.get("offset", 0)
    key, failure = None if scope is None else scope.key, command.get("failure")
    if type(offset) is not int or not 0 <= offset <= MOST_OFFSET:
        raise UsageError(f"a list begins at a row from 0 to {MOST_OFFSET:,}, not {offset!r}")
    rows, matched = questions.find(
        kinds=states,
        run=key,
        text=text,
        task=int(digits) if digits.isdecimal() and text.startswith("#") and len(digits) < 19 else None,
        order=order,
        failure=failure if type(failure) is int else None,
        offset=offset,
        most=max(1, min(int(command["count"]), MOST_ROWS)),
    )
    now = time.monotonic_ns()
    return {
        "cellmill": schema.VERSION,
        "kind": "task-list",
        "request": int(command["request"]),
        "matched": matched,
        "rows": [_row(row, now) for row in rows],
        "failures": _groups(questions, key),
    }


def show_task(executor: Executor, command: Mapping[str, Any]) -> schema.Frame | None:
    """One task in full."""
    questions = questions_of(executor)
    task, element = _meant(executor, questions, command)
    rows, _ = questions.find(task=task, order="newest", most=MOST_ROWS)
    if element is not None:
        rows = [row for row in rows if row.element in (element, None)] or rows
    rows.sort(key=lambda row: (-row.attempt, row.element or 0))
    found = questions.failure(task, element)
    if found is None and rows and rows[0].kind in _BAD:
        executor._backend.settle(0)  # its result has come, and no thread has asked for it yet
        found = questions.failure(task, element)
    ticket = rows[0].task if rows else found.task if found is not None else task
    state = rows[0].kind if rows else "failed" if found is not None else "unknown"
    function = rows[0].function if rows else found.function if found is not None else "?"
    again = questions.result(ticket)
    near = None if executor._backend.use is None else executor._backend.use.near(ticket)
    over = again is not None and again.done() and not again.cancelled() and again.exception() is None
    arguments = questions.arguments(ticket, element)
    return {
        "cellmill": schema.VERSION,
        "kind": "task-detail",
        "request": int(command["request"]),
        "task": str(ticket),
        "number": ticket >> 32 if state != "unknown" else 0,
        "element": element,
        "count": rows[0].count if rows else 1,
        "function": function,
        "state": state,
        "priority": rows[0].priority if rows else None,
        "why": str(questions.why(ticket)) if state in (*_LIVE, "stopping") else "",
        "attempts": [_attempt(row) for row in rows[:MOST_ATTEMPTS]],
        "arguments": questions.kept_arguments(ticket) if arguments is None else arguments,
        "output": questions.output(ticket, element)[-MOST_OUTPUT:],
        "error": found.type if found is not None else "",
        "message": found.message if found is not None else "",
        "traceback": in_cells(found.traceback) if found is not None else "",
        "memory": near.memory if near is not None else found.peak_rss if found is not None else None,
        "declared": None if near is None else near.declared,
        "result": short_repr(again.result(), 400) if again is not None and over else None,
        "reruns": [str(rerun.task) for rerun in found.again] if found is not None else [],
        "can": _possible(state, found is not None and found.is_kept),
    }


def record_tasks(executor: Executor, told: dict[tuple[int, int | None, int], object]) -> schema.TaskRecords:
    """Return the rows that a recording keeps of single tasks: those that are over among the first rows of every order,
    and the failures. Rows in ``told`` are left out unless they have changed; the returned ones are added to it.
    """
    executor._backend.settle(0)  # the last stamp of a row tells when its result was taken
    questions = questions_of(executor)
    rows: dict[tuple[int, int | None, int], Row] = {}
    for kinds, order in (*((_OVER, order) for order in ORDERS), (_BAD, "newest")):
        for row in questions.find(kinds=kinds, order=order, most=RECORDED_ROWS)[0]:
            rows[row.task, row.element, row.attempt] = row
    new = {key: row for key, row in rows.items() if told.get(key) != (row.kind, row.stamps[-1])}
    told.update((key, (row.kind, row.stamps[-1])) for key, row in new.items())
    now = time.monotonic_ns()
    return {
        "cellmill": schema.VERSION,
        "kind": "task-records",
        "records": [_record(questions, row, now) for row in new.values()],
    }


def _record(questions: TaskQuestions, row: Row, now: int) -> schema.TaskRecord:
    found = questions.failure(row.task, row.element) if row.kind in _BAD else None
    return {
        "row": _row(row, now),
        "position": row.position,
        "attempt": _attempt(row),
        "arguments": found.arguments if found is not None else None,
        "output": questions.output(row.task, row.element)[-MOST_OUTPUT:],
        "error": found.type if found is not None else "",
        "message": found.message if found is not None else "",
        "traceback": in_cells(found.traceback) if found is not None else "",
        "memory": found.peak_rss if found is not None else None,
    }


def cancel_task(executor: Executor, command: Mapping[str, Any]) -> None:
    """Cancel it, or stop it."""
    task, _ = _named(command)
    if not questions_of(executor).cancel(task):
        raise UsageError(f"task {number(task)} is over already")


def set_priority(executor: Executor, command: Mapping[str, Any]) -> None:
    """Change the priority of one task, or of a run."""
    questions = questions_of(executor)
    priority = command.get("priority")
    if command.get("task"):
        task, _ = _named(command)
        if not questions.set_priority(task, priority):  # type: ignore[arg-type]  # it checks
            raise UsageError(f"task {number(task)} has begun already: its priority changes nothing any more")
        return
    wanted = command.get("run")
    if wanted is None:
        raise UsageError("set-priority needs a task or a run")
    _run(executor, wanted).set_priority(priority)  # type: ignore[arg-type]


def rerun_task(executor: Executor, command: Mapping[str, Any]) -> schema.Frame | None:
    """The call of a failed task, as a new one."""
    task, element = _named(command)
    future = questions_of(executor).again(task, element)
    return {
        "cellmill": schema.VERSION,
        "kind": "task-rerun",
        "request": int(command["request"]),
        "task": str(future._ticket),
    }


def _meant(
    executor: Executor, questions: TaskQuestions, command: Mapping[str, Any]
) -> tuple[int, int | None]:
    """The task that is named, or the one at a position of the state map."""
    position = command.get("position")
    if command.get("task") or position is None:
        return _named(command)
    if type(position) is not int or not 0 <= position < 1 << 53:
        raise UsageError(f"a position in the state map is a whole number of at least 0, not {position!r}")
    scope, observer = asked_scope(executor, command.get("run")), executor._backend.observer
    if scope is not None and observer is not None:
        position = observer.position_in(scope.key, position)
    found = None if position is None else questions.at(position)
    if found is None:
        raise UsageError(
            "of that task nothing is kept but its place in the map: it was cancelled with its run, or ended long ago"
        )
    return found


def _named(command: Mapping[str, Any]) -> tuple[int, int | None]:
    text = str(command.get("task", ""))
    element = command.get("element")
    if not text.isdecimal() or not 0 < int(text) < 1 << 63:
        raise UsageError(f"a task is named by its number, not {text!r}")
    return int(text), element if type(element) is int and element >= 0 else None


def _run(executor: Executor, number: object) -> run_registry.Run:
    for run in run_registry.active_runs():
        if run.id == number and run._backend is executor._backend:
            return run
    raise UsageError("that run is over already")


def _row(row: Row, now: int) -> schema.TaskRow:
    submitted, ready, _, received, started, finished, *_ = row.stamps
    queued = (received or now if row.kind in (*_LIVE, "stopping") else received) - ready if ready else None
    run = finished - started if finished else now - received if row.kind in _BEGUN else None
    return {
        "task": str(row.task),
        "number": row.task >> 32,
        "element": row.element,
        "count": row.count,
        "function": row.function,
        "state": row.kind,
        "worker": row.worker,
        "attempt": row.attempt + 1,
        "priority": row.priority,
        "age": _seconds(now - submitted),
        "queued": None if queued is None or queued < 0 else _seconds(queued),
        "run": None if run is None else _seconds(run),
    }


def _attempt(row: Row) -> schema.TaskAttempt:
    first = row.stamps[0]
    return {
        "state": row.kind,
        "worker": row.worker,
        "element": row.element,
        "attempt": row.attempt + 1,
        "stamps": [_seconds(stamp - first) if stamp else -1.0 for stamp in row.stamps],
        "pack": _seconds(row.pack_ns),
    }


def _seconds(nanoseconds: int) -> float:
    """Convert nanoseconds to seconds, rounded to seven digits."""
    return float(f"{nanoseconds / 1e9:.7g}")


def _groups(questions: TaskQuestions, run: int | None) -> list[schema.FailureGroup]:
    return [
        {
            "id": group.id,
            "type": group.type,
            "function": group.function,
            "message": text_of(group.message)[:300],
            "count": group.count,
            "tasks": [str(task) for task, _ in group.first],
            "elements": [element for _, element in group.first],
        }
        for group in questions.failures(MOST_GROUPS, run)
    ]


def _possible(state: str, kept: bool) -> list[str]:
    can = []
    if state in _LIVE:
        can.append("cancel")
    if state in _LIVE and state != "running":
        can.append("priority")
    if kept:
        can += ["rerun", "debug"]
    return can
