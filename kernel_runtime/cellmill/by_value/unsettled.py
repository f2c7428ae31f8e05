"""Containers that other threads change meanwhile: their pickling is done again, with the other threads held off."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from itertools import chain, islice
from typing import TypeVar

T = TypeVar("T")

ADVICE = (
    "a container in it changes while it is pickled: another thread, or an object in it, adds to it or takes from it. "
    "Pass a copy, such as dict(x) or list(x)."
)
MOST_TRIES = 5
_HELD_OFF = 0.5  # seconds for which another thread waits at most for the interpreter
_lock = threading.Lock()


def first_of(values: Iterable[T], most: int) -> tuple[T, ...]:
    """Return the first ones of a container, all at one moment: its iterator is made and used up within C."""
    return tuple(islice(chain(values), most))


def changed_meanwhile(error: BaseException) -> bool:
    """Whether the error says that a container changed while it was gone through."""
    return type(error) is RuntimeError and "during iteration" in str(error)


def at_one_moment(pickled: Callable[[], T]) -> T:
    """Return what ``pickled`` returns, which is called again where a container has changed meanwhile.

    Raises what it raises, and the `RuntimeError` of such a container after some tries: code that waits while it is
    pickled lets other threads run.
    """
    try:
        return pickled()
    except RuntimeError as error:
        if not changed_meanwhile(error):
            raise
    for _ in range(MOST_TRIES - 2):
        try:
            return _alone(pickled)
        except RuntimeError as error:
            if not changed_meanwhile(error):
                raise
    return _alone(pickled)


def _alone(pickled: Callable[[], T]) -> T:
    with _lock:  # else the interval of another thread that does the same would be taken for the usual one
        usual = sys.getswitchinterval()
        sys.setswitchinterval(_HELD_OFF)
        try:
            return pickled()
        finally:
            sys.setswitchinterval(usual)
