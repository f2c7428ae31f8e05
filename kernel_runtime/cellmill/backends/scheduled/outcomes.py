"""Turns a worker's answer into a value or an exception."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

from ...diagnostics import unasked
from ...diagnostics.naming import call_of
from ...diagnostics.short_text import short_arguments
from ...errors import (
    OWN_FOLDER,
    CellmillError,
    DependencyError,
    InternalError,
    PayloadError,
    TaskTimeoutError,
    WorkerLostError,
    describe_exit,
    in_words,
    is_a,
)
from ...serialization.exceptions import load_error
from ...serialization.function_code import function_name
from ...serialization.preview import preview
from ...serialization.unpacked import function_of
from .scheduler import with_gil

if TYPE_CHECKING:
    from ...futures import Future
    from .worker_exit import Exit

STOPPED = " and was stopped, with all that it had started"
TOLD = " and was told to stop; what it still returns is dropped"  # in a thread, or elsewhere: it may not hear
LIMITS = ("memory_per_worker", "memory_limit")  # one is in the reason for which a worker was ended
_OF_NATIVE_CODE = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
ITEM = "_cellmill_item"  # of an element that was cancelled
MOST_TOLD = 20  # lines of faulthandler
LAST_LINES = 5  # of a dead worker's output, in the message


def load_value(view: Any, decode: Callable[[Any], Any]) -> tuple[Any, BaseException | None]:
    """Unpickle a value: (value, None) or (None, the reason it does not unpickle). Interrupts are deferred: an error
    comes from unpickling.
    """
    try:
        return decode(view), None
    except BaseException as problem:
        return None, not_loaded(problem)


def not_loaded(problem: BaseException) -> PayloadError:
    """The task ran, and what it returned raised this while it was unpickled."""
    error = PayloadError(
        f"a result arrived but cannot be unpickled in this process: {in_words(problem)}. "
        "Is its class importable here, and its __reduce__ sound?"
    )
    error.__cause__ = problem
    return error


def cancelled(item: Any = None) -> CancelledError:
    """Make the error in the place of a cancelled element; `Stream.explain` completes it when it is read."""
    error = CancelledError()
    error.__dict__[ITEM] = item
    return error


def lost(ended: Exit | None, name: str, arguments: str, attempts: int = 1) -> WorkerLostError:
    """The worker died while it ran this call, for the last of so many ``attempts``."""
    by_signal = ended.signal if ended else None
    exitcode = ended.exitcode if ended else None
    peak = ended.peak_rss if ended else None
    how = (ended.reason if ended else "") or describe_exit(by_signal, exitcode)
    memory = f" Its peak memory was {peak / 1e6:,.0f} MB." if peak else ""
    task = ended.task >> 32 or ended.task if ended and ended.task else None
    number = f", task #{task}," if task else ""
    output = ended.output if ended else ""
    words = f"\nThe last it printed:\n{_last_lines(output)}" if output else ""
    shared = ended is not None and ended.shared
    extent = "So is what else ran in its process." if shared else "Only this task is lost."
    return WorkerLostError(
        f"the worker that ran {name}({arguments}){number} {how}.{memory} {extent} {_next_step(ended, attempts)}{words}",
        task=task,
        function=name,
        arguments=arguments,
        signal=by_signal,
        exitcode=exitcode,
        peak_rss=peak,
        output=output,
    )


def _next_step(ended: Exit | None, attempts: int) -> str:
    """Return what to do about a worker's end. Run again, a task that ends its process would mostly end the next one
    too.
    """
    again = _tried(attempts) or "retries=1 runs such tasks again."
    if ended is None or ended.reason:
        limit = next((each for each in LIMITS if ended is not None and each in ended.reason), "")
        if limit:
            return f"Give such tasks less at once, or raise {limit}: run again it would need as much."
        return again
    if ended.exitcode is not None:
        return (
            "Run again, or called here, it would do the same to its process: let it return, or raise an error; "
            "sys.exit() in a task is the error SystemExit."
        )
    if ended.signal in _OF_NATIVE_CODE:
        return (
            "Called here it would end this process, too. With `import faulthandler; faulthandler.enable()` as its "
            "first line the function shows where that is, in the next error of this kind."
        )
    return (
        'If memory was short: fewer workers (`%cellmill workers N`, max_workers=), or memory="2GB" for what each of '
        f"these tasks needs. {again}"
    )


def _tried(attempts: int) -> str:
    """Return how often a task was tried; "" where that was once: advice to try it again comes too late for others."""
    return f"The task was tried {attempts:,} times." if attempts > 1 else ""


def with_number(call: str, task: str) -> str:
    """A call at the begin of a sentence."""
    return f"{call}, task {task}," if task else call


def _last_lines(output: str) -> str:
    lines = output.splitlines()
    at = output.rfind("Fatal Python error: ")  # of faulthandler, which says where it was
    told = output[at:].splitlines() if at >= 0 else []
    own = OWN_FOLDER + os.sep
    others = (own, "Extension modules", '"<string>", line 1 in <module>')
    where = [line for line in told if line and not any(part in line for part in others)]
    return "\n".join(f"    {line}" for line in where[:MOST_TOLD] or lines[-LAST_LINES:])


def error_of(
    status: int,
    view: memoryview | None,
    name: str,
    timeout: float | None,
    stopped: str = STOPPED,
    attempts: int = 1,
) -> BaseException:
    """The exception for a task that did not end with a value. ``stopped``: what became of one past its limit;
    ``attempts``: how often it was tried.
    """
    if status == with_gil.CSCHED_ERROR and view is not None:
        return load_error(view)
    if status == with_gil.CSCHED_CANCELLED:
        return cancelled()
    if status == with_gil.CSCHED_TIMEOUT:
        limit = f" of {timeout:g} s" if timeout else ""
        again = _tried(attempts)
        step = f". {again}" if again else "; retries= would try it again."
        return TaskTimeoutError(
            f"{name} ran past its time limit{limit}{stopped}. Raise timeout=, or split the work{step}"
        )
    if status == with_gil.CSCHED_NOROOM:
        return PayloadError(
            f"the inputs of {name} found no room, in memory or on disk, and no task runs that could give some. Let go "
            "of results that this process still refers to, or free the disk."
        )
    return (
        CellmillError("not run")
        if status <= with_gil.CSCHED_NOROOM
        else InternalError(f"unknown status {status}")
    )


def not_run(why: BaseException) -> WorkerLostError:
    """The exception for a task that did not begin before its pool was broken."""
    error = WorkerLostError(f"the task did not run: {why}")
    error.__cause__ = why
    return error


def dependency_failed(before: Future | None, position: int) -> DependencyError:
    """The task did not run because of this input; the first failure of the chain is the cause."""
    cause: BaseException | None = None
    either = False
    if before is not None:
        cause = before._cancelled_error() if before.cancelled() else before._exception  # not asked for
    while is_a(cause, DependencyError) and cause.__cause__ is not None:
        either = True  # and not what each of them says: a chain's would grow with it
        cause = cause.__cause__
    how = (
        "was cancelled" if cause is None or is_a(cause, CancelledError) else f"failed with {in_words(cause)}"
    )
    call = call_of(cause) if cause is not None else ""
    if is_a(cause, CancelledError) and cause.args:  # it says which one it was
        call, how = "", f"was cancelled: {cause}"
    which = f"its input {call}" if call else f"input {position + 1} of it"
    if either:
        which = f"an input of it did not run either, as {call or 'one before it'}"
    error = DependencyError(f"the task did not run: {which} {how}")
    error.__cause__ = cause
    unasked.comes_from(error, before)
    return error


def cut_short(
    names: Mapping[int, str],
    status: int,
    ended: Exit | None,
    function: int,
    view: memoryview | None,
    limit: float,
    task: str,
    stopped: str,
    attempts: int,
) -> BaseException:
    """The error of a task, such as "#12", whose worker ended so, or that ran past its limit of so many seconds, at the
    last of so many ``attempts``. ``stopped``: what became of it then.
    """
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    name = names.get(function, "a task")
    try:
        found = preview(view) if view is not None else ()
        if isinstance(found, list):
            function_there = function_of(found)
            name = name if function_there is None else function_name(function_there)
            args, kwargs = found[-2:]
        else:
            args = found
        arguments = short_arguments(args, kwargs)
    except Exception:
        arguments = "<arguments that cannot be shown>"
    if status == with_gil.CSCHED_LOST:
        return lost(ended, name, arguments, attempts)
    return error_of(status, None, with_number(f"{name}({arguments})", task), limit, stopped, attempts)
