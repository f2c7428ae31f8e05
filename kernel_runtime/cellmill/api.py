"""The functions of the package beside executors: control of all work, questions about tasks, journeys and output."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future as BaseFuture
from typing import TYPE_CHECKING, Any, cast

from . import backends, registry, run_registry
from .cell_output.transcript import kept
from .diagnostics.blame import cancelling
from .diagnostics.boundary import bounded
from .diagnostics.questions import Waits, number
from .diagnostics.short_text import short_repr
from .errors import BackendError, DependencyError, UsageError
from .executor import Executor, checked_executor, default_executor, peek_default_executor
from .failure_folds import Failures, folds_of
from .futures import OVER, Future
from .history import RunRecord
from .records.catalogue import What, open_record
from .run_registry import Run
from .telemetry.account import Account

if TYPE_CHECKING:
    import pandas

    from .backends._observing import Observer, TaskQuestions
    from .backends._protocol import Backend
    from .backends.cluster.left.reattaching import LeftBehind, LeftRuns

__all__ = [
    "account",
    "cancel",
    "failures",
    "journey_rows",
    "journeys",
    "left_behind",
    "output",
    "pause",
    "questions_of",
    "reattach",
    "resume",
    "set_priority",
    "why",
]

MOST_FOLDS = 1000

# -- work as a whole


@bounded
def pause() -> None:
    """No task of the default executor begins any more until `resume`; what runs goes on, calls are still taken."""
    default_executor().pause()


@bounded
def resume() -> None:
    """The default executor's tasks go on after `pause`."""
    default_executor().resume()


@bounded
def cancel(what: Run | RunRecord | Future | int | None = None) -> int:
    """End a run (itself, its record of `runs`, or its number), one task (by its future), or without one all work of
    the default executor.

    What has not begun is cancelled, what runs is interrupted; without one single calls that run go on. Returns how many
    tasks that were: 0 when all was over. Raises `UsageError` for the number of a run that does not go on.
    """
    with cancelling("cellmill.cancel()"):
        return _cancel(what)


def _cancel(what: Run | RunRecord | Future | int | None) -> int:
    if isinstance(what, RunRecord):
        run = _going(what)
        return 0 if run is None else run.stop()
    if isinstance(what, Run):
        return what.stop()
    if isinstance(what, BaseFuture):
        if what.done():
            return 0
        return int(what.cancel(force=True) if isinstance(what, Future) else what.cancel())
    if what is None:
        executor = peek_default_executor()
        if executor is None:
            return 0
        ours = [run for run in run_registry.active_runs() if run._backend is executor._backend]
        return sum(run.stop() for run in ours) + executor.stop()  # calls of submit are part of no run
    if not isinstance(what, int) or isinstance(what, bool):
        raise UsageError(f"cancel takes a run or its number, or a future, not {short_repr(what)}")
    found = [run for run in run_registry.active_runs() if run.id == what]
    if not found:
        going = ", ".join(str(run.id) for run in run_registry.active_runs()) or "none"
        raise UsageError(f"no run {what} goes on; these do: {going}")
    return found[0].stop()


def _going(record: RunRecord) -> Run | None:
    """The run of a record, while it goes on."""
    return next((run for run in run_registry.active_runs() if run.id == record.id), None)


# -- single tasks

_ENDS = {
    "done": "it is done",
    "failed": "it failed",
    "lost": "it was lost with its worker",
    "cancelled": "it was cancelled",
    "not-run": "it did not run, since an input failed",
    "retried": "it failed, and another attempt follows",
}  # by the kind of its row


@bounded
def why(task: Future | int) -> str:
    """In words: why a task waits, by its future or its number (the one that is shown behind ``#``), and what helps."""
    if isinstance(task, Future):
        task = task._of_task()
    if isinstance(task, BaseFuture):
        early = _of_future(task)
        if early:
            return early + _near_text(task)
    return in_words(*_find(task))


def _near_text(future: BaseFuture[Any]) -> str:
    """Return what its worker's memory was like, where its pool knows that."""
    executor, ticket = peek_default_executor(), getattr(future, "_ticket", 0)
    observer = None if executor is None else executor._backend.observer
    return observer.tasks.why(ticket).near_text if observer is not None and ticket else ""


