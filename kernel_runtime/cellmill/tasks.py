"""Single tasks: why one waits, its priority, and a failed one's call again."""

from __future__ import annotations

from concurrent.futures import Future as BaseFuture
from typing import TYPE_CHECKING, Any

from .diagnostics.boundary import bounded
from .diagnostics.questions import Waits, number
from .errors import BackendError, UsageError
from .executor import Executor, peek_default_executor
from .futures import OVER, Future
from .runs import Run

if TYPE_CHECKING:
    from .backends._protocol import Observer, TaskQuestions

__all__ = ["questions_of", "set_priority", "why"]


@bounded
def why(task: Future | int) -> str:
    """In words: why a task waits, by its future or its number (the one that is shown behind ``#``), and what helps."""
    if isinstance(task, BaseFuture):
        early = _of_future(task)
        if early:
            return early
    questions, ticket = _find(task)
    waits = questions.why(ticket)
    failed = questions.failure(ticket) if waits.reason == "over" else None
    if failed is not None:
        return (
            f"It does not wait: task {number(failed.task)}, {failed.function}({failed.arguments}), failed with "
            f"{failed.type}: {failed.message}"
        )
    return str(waits)


def waits(task: int, executor: Executor | None = None) -> Waits:
    """The same as data."""
    return questions_of(executor).why(task)


@bounded
def set_priority(what: Future | Run | int, priority: int) -> int:
    """Have what has not begun of a task (by its future or number) or of a run go earlier or later.

    ``priority`` is from -100 to 100, larger first; how many tasks it changed: 0 when it is too late. A run's tasks that
    come later have it too.
    """
    if isinstance(what, Run):
        return what.set_priority(priority)
    questions, ticket = _find(what)
    return int(questions.set_priority(ticket, priority))


def questions_of(executor: Executor | None = None) -> TaskQuestions:
    """What answers for single tasks; raises `BackendError` where nothing does."""
    found = executor if executor is not None else peek_default_executor()
    if found is None:
        raise UsageError("there are no tasks yet: workers start with the first one")
    observer = found._backend.observer
    if observer is None:
        raise BackendError(
            f"the {found.backend} backend keeps no single tasks to look at; the local one does (backend='local')"
        )
    return observer.tasks


def _find(task: Any) -> tuple[TaskQuestions, int]:
    if isinstance(task, Future):
        owner: Any = task._owner
        owner = getattr(owner, "host", owner)  # an item of a batch: its stream's
        observer: Observer | None = owner.observer
        if observer is None:
            raise BackendError("this future's backend keeps no single tasks to look at")
        return observer.tasks, task._ticket
    if isinstance(task, int) and not isinstance(task, bool) and task > 0:
        return questions_of(), task
    raise UsageError(f"a task is named by its future or its number, not {task!r}")


def _of_future(future: BaseFuture[Any]) -> str:
    """What the future itself tells."""
    state = getattr(future, "_state", "")
    if state in OVER:
        if future.cancelled():
            return "It does not wait: it was cancelled."
        error = future.exception()
        return (
            f"It does not wait: it {'is done' if error is None else f'failed with {type(error).__name__}'}."
        )
    if isinstance(future, Future) and not future._ticket:
        return "It is an item of a batch: it goes to a worker with the others as soon as one has room."
    return ""
