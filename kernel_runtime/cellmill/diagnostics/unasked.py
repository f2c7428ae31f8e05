"""Failures of tasks that were not asked for: told once, in the cell that made the call, or at the end of a script.

A failure is noted when its future ends without a callback, and forgotten when the future is asked: for its result
or exception, by awaiting it or by a callback. To wait until it is done, or look whether it is, asks for nothing. In a
notebook it is told when the future is gone, or when the kernel has idled for a moment: who runs the next cell right
away may ask there. In a script it may be asked until the end.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Protocol

from ..cell_output import origin
from ..errors import DependencyError, class_name, is_a, text_of
from .naming import call_of

IDLE_SECONDS = 1.0  # after a cell, before what is still at hand counts as not asked for
LOOK_SECONDS = 0.1  # between two looks; what fails together is told together
SETTLED_SECONDS = 0.05  # until a thread that has settled a future lets go of it
MOST_KEPT = 1000  # failures told apart whose futures are gone, or as many as half of all
MESSAGE = 300  # characters kept of an error's text

_numbers = itertools.count(1)
_lock = threading.RLock()  # finalizers may ask for results


class Asked(Protocol):
    """A future, as it is noted here."""

    _owner: Any
    _asks_to_be_seen: bool


class _Failure:
    """One failure that was not asked for, or several of one kind whose futures are gone."""

    __slots__ = ("call", "cell", "count", "function", "future", "kind", "message", "since")

    def __init__(self, future: Asked, error: BaseException, cell: origin.Origin) -> None:
        self.future: weakref.ref[Asked] | None = weakref.ref(future)
        self.cell = cell
        self.call = call_of(error).removesuffix(",")
        self.function = self.call.partition("(")[0]
        self.kind = class_name(type(error))
        words = text_of(error)
        self.message = words if len(words) <= MESSAGE else f"{words[:MESSAGE]}…"
        self.count = 1
        self.since = time.monotonic()

    @property
    def gone(self) -> bool:
        """It cannot be asked any more."""
        return self.future is None or self.future() is None

    @property
    def fold(self) -> tuple[int, str, str]:
        return id(self.cell), self.function, self.kind


_failures: dict[int, _Failure] = {}
_by_future: dict[int, int] = {}  # numbers by the identity of futures
_noted = 0  # since they were folded
_cells = 0  # that run, one in another
_idle_since: float | None = None  # None: a cell runs, or there are no cells
_in_notebook = False
_looker: threading.Thread | None = None


def note(future: Asked, error: BaseException) -> None:
    """A task has failed, and its future has no followers."""
    global _noted
    if is_a(error, CancelledError):
        return
    if is_a(error, DependencyError):
        cause = error.__cause__
        if "_failure" in error.__dict__ or cause is None or is_a(cause, CancelledError):
            return
    find: Callable[[Asked], origin.Origin] | None = getattr(future._owner, "cell_of", None)
    failure = _Failure(future, error, origin.latest if find is None else find(future))
    with _lock:
        if not future._asks_to_be_seen:  # it was asked for since it ended
            return
        if _noted >= max(MOST_KEPT, len(_failures) // 2):  # not each time: their futures may all be at hand
            _fold()
        _noted += 1
        number = next(_numbers)
        _failures[number], _by_future[id(future)] = failure, number
    if _in_notebook:
        _look_soon()


def comes_from(error: DependencyError, before: Any) -> None:
    """An input failed, and so this error: one of the two is enough to tell, or to ask for."""
    first = getattr(before, "_exception", None)
    known = first.__dict__.get("_failure") if is_a(first, DependencyError) else _number(before)
    if known is not None:
        error.__dict__["_failure"] = known


def _number(future: Any) -> int | None:
    number = _by_future.get(id(future))
    failure = _failures.get(number or 0)
    return (
        number if failure is not None and failure.future is not None and failure.future() is future else None
    )


def forget(future: Asked, error: BaseException) -> None:
    """It is asked for: the failure is seen, and the one that it comes from with it."""
    future._asks_to_be_seen = False
    if not _failures:
        return
    with _lock:
        number = _number(future)
        came_from = error.__dict__.get("_failure") if is_a(error, DependencyError) else None
        for each in (number, came_from):
            if each is not None:
                _failures.pop(each, None)
        if number is not None:
            del _by_future[id(future)]


def _fold() -> None:
    """Fold the failures whose futures are gone, by kind."""
    global _noted
    _noted = 0
    kinds: dict[tuple[int, str, str], _Failure] = {}
    for number, failure in list(_failures.items()):
        if not failure.gone:
            continue
        failure.future = None
        first = kinds.setdefault(failure.fold, failure)
        if first is not failure:
            first.count += failure.count
            del _failures[number]
    alive = {number for number in _failures if not _failures[number].gone}
    for key, number in list(_by_future.items()):
        if number not in alive:
            del _by_future[key]


# -- when it is told


def cell_begins() -> None:
    """Hold reports back until the cell's end: it may still ask for its futures."""
    global _cells, _idle_since, _in_notebook
    _in_notebook = True
    _cells += 1
    _idle_since = None


