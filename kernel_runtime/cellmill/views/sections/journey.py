"""Sends where the time of the tasks went."""

from __future__ import annotations

from cellmill.executor import Executor
from cellmill.run_registry import hits_of
from cellmill.telemetry import schema
from cellmill.telemetry.account import Account
from cellmill.telemetry.profile import shown_name
from cellmill.views.scope import Scope
from cellmill.views.sections.work_fold import WorkFold, journeys_of, moved_by

MOST_FUNCTIONS = 24


class JourneySection:
    """The intervals of the tasks' journeys by function, twice a second."""

    interval = 0.5

    def __init__(self, scope: Scope | None = None) -> None:
        self._scope = scope
        self._fold = WorkFold(None if scope is None else scope.key)
        self._work = (0, 0.0) if scope is None else (scope.run, scope.began)
        self._last: object = None

    def begin(self, work: tuple[int, float]) -> None:
        if self._scope is None:
            self._work = work

    def restart(self) -> None:
        self._last = None

    def frame(self, executor: Executor) -> schema.Journey | None:
        folded = self._fold.look(executor, self._work)
        state = None if folded is None else folded.state
        key, since = None if self._scope is None else self._scope.key, int(self._work[1] * 1e9)
        hits = hits_of(executor._backend, since, None if self._scope is None else self._scope.run)
        seen = (self._work, None if state is None else (state.tasks, state.dropped), hits)
        if seen == self._last:
            return None
        self._last = seen
        account = (
            None
            if folded is None or executor._backend.observer is None
            else executor._backend.observer.account(key, advice=True)
        )
        use = executor._backend.use
        peaks = {} if use is None else use.peaks(key)
        figures = [] if folded is None else folded.timeline.figures()
        names = {} if folded is None else folded.function_names
        functions = journeys_of(figures, names, peaks, moved_by(executor, figures, key))
        return {
            "cellmill": schema.VERSION,
            "kind": "journey",
            "run": None if self._scope is None else self._scope.run,
            "known": folded is not None,
            "work": self._work[0],
            "tasks": int(state.tasks) if state is not None else 0,
            "sampled": int(state.sampled) if state is not None else 0,
            "dropped": int(state.dropped) if state is not None else 0,
            "hidden": max(0, len(functions) - MOST_FUNCTIONS),
            "functions": functions[:MOST_FUNCTIONS],
            "hits": [{"name": name, "count": count} for name, count in hits.items()],
            "slowest": slowest_of(executor) if self._scope is None else None,  # they are kept by work
            "account": None if account is None or not account.tasks else told(account),
        }


def slowest_of(executor: Executor) -> list[schema.SlowTask]:
    """Return the tasks of the present piece of work that ran longest, the longest first."""
    observer = executor._backend.observer
    return [
        {
            "task": str(slow.task),
            "element": slow.element,
            "function": shown_name(slow.function),
            "seconds": slow.seconds,
            "failed": slow.failed,
            "arguments": slow.arguments,
        }
        for slow in (observer.slowest() if observer is not None else ())
    ]


def _idle_time(part: tuple[str, str, float]) -> schema.IdleTime:
    reason, what, seconds = part
    return {"reason": reason, "what": what, "seconds": seconds}


def told(account: Account) -> schema.Account:
    """Convert an account to the schema's form."""
    return {
        "wall": account.wall,
        "workers": account.workers,
        "busy": account.busy,
        "overhead": account.overhead,
        "idle": account.idle,
        "reasons": None if account.reasons is None else list(map(_idle_time, account.reasons.parts())),
        "span": account.span,
        "tasks": account.tasks,
        "sentence": account.where,
        "nothing": account.nothing,
        "sent": account.sent,
        "received": account.received,
        "advice": [
            {"what": each.what, "seconds": each.seconds, "applies": each.can_apply} for each in account.advice
        ],
    }
