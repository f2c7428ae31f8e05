"""Values, arguments and elements as short text for messages, and notes on errors."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

_UNITS_OF_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))


HIDDEN_ARGUMENT = b"\x00\xffcellmill\xff"
"""Bytes that begin with this, as the first argument, are Cellmill's own."""


def counted(count: int, noun: str) -> str:
    """``1 item``, ``2,000 items``: for nouns that take an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def one_line(text: str, most: int = 0) -> str:
    """Text of whatever origin as one line without control characters; ``most``: of so many characters."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if not most or len(line) <= most else f"{line[: most - 1]}…"


def short_repr(value: object, most: int = 80) -> str:
    """``repr`` that never raises and never fills the screen."""
    if type(value) is tuple and without_hidden(value) is not value:  # an item of a batch
        (value,) = without_hidden(value)
    try:
        text = name_of_future(value) or repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def name_of_future(value: object) -> str:
    """A future of Dask's by its key: its own repr has a state that is another one by now. "" for all else."""
    return (
        f"<Dask's {value.key}>"
        if type(value).__module__ == "distributed.client" and hasattr(value, "key")
        else ""
    )


def without_hidden(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments without one of Cellmill's own, which comes first."""
    hidden = args and type(args[0]) is bytes and args[0].startswith(HIDDEN_ARGUMENT)
    return args[1:] if hidden else args


def short_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The arguments of a call as short text for messages."""
    args = without_hidden(args)
    parts = [short_repr(a, 40) for a in args[:4]] + [
        f"{k}={short_repr(v, 40)}" for k, v in list(kwargs.items())[:4]
    ]
    if len(args) > 4 or len(kwargs) > 4:
        parts.append("…")
    return ", ".join(parts)


_ATTRIBUTES: Any = BaseException.__dict__["__dict__"]
MOST_SHOWN = 100_000  # packed bytes of an element that is shown
MOST_NOTES = 16  # of ours, on one exception


class _Brief(reprlib.Repr):
    def repr_Future(self, value: Any, level: int) -> str:
        """A future, of whatever library."""
        return name_of_future(value) or self.repr_instance(value, level)


_BRIEF = _Brief()
_BRIEF.maxstring, _BRIEF.maxother, _BRIEF.maxlong = 60, 80, 60


def name_element(
    error: BaseException,
    function: str,
    index: int,
    item: Any,
    *,
    star: bool,
    constants: Mapping[str, Any] | None = None,
) -> None:
    """Note on the error of a map's element which one it was: its place and its call."""
    shown = element_text(item, star)
    for name, value in (constants or {}).items():
        shown += f", {name}={brief(value)}"
    add_note(error, f"in element {index:,} of a map: {function}({shown})")


def element_text(item: Any, star: bool) -> str:
    """An element of a map as arguments."""
    if isinstance(item, bytes) and len(item) > MOST_SHOWN:
        return "…"
    item = _of_packed(item)
    if star and type(item) is tuple:
        return ", ".join(map(brief, without_hidden(item)))
    return f"*{brief(item)}" if star else brief(item)


def add_note(error: BaseException, note: str) -> None:
    """A note on an exception, once; one object that many calls raise gets a few of them."""
    _ATTRIBUTES.__get__(error).setdefault("__notes__", [])
    notes = notes_of(error)
    if len(notes) < MOST_NOTES and not any(type(each) is str and each == note for each in notes):
        notes.append(note)


def notes_of(error: BaseException) -> list[Any]:
    """Its notes themselves; no code of the exception's own runs."""
    notes = _ATTRIBUTES.__get__(error).get("__notes__")
    return notes if type(notes) is list else []


def _of_packed(item: Any) -> Any:
    """What is shown of an element: of a packed one, what stands for it."""
    try:
        shown = getattr(type(item), "__cellmill_shown__", None)
        return item if shown is None else shown(item)
    except Exception:  # no pickle of ours
        return item


def brief(value: object) -> str:
    """An element of a map for messages."""
    value = _of_packed(value)
    if type(value) is tuple and without_hidden(value) is not value:  # an item of a batch
        (value,) = without_hidden(value)
    try:
        return " ".join(_BRIEF.repr(value).split())
    except Exception as error:
        return f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"


def duration_text(seconds: float) -> str:
    """Return a duration with three digits: 14.2 µs, 350 ms, 2.05 s."""
    for unit, name in _UNITS_OF_TIME:
        if seconds >= unit * 0.9995:
            return f"{seconds / unit:.{0 if seconds / unit >= 99.95 else 1 if seconds / unit >= 9.995 else 2}f} {name}"
    return f"{seconds * 1e9:.0f} ns" if seconds > 0 else "0 s"
