"""Notices to the user: a warning at a line of theirs, once for each thing that it is about.

A function that is defined anew with other code is another thing: a cell that was edited, and still does what it was
warned of, is warned again.
"""

from __future__ import annotations

import sys
import threading
import types
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import OWN_FOLDER

MOST_LINES = 3  # of what a function changes, with their text
MOST_TEXT = 60

_given: dict[Any, set[types.CodeType | None]] = {}  # by key: of which definitions it was said


def give(key: Any, text: str, function: Any = None) -> None:
    """Warn once for each ``key`` and definition of the function, see `warn`."""
    if is_new(key, function):
        warn(text, function)


def warn(text: str, function: Any = None) -> None:
    """Warn at the definition of ``function``, else at the line that called into Cellmill.

    Raises nothing, whatever filters of warnings say: it may be called where a result is on its way.
    """
    file, line = _place(function)
    try:
        warnings.warn_explicit(text, RuntimeWarning, file, line)
    except Warning:  # a filter makes errors of them
        print(f"cellmill: {text}", file=sys.stderr)


def is_new(key: Any, function: Any = None) -> bool:
    """Whether nothing has been said of it, with this definition of the function; from now on something has."""
    code, said = _code_of(function), _given.setdefault(key, set())
    new = code not in said if code is not None else not said
    said.add(code)
    return new


def listed(names: Sequence[str]) -> str:
    """Join these in words."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def stays_there(variable: str, count: int = 1) -> str:
    """Say what becomes of a change that a task makes in its worker, and what to do instead."""
    does = "do" if count > 1 or variable in ("its defaults", "its attributes", "its arguments") else "does"
    return (
        f"The change stays in the worker: here {variable} {does} not change, and later tasks see it or not. Return "
        "what is to be kept. For a cache of each worker's own there are functools.cache and @cellmill.per_worker."
    )


def works_on_copies(
    function: str, names: Sequence[str], places: Mapping[str, tuple[int, str]], *, editable: bool = True
) -> str:
    """Return a warning about arguments that are changed in place: ``places`` has the line where that shows, and its
    text. ``editable``: whether the function has lines of Python, to which one can be added.
    """
    shown = listed(names)
    where = "; ".join(f"line {line}: {_short(text)}" for line, text in list(places.values())[:MOST_LINES])
    where = f" ({where})" if where else ""
    one = len(names) == 1
    copied = f", or begin with {names[0]} = copy.copy({names[0]}) if only the task needs the change"
    return (
        f"{function} changes its argument{'' if one else 's'} {shown} in place{where}. A task has a copy of "
        f"{'it' if one else 'each'}: the caller's {'object does' if one else 'objects do'} not change. Return what is "
        f"changed and take it from the result{copied if editable and names[0].isidentifier() else ''}."
    )


def _short(text: str) -> str:
    text = text.partition("\n")[0]
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def _code_of(function: Any) -> types.CodeType | None:
    """Return the code of a function of the user's, which is equal where the same text was run again."""
    function = getattr(function, "__wrapped__", function)
    if type(function) is types.FunctionType and not function.__code__.co_filename.startswith(OWN_FOLDER):
        return function.__code__
    return None


def _place(function: Any) -> tuple[str, int]:
    code = _code_of(function)
    if code is not None:
        return code.co_filename, code.co_firstlineno
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OWN_FOLDER):
        frame = frame.f_back
    if (
        frame.f_code.co_filename == threading.__file__
    ):  # a thread of ours, which no line of the user's has called
        return "cellmill", 1
    return frame.f_code.co_filename, frame.f_lineno


def forget() -> None:
    """Every notice is given once more."""
    _given.clear()
