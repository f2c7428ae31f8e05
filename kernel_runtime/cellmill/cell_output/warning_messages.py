"""Warnings of tasks: raised in a worker, shown by the kernel in its own way.

Python shows a warning by functions that programs replace: `warnings.catch_warnings(record=True)` keeps warnings in a
list, `logging.captureWarnings` makes log records of them, `pytest.warns` looks for them. Where the kernel shows
warnings in another than the usual way, those of tasks are shown so too; else they are text of the task's on stderr.

Python shows a warning once for each place, as far as the filters say so, and IPython one of a cell's code once in each
cell. A worker keeps to that by itself; the kernel shows the first of those that come from several workers.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from ..serialization.error_parts import put_together, taken_apart
from ..worker_process.output_frames import WARNING
from .log_records import Channel

MOST_PLACES = 10_000
_warnings: Any = warnings  # with what is not in its interface


class Told(NamedTuple):
    """A warning as it travels. ``parts``: of the warning, see `error_parts`; none where it cannot be taken apart."""

    parts: list[tuple[Any, ...]]
    category: str
    file: str
    line: int
    module: str  # that it is of; "": not known
    source: str | None
    action: str  # of the filter that it has met
    words: str
    text: str  # as it is usually shown


# -- in a worker


def forward(channel_here: Callable[[], Channel | None]) -> Callable[[], None]:
    """Forward warnings to ``channel_here()``, or leave them to this process where that is None; returns a function
    that undoes it.
    """
    plain = _warnings._showwarnmsg_impl

    def show(message: warnings.WarningMessage) -> None:
        channel = channel_here()
        if channel is None or message.file is not None:
            plain(message)
            return
        for stream in channel.streams:
            stream.flush()  # earlier text comes before it
        channel.send(WARNING, packed(message))

    def undo() -> None:
        if _warnings._showwarnmsg_impl is show:
            _warnings._showwarnmsg_impl = plain

    _warnings._showwarnmsg_impl = show
    return undo


def packed(message: warnings.WarningMessage) -> bytes:
    """A warning as it travels."""
    kind, module = type(message.message), _module_of(message)
    try:
        words, parts = str(message.message), taken_apart(message.message)  # type: ignore[arg-type]
    except BaseException:  # code of its class runs there
        words, parts = "", []
    told = Told(
        parts,
        f"{kind.__module__}.{kind.__qualname__}",
        message.filename,
        message.lineno,
        module,
        message.line,
        _action(words, message.category, module, message.lineno),
        words,
        _warnings._formatwarnmsg(message),
    )
    return pickle.dumps(told, 5)


def _module_of(message: warnings.WarningMessage) -> str:
    frame: Any = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == message.filename and frame.f_lineno == message.lineno:
            return str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back
    return ""


def _action(words: str, category: type[Warning], module: str, line: int) -> str:
    """Return what the filters say of a warning."""
    for action, message, kind, where, at in warnings.filters:
        fits = _matches(message, words) and issubclass(category, kind) and _matches(where, module)
        if fits and at in (0, line):
            return action
    return str(_warnings.defaultaction)


def _matches(wanted: Any, text: str) -> bool:
    if wanted is None or isinstance(wanted, str):
        return wanted is None or wanted == text
    return wanted.match(text) is not None


# -- in the kernel


def unpacked(data: bytes) -> Told:
    """The warning that `packed` packed."""
    return Told(*pickle.loads(data))


class Shown:
    """The warnings that were shown, as Python's registries have them: those from one place once, unless filters have
    changed, and those of the notebook's code once in each cell.
    """

    def __init__(self) -> None:
        self._filters: list[Any] = []
        self._once: set[tuple[Any, ...]] = set()
        self._places: set[tuple[Any, ...]] = set()

    def note(self, told: Told, cell: int) -> bool:
        """Note that a task of a cell has it to show; return whether it is to be shown."""
        if self._filters != warnings.filters or len(self._places) > MOST_PLACES:
            self._filters = list(warnings.filters)
            self._places.clear()
        within = (told.module, cell if told.module == "__main__" else 0)
        if told.action == "once":
            return _added(self._once, (told.category, told.words))
        if told.action == "module":
            return _added(self._places, (*within, told.category, told.words))
        if told.action == "default" and told.module:
            return _added(self._places, (*within, told.category, told.words, told.line))
        return True


def _added(seen: set[tuple[Any, ...]], key: tuple[Any, ...]) -> bool:
    new = key not in seen
    seen.add(key)
    return new


def usual() -> bool:
    """Whether this process writes warnings on stderr, in Python's own form."""
    ways = (_warnings._showwarnmsg_impl, warnings.showwarning, warnings.formatwarning)
    return all(getattr(way, "__module__", None) == "warnings" for way in ways)


def show(told: Told) -> None:
    """Show it as a warning of this process is shown now."""
    try:
        message: Any = put_together(told.parts)
    except BaseException:  # it could not be taken apart, or code of its class ran here
        message = UserWarning(told.text)
    warnings.showwarning(message, type(message), told.file, told.line, None, told.source)
