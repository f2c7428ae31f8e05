"""A failing call names itself: its function and arguments in short, as a note on its error."""

from __future__ import annotations

import re
from typing import Any

from ..errors import is_a
from ..serialization.exceptions import number_raised, task_of
from .short_text import add_note, notes_of, short_arguments

_OF_MAP = re.compile(r"in element [\d,]+ of a map: ")


class InputName:
    """Represents the result of another task among the arguments."""

    def __init__(self, position: int) -> None:
        self._position = position

    def __repr__(self) -> str:
        return f"<input {self._position}>"


def call_text(name: str, args: Any, kwargs: dict[str, Any], future: type[Any]) -> str:
    """A call in short; objects of the class ``future`` are shown as inputs."""
    return f"{name}({arguments_text(args, kwargs, future)})"


def arguments_text(args: Any, kwargs: dict[str, Any], future: type[Any]) -> str:
    """The arguments of a call in short, as `call_text` has them."""
    count, shown = 0, list[Any]()
    for value in (*args, *kwargs.values()):
        count += (of_input := is_a(value, future))
        shown.append(InputName(count) if of_input else value)
    named = dict(zip(kwargs, shown[len(args) :], strict=True))
    try:
        return short_arguments(tuple(shown[: len(args)]), named)
    except Exception:
        return "<arguments that cannot be shown>"


def name_call(error: BaseException, call: str, task: str = "") -> None:
    """Note on the error of a task which call it was; ``task``: its number, such as "#12"."""
    add_note(error, f"in {call}")
    if task:
        number_raised(error, task)


def call_of(error: BaseException) -> str:
    """Return what `name_call` or `name_element` noted last, with the task's number; "" without such a note."""
    for note in reversed(notes_of(error)):
        if type(note) is str and note.startswith("in ") and note.endswith(")"):
            call, task = _OF_MAP.sub("", note).removeprefix("in "), task_of(error)
            return f"{call}, task {task}," if task else call
    return ""
