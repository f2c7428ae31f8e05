"""One fold of failures: its calls, their arguments as Python, and all of them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cellmill.api import questions_of
from cellmill.errors import UsageError, in_words
from cellmill.executor import Executor
from cellmill.failure_folds import source_of, to_retry
from cellmill.telemetry import schema
from cellmill.views.scope import asked_scope

if TYPE_CHECKING:
    from cellmill.backends._observing import FailureFold, FailureRecord

MOST_CALLS = 50  # of a fold that are listed
MOST_SOURCE = 1 << 18  # characters of their arguments as Python
_ARGUMENTS = 200  # characters of one call's arguments in the list


def list_failure(executor: Executor, command: Mapping[str, Any]) -> schema.FailureCalls:
    """The first calls of a fold, and on request the arguments of all that are remembered, as Python."""
    fold, records = _asked(executor, command)
    source = source_of(records, fold.type, fold.count, MOST_SOURCE) if command.get("python") else None
    return {
        "cellmill": schema.VERSION,
        "kind": "failure-calls",
        "request": int(command["request"]),
        "failure": fold.id,
        "count": fold.count,
        "known": len(records),
        "open": len(to_retry(records)),
        "until": max((record.at for record in records), default=0.0),
        "calls": [_call(record) for record in records[:MOST_CALLS]],
        "python": None if source is None else source.text,
        "exact": None if source is None else source.exact,
    }


def retry_failure(executor: Executor, command: Mapping[str, Any]) -> schema.FailureRetried:
    """Submit again the calls of a fold that a view has seen: those that had failed up to a moment."""
    fold, records = _asked(executor, command)
    until = command.get("until")
    if type(until) not in (int, float):
        raise UsageError(f"a retry takes the moment of the list that it is about, not {until!r}")
    questions = questions_of(executor)
    submitted, problems = 0, list[str]()
    for record in to_retry([record for record in records if record.at <= until]):  # type: ignore[operator]
        try:
            questions.call_again(record)
            submitted += 1
        except Exception as error:  # of what is unpickled, too
            problems.append(str(error) if isinstance(error, UsageError) else in_words(error))
    return {
        "cellmill": schema.VERSION,
        "kind": "failure-retried",
        "request": int(command["request"]),
        "failure": fold.id,
        "submitted": submitted,
        "refused": len(problems),
        "reason": problems[0] if problems else "",
    }


def _asked(executor: Executor, command: Mapping[str, Any]) -> tuple[FailureFold, Sequence[FailureRecord]]:
    scope, number = asked_scope(executor, command.get("run")), command.get("failure")
    key = None if scope is None else scope.key
    found = questions_of(executor).failed_calls(number, key) if type(number) is int else None
    if found is None:
        raise UsageError("these failures are not known: their workers were replaced")
    return found


def _call(record: FailureRecord) -> schema.FailureCall:
    shown = record.arguments
    return {
        "task": str(record.task),
        "number": record.task >> 32,
        "element": record.element,
        "arguments": shown if len(shown) <= _ARGUMENTS else shown[: _ARGUMENTS - 1] + "…",
        "kept": record.is_kept,
        "again": record.again[-1].state if record.again else None,
    }
