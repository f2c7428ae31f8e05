"""What the errors of a stream's elements say of them: which one it was, of which function, with which arguments."""

from __future__ import annotations

from concurrent.futures import CancelledError
from typing import Any

from ...by_value.references import constants_of
from ...diagnostics.naming import name_call
from ...diagnostics.short_text import element_text, name_element
from ...futures import Future
from ...run_registry import Run
from ...serialization.function_code import function_name
from .cancellations import done_of


def name_failed(error: BaseException, function: Any, key: Any, item: Any, *, star: bool) -> None:
    """Note on its error which element of a map, or which call, failed."""
    if issubclass(type(error), CancelledError):
        return
    name = function_name(function)
    if type(key) is int:
        name_element(error, name, key, item, star=star, constants=constants_of(function))
    else:
        name_call(error, f"{name}({element_text(item, star)})")


def cancelled_text(
    function: Any, key: Any, item: Any, by: str, run: Run | None, total: int | None, *, star: bool
) -> str:
    """Return what was cancelled, by whom, and how much of its run was done. ``item``: None if it is not at hand."""
    shown = "…" if item is None else element_text(item, star)
    of = "" if type(key) is not int else f", element {key:,} of a map," if key >= 0 else ", of a map,"
    what = "calls" if isinstance(key, Future) else "elements"
    return f"{function_name(function)}({shown}){of} was cancelled by {by}{done_of(run, what, total)}"
