"""Exceptions on their way from a worker to the kernel.

What comes is a pickle of plain text, numbers and bytes, so that it can be read even where the exception itself cannot
be put together again (error_parts.py).
"""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Iterator
from concurrent.futures.process import _RemoteTraceback
from typing import Any

from ..diagnostics import inner_calls
from ..diagnostics.tracebacks import as_shown
from ..errors import (
    OWN_FOLDER,
    CellmillError,
    DependencyError,
    PayloadError,
    class_name,
    in_words,
    is_a,
    module_name,
    text_of,
)
from . import read_only
from .error_parts import put_together, taken_apart

_CAUSE: Any = BaseException.__dict__["__cause__"]
_CONTEXT: Any = BaseException.__dict__["__context__"]
_SUPPRESS: Any = BaseException.__dict__["__suppress_context__"]
_TRACEBACK: Any = BaseException.__dict__["__traceback__"]
_HEAD = "Traceback (most recent call last):\n"


class RemoteTraceback(_RemoteTraceback):
    """The place where a task raised: the last cause of its error. ``tb`` is the text as received."""

    tb: str
    task = ""  # "#12", once that is known
    function = "?"  # as the worker knows it

    def __str__(self) -> str:
        where = f"task {self.task}" if self.task else "in a task"
        return f"{where}, most recent call last\n{as_shown(self.tb.strip(chr(10))).removeprefix(_HEAD)}"


RemoteTraceback.__module__ = "cellmill"  # as it is shown


def encode_error(error: BaseException, name: str) -> bytes:
    """Pickle (the exception's parts, its remote traceback, type name, text, function): all plain data."""
    error = _said_in_words(error)
    read_only.explain(error)
    inner_calls.explain(error)
    text = _traceback_of(error)
    _let_go_of_frames(error)  # by its own class's methods nothing is safe to do
    try:
        parts = taken_apart(error)
    except BaseException:
        parts = []
    kind = f"{module_name(type(error))}.{class_name(type(error))}"
    return pickle.dumps((parts, text, kind, "" if parts else text_of(error), name), 5)


def _said_in_words(error: BaseException) -> BaseException:
    """The error; of a debugger that has no input and gives up, for which shells show nothing at all, one with words."""
    if (module_name(type(error)), class_name(type(error))) != ("bdb", "BdbQuit"):
        return error
    told = EOFError(
        "a task has no input, and so no debugger: in a notebook, %cellmill debug makes the call again in the "
        "kernel; backend='inline' makes all calls where they are written"
    )
    return told.with_traceback(_TRACEBACK.__get__(error))


def load_error(data: bytes | memoryview) -> BaseException:
    """Return the exception a task raised. Its first cause, usually its only one, is the remote traceback."""
    parts, text, type_name, words, name = pickle.loads(data)
    try:
        if not parts:
            raise ValueError("it cannot be taken apart")
        error = put_together(parts)
    except BaseException as problem:  # code of its class ran here
        error = PayloadError(
            f"{name} raised {type_name}: {words or parts[0][4]}. The exception itself could not be brought here "
            f"({in_words(problem)}); its text and traceback are the cause shown."
        )
    _give_traceback(error, text, name)
    return error


def here_and_now(error: BaseException) -> BaseException:
    """Return an exception raised in this process as `load_error` would, with its frames released."""
    *_, last = _causes(error)
    if is_a(_CAUSE.__get__(last), _RemoteTraceback):  # another task raised it before
        _keeping_context(last, None)
    inner_calls.explain(error)
    text = _traceback_of(error)
    _let_go_of_frames(error)
    _give_traceback(error, text)
    return error


def remote_traceback(error: BaseException) -> str | None:
    """Return the remote traceback that `load_error` attached to an exception, or None."""
    found = _remote(error)
    return found.tb if found is not None else None


def number_raised(error: BaseException, task: str) -> None:
    """Note the name of the task that raised it, such as "#12"; a name that it has stays."""
    found = _remote_of_its_own(error)
    if found is not None and not found.task:
        found.task = task


def task_of(error: BaseException) -> str:
    """Return the task name that `number_raised` noted; "" if there is none."""
    found = _remote_of_its_own(error)
    return found.task if found is not None else ""


def as_new(error: BaseException) -> BaseException:
    """The error, to be raised once more: of what came from elsewhere, the lines where it was raised before are gone."""
    for one in _causes(error):
        if _remote(one) is not None or is_a(one, CellmillError):
            _TRACEBACK.__set__(one, None)
    return error


def function_that_raised(error: BaseException) -> str:
    """Its name in the worker; "?" where that did not come along."""
    found = _remote(error)
    return found.function if found is not None else "?"


def _remote(error: BaseException) -> RemoteTraceback | None:
    *_, last = _causes(error)
    found = _CAUSE.__get__(last)
    return found if is_a(found, RemoteTraceback) else None


def _remote_of_its_own(error: BaseException) -> RemoteTraceback | None:
    """Not that of a failed input, which is the cause of a `DependencyError`."""
    return None if is_a(error, DependencyError) else _remote(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """It, its cause, the cause of that, and so on; without a remote traceback."""
    seen = set[int]()
    one: Any = error
    while one is not None and id(one) not in seen and not is_a(one, _RemoteTraceback):
        yield one
        seen.add(id(one))
        one = _CAUSE.__get__(one)


def _give_traceback(error: BaseException, text: str, function: str = "?") -> None:
    *_, last = _causes(error)
    made = RemoteTraceback(text)  # type: ignore[arg-type]
    made.function = function
    _keeping_context(last, made)


def _keeping_context(error: BaseException, cause: BaseException | None) -> None:
    suppressed = _SUPPRESS.__get__(error)
    set_cause(error, cause)
    _SUPPRESS.__set__(error, suppressed)


def _let_go_of_frames(error: BaseException) -> None:
    """They hold the arguments; those of its causes and contexts do as well."""
    seen, todo = set[int](), [error]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            _TRACEBACK.__set__(one, None)
            todo += [_CAUSE.__get__(one), _CONTEXT.__get__(one)]


def set_cause(error: BaseException, cause: BaseException | None) -> None:
    """``error.__cause__ = cause``, also where its class refuses attributes."""
    BaseException.__dict__["__cause__"].__set__(error, cause)


def _traceback_of(error: BaseException) -> str:
    frames = _own_frames_left_out(error)
    try:
        return "".join(traceback.format_exception(type(error), error, frames))
    except BaseException:  # its notes or its causes cannot be shown
        shown = ["Traceback (most recent call last):\n", *_frames_shown(frames)]
        return "".join([*shown, f"{class_name(type(error))}: {text_of(error)}\n"])


def _frames_shown(frames: Any) -> list[str]:
    try:
        return traceback.format_tb(frames)
    except BaseException:  # a loader may not give the source
        return [
            f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_name}\n'
            for frame, line in traceback.walk_tb(frames)
        ]


def _own_frames_left_out(error: BaseException) -> Any:
    here = OWN_FOLDER + os.sep
    tb = _TRACEBACK.__get__(error)
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(here):
        tb = tb.tb_next
    return tb