def in_words(questions: TaskQuestions, ticket: int) -> str:
    """The same, where the part that answers questions is at hand."""
    waits = questions.why(ticket)
    if waits.reason != "over":
        return str(waits)
    failed = questions.failure(ticket)
    if failed is not None:
        return (
            f"It does not wait: task {number(failed.task)}, {failed.function}({failed.arguments}), failed with "
            f"{failed.type}: {failed.message}" + ("." + waits.near_text if waits.near_text else "")
        )
    rows = questions.find(task=ticket, order="newest")[0]
    latest = {row.kind for row in rows if row.attempt == max(each.attempt for each in rows)}
    if len(latest) != 1:
        return str(waits)
    return f"It does not wait: {_ENDS[latest.pop()]}.{waits.near_text}"


def waits(task: int, executor: Executor | None = None) -> Waits:
    """The same as data."""
    return questions_of(executor).why(task)


@bounded
def set_priority(what: Future | Run | RunRecord | int, priority: int) -> int:
    """Have what has not begun of a task (by its future or number) or of a run (itself, or its record of `runs`) go
    earlier or later.

    ``priority`` is from -100 to 100, larger first; how many tasks it changed: 0 when it is too late. A run's tasks that
    come later have it too.
    """
    if isinstance(what, RunRecord):
        run = _going(what)
        return 0 if run is None else run.set_priority(priority)
    if isinstance(what, Run):
        return what.set_priority(priority)
    questions, ticket = _find(what)
    return int(questions.set_priority(ticket, priority))


@bounded
def failures(run: Run | RunRecord | int | None = None, executor: Executor | None = None) -> list[Failures]:
    """All failures of a run (itself, its record of `runs`, or its number), or of all tasks of these workers (without
    ``executor`` the default one's), folded by error; the latest first.

    Each is a sequence of its calls, as far as they are remembered: the first eight of a kind, and the latest 2,048 of
    all. ``fold[0].call()`` has function, arguments and keyword arguments, ``fold.python()`` the arguments as a list in
    Python, ``fold.retry()`` makes exactly these calls again. Raises `UsageError` for an unknown run, and where tasks
    ran on executors of yours alone and neither is given, `BackendError` where tasks are not watched.
    """
    if run is not None:
        observer, key = _of_run(run, checked_executor(executor))
        return folds_of(observer.tasks, MOST_FOLDS, key)
    found = checked_executor(executor) or peek_default_executor()
    if found is None and not registry.executors:
        return []  # nothing has run
    return folds_of(questions_of(found), MOST_FOLDS, None)


def questions_of(executor: Executor | None = None) -> TaskQuestions:
    """Return the part that answers questions about single tasks; raises `BackendError` where there is none."""
    return _observer(executor).tasks


def _observer(executor: Executor | None) -> Observer:
    found = checked_executor(executor) or peek_default_executor()
    if found is None:
        raise UsageError(
            "the default executor has no tasks yet: its workers start with the first one. Of an executor of yours, "
            "name a task by its future, or the executor by executor="
        )
    return _watched(found._backend)


def _watched(backend: Backend) -> Observer:
    observer = backend.observer
    if observer is None:
        raise BackendError(
            f"the {backend.name} backend keeps no single tasks to look at; the local one does (backend='local')"
        )
    return observer


def _find(task: Any) -> tuple[TaskQuestions, int]:
    if isinstance(task, Future):
        task = task._of_task()
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
    """Return what the future itself knows; "" if its backend must be asked."""
    state = getattr(future, "_state", "")
    if state in OVER:
        if future.cancelled():
            return "It does not wait: it was cancelled."
        error = future.exception()
        if isinstance(error, DependencyError):
            return f"It does not wait: {_ENDS['not-run']}."
        return (
            f"It does not wait: it {'is done' if error is None else f'failed with {type(error).__name__}'}."
        )
    return future.why() if isinstance(future, Future) else ""


# -- what tasks went through, and printed


def journey_rows(executor: Executor | None = None) -> Iterator[dict[str, Any]]:
    """The journeys that are kept (the newest 262,144), oldest first.

    Keys: task (number), run (its number in the scheduler), function, element (place in its chunk), worker, status,
    attempt, pack_ns, position (in the order of submission, a chunk's elements one by one; the state map shows tasks by
    it), and one stamp per stage in monotonic nanoseconds, None where it is not known.
    """
    found = checked_executor(executor) or peek_default_executor()
    if found is not None:
        yield from found.journey_rows()


