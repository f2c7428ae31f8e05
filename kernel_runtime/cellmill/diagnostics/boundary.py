"""The boundary between the user's code and Cellmill: errors leave `bounded` functions without Cellmill's own lines.

A function in Python cannot do so, as its frame is noted when the error leaves it: the call goes through C
(csched/python/boundary.c). Where there is no such C (another system), one line of ours stays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .tracebacks import shorten

F = TypeVar("F", bound=Callable[..., Any])


def _made() -> Callable[..., Any] | None:
    try:
        from .. import _csched_with_gil
    except ImportError:
        return None
    out: list[Any] = []
    ffi, lib = _csched_with_gil.ffi, _csched_with_gil.lib
    lib.csched_boundary(ffi.cast("void *", id(shorten)), ffi.cast("void *", id(out)))
    return out[0] if out else None


_make = _made()


def bounded(function: F) -> F:
    """A decorator of functions and methods that the user calls."""
    return _bounded(function)


def bounded_result(finished: str) -> Callable[[F], F]:
    """The same for what asks a future for its result; ``finished``: the state of one that has it."""
    return lambda function: _bounded(function, finished)


def bounded_submit(through: str) -> Callable[[F], F]:
    """The same for what submits; ``through``: the method that it calls with (function, arguments, keywords)."""
    return lambda function: _bounded(function, None, through)


def bounded_next(step: Callable[[], Any]) -> Callable[[], Any]:
    """The same of the next step of an iterator, each time one is made."""
    return step if _make is None else _make(step, None, None)


def _bounded(function: F, *names: str | None) -> F:
    if _make is None:
        return function
    made: Any = _make(function, *names, *[None] * (2 - len(names)))
    functools.update_wrapper(made, function)
    return cast(F, made)
