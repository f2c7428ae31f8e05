"""The errors by cause: the user's, a task's, a worker's, the backend's, Cellmill's.

A message says what happened, to which task, the likely cause and the next step.
"""

from __future__ import annotations

import difflib
import os
import pickle
import signal as _signal
from collections.abc import Iterable
from concurrent.futures.process import BrokenProcessPool
from typing import TypeGuard, TypeVar

__all__ = [
    "BackendError",
    "CellmillError",
    "DependencyError",
    "InternalError",
    "PayloadError",
    "TaskTimeoutError",
    "UsageError",
    "WorkerLostError",
]


OWN_FOLDER = os.path.dirname(os.path.abspath(__file__))
"""Code of this package is known by it, where it is left out of what users are shown."""


class CellmillError(Exception):
    """Base of all errors that Cellmill raises by itself."""


class UsageError(CellmillError, ValueError):
    """A call or a magic line that makes no sense."""


class WorkerLostError(CellmillError, BrokenProcessPool):
    """The worker process died while it ran the task.

    Attributes: ``task`` (its number), ``function`` (name), ``arguments`` (short text), ``signal`` (number or
    None), ``exitcode`` (or None), ``peak_rss`` (bytes or None) and ``output`` (the worker's last lines).
    """

    def __init__(
        self,
        message: str,
        *,
        task: int | None = None,
        function: str = "",
        arguments: str = "",
        signal: int | None = None,
        exitcode: int | None = None,
        peak_rss: int | None = None,
        output: str = "",
    ) -> None:
        super().__init__(message)
        self.task = task
        self.function = function
        self.arguments = arguments
        self.signal = signal
        self.exitcode = exitcode
        self.peak_rss = peak_rss
        self.output = output


class TaskTimeoutError(CellmillError, TimeoutError):
    """The task ran longer than its ``timeout`` and was stopped."""


class DependencyError(CellmillError):
    """The task did not run: one of its inputs failed or was cancelled. The first cause is chained."""


class PayloadError(CellmillError, pickle.PicklingError):
    """Something could not be sent to a worker or back."""


class BackendError(CellmillError):
    """A backend is unknown, not installed, or cannot do what was asked."""


class InternalError(CellmillError):
    """A mistake in Cellmill itself. Please report it with the text of the message."""


_E = TypeVar("_E")
_NAME, _QUALNAME, _MODULE = (type.__dict__[name] for name in ("__name__", "__qualname__", "__module__"))


def is_a(value: object, kind: type[_E]) -> TypeGuard[_E]:
    """``isinstance`` that asks the object for nothing: its ``__class__`` may raise."""
    return issubclass(type(value), kind)


def short_name(cls: type) -> str:
    """``cls.__name__``, whatever its metaclass does."""
    return str(_NAME.__get__(cls))


def class_name(cls: type) -> str:
    """``cls.__qualname__``, whatever its metaclass does."""
    return str(_QUALNAME.__get__(cls))


def module_name(cls: type) -> str:
    """``cls.__module__``, whatever its metaclass does; "?" where it has none."""
    try:
        found = _MODULE.__get__(cls)
    except AttributeError:
        return "?"
    return found if type(found) is str else "?"


def text_of(value: object, passed: tuple[type[BaseException], ...] = ()) -> str:
    """``str(value)`` that raises nothing but errors of the kinds ``passed``, and is a plain string."""
    try:
        return str.__str__(str(value))
    except passed:
        raise
    except BaseException as error:
        return f"<its str() raises {short_name(type(error))}>"


def in_words(error: BaseException, passed: tuple[type[BaseException], ...] = ()) -> str:
    """Type and text of an exception, to go on with after it; ``passed`` as in `text_of`."""
    text = text_of(error, passed).removesuffix(".")
    name = short_name(type(error))
    return f"{name}: {text}" if text else name


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`; did you mean 'X'?` for the nearest known word, or nothing."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6) if isinstance(word, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def describe_exit(signal: int | None, exitcode: int | None) -> str:
    """Say in words how a worker process ended, with the likely cause."""
    if signal is not None:
        name = _signal.Signals(signal).name if signal in _signal.valid_signals() else f"signal {signal}"
        causes = {
            _signal.SIGKILL: "most often the operating system was out of memory, or it was killed by hand",
            _signal.SIGSEGV: "native code touched memory that is not its own",
            _signal.SIGABRT: "native code gave up (an assertion or a corrupted heap)",
            _signal.SIGBUS: "native code read a mapped file that shrank, or shared memory ran out",
        }
        cause = causes.get(_signal.Signals(signal)) if signal in _signal.valid_signals() else None
        return f"was killed by {name}" + (f": {cause}" if cause else "")
    if exitcode is not None:
        return f"ended by itself with exit code {exitcode}: something called os._exit, or exit() of C"
    return "ended, and how is not known: the process that starts workers, which would have heard, had died before it"