def journeys(run: What = None, executor: Executor | None = None) -> pandas.DataFrame:
    """Journeys as a table, of one run (itself, its number, a record or its file) or of all that are kept; see
    `journey_rows` for the columns. `save_journeys` writes them as CSV or Parquet.
    """
    from .records import tables  # loads numpy and pandas

    if run is not None:
        return tables.frame(open_record(run))
    return tables.frame_of(journey_rows(executor))


def account(run: Run | RunRecord | int | None = None, executor: Executor | None = None) -> Account:
    """Where the time went of the latest piece of work (in a notebook: of the latest cell that submitted tasks), or of
    one run (itself, its record of `runs`, or its number).

    ``print(cellmill.account())`` says it in a sentence; `Account` has the figures, in seconds: ``busy + overhead +
    idle`` is ``wall * workers``. Of work that is over, ``advice`` has the changes that would have made it shorter, best
    first: ``what``, ``seconds`` promised, and ``apply()``, which makes those that are no change of code. Raises
    `UsageError` for an unknown run, and where tasks ran on executors of yours alone and none is given, `BackendError`
    where tasks are not watched.
    """
    if run is not None:
        observer, key = _of_run(run, checked_executor(executor))
        return observer.account(key)
    found = checked_executor(executor) or peek_default_executor()
    if found is None and not registry.executors:
        found = default_executor()  # nothing has run
    return _observer(found).account(None, advice=True)


def _of_run(run: Run | RunRecord | int, executor: Executor | None) -> tuple[Observer, int]:
    """What watches a run, and its number there. The executor need not be told: numbers of runs are those of the whole
    process.
    """
    wanted = run.id if isinstance(run, Run | RunRecord) else run
    if not isinstance(wanted, int) or isinstance(wanted, bool):
        raise UsageError(
            f"a run is named by itself, its record of cellmill.runs() or its number, not {short_repr(run)}"
        )
    if isinstance(run, RunRecord) and run.path is not None:
        raise UsageError(
            f"{run.path.name} is the record of a run: cellmill.open_record(run) has what is kept of it"
        )
    for known in reversed(run_registry.recent_runs()):
        backend = cast("Backend | None", known.backend())
        if known.id == wanted and backend is not None and (executor is None or backend is executor._backend):
            return _watched(backend), known.key
    where = "" if executor is None else " of this executor"
    raise UsageError(f"{wanted!r} is the number of no run{where} that is remembered")


def output(what: Future | Run | RunRecord | int | None = None) -> str:
    """The end of what a task (by its future) or a run (itself, its record of `runs`, or its number) printed; without
    one, of the latest run.

    64 kB are kept of each of the latest 1,000 tasks and 1 MB of each of the latest 100 runs, stdout and stderr in the
    order they came.
    """
    if isinstance(what, Future):
        what = what._of_task()
    if isinstance(what, BaseFuture):
        owner: Any = getattr(what, "_owner", None)
        return kept.text(owner, getattr(what, "_ticket", 0), 0) if owner is not None else ""
    if isinstance(what, Run):
        return what.output
    if isinstance(what, RunRecord):
        what = what.id
    if what is not None and (not isinstance(what, int) or isinstance(what, bool)):
        raise UsageError(f"output takes a future, a run or its number, not {short_repr(what)}")
    found = kept.of_run(what)
    if found is None and what is not None:
        raise UsageError(f"no output is kept of a run {what}; there is of: {kept.runs() or 'none'}")
    return found or ""


# -- what was left on a cluster


@bounded
def left_behind(backend: Any = None, *, security: Any = None) -> list[LeftBehind]:
    """Return what executors with a name (``Executor(backend=ADDRESS, name="screen")``) have left on a cluster of Dask.

    ``backend``: as for an executor; without one the cluster of the default executor.
    """
    from .backends.cluster.left import reattaching

    with backends.left_on(_cluster(backend), security) as store:
        return reattaching.left_behind(store)


@bounded
def reattach(name: str, backend: Any = None, *, security: Any = None) -> LeftRuns:
    """Bring what executors of this name have left, a record per map with its values, errors and what is missing.

    It is removed from the cluster then, except what a kernel that is still there has left. Raises `UsageError` where
    nothing is left.
    """
    from .backends.cluster.left import reattaching

    with backends.left_on(_cluster(backend), security) as store:
        return reattaching.reattach(store, name)


def _cluster(backend: Any) -> Any:
    found = peek_default_executor() if backend is None else backend
    if found is None:
        raise UsageError("which cluster? Give its address: backend='tcp://HOST:8786'")
    return found._backend if isinstance(found, Executor) else found