def cell_ends(*, last_word: bool = False) -> None:
    """Report failures that cannot be asked for any more; the rest when the kernel idles.

    ``last_word``: what a program takes down of this cell ends here; who settles futures may hold one still.
    """
    global _cells, _idle_since
    _cells = max(0, _cells - 1)
    end = time.monotonic() + SETTLED_SECONDS
    tell(None)
    while last_word and _failures and time.monotonic() < end:
        time.sleep(SETTLED_SECONDS / 10)
        tell(None)
    if not _cells:
        _idle_since = time.monotonic()
        if _failures:
            _look_soon()


def _look_soon() -> None:
    global _looker
    with _lock:
        if _looker is None:
            _looker = threading.Thread(target=_look, name="cellmill-failures", daemon=True)
            _looker.start()


def _look() -> None:
    """Look for failures to report, in a thread that ends when there are none."""
    global _looker
    while True:
        time.sleep(LOOK_SECONDS)
        idle, before = _idle_since, time.monotonic() - IDLE_SECONDS
        tell(before=None if idle is None or idle > before else before)
        with _lock:
            if not _failures:
                _looker = None
                return


def tell(before: float | None = math.inf) -> str:
    """Once each, in the cell that made the call, on stderr: those from before that time, or that cannot be asked.

    Returns what was told.
    """
    with _lock:
        told = [
            n for n, each in _failures.items() if each.gone or (before is not None and each.since < before)
        ]
        failures = [_failures.pop(number) for number in told]
        if not _failures:
            _by_future.clear()
    folds: dict[tuple[int, str, str], list[_Failure]] = {}
    for failure in failures:
        folds.setdefault(failure.fold, []).append(failure)
    texts = [(fold[0].cell, _told(fold)) for fold in folds.values()]
    for cell, text in texts:
        _write(cell, text)
    return "".join(text for _, text in texts)


def _told(failures: list[_Failure]) -> str:
    first, count = failures[0], sum(failure.count for failure in failures)
    name = first.call or "a task"
    what = f"{first.kind}: {first.message}" if first.message else first.kind
    what = what if what.endswith((".", "!", "?")) else f"{what}."
    if count == 1:
        comma = "," if ", task" in name else ""
        text = f"cellmill: {name}{comma} failed, and its result was not asked for: {what} "
    else:
        of = f" of {first.function}" if first.function else ""
        text = f"cellmill: {count:,} tasks{of} failed, and their results were not asked for; first {name}: {what} "
    number = first.call.partition(", task #")[2]
    if _in_notebook and number and first.gone:
        more = f"To see it fail under the debugger: %cellmill debug {number}."
    else:
        more = "Where it failed is told by .result() of its future."
    return f"{text}{more}\n"


def _write(cell: origin.Origin, text: str) -> None:
    def write() -> None:
        stream = cell.stream(2) if _in_notebook else sys.stderr
        if stream is not None:
            stream.write(text)
            stream.flush()

    with suppress(OSError, ValueError):  # a stream that was closed
        cell.do(write)


def _leave_to_parent() -> None:
    """Forget all failures in a forked child; the parent reports them."""
    global _looker, _lock
    _lock, _looker = threading.RLock(), None
    _failures.clear()
    _by_future.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
