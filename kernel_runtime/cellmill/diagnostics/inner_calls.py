"""Calls of parallel functions inside tasks give values: asking one for its result raises an error that says so.

Code that is written for the futures which the same calls give outside of tasks fails there, on whatever the value is.
"""

from __future__ import annotations

from typing import Any

_OF_FUTURES = frozenset(
    (
        *("result", "exception", "done", "running", "cancel", "cancelled", "add_done_callback"),
        *("_condition", "_state", "_waiters"),  # what `wait` and `as_completed` look at
    )
)
_AWAITED = ("can't be used in 'await' expression", "a coroutine or an awaitable is required")
_given: dict[
    type, str
] = {}  # types of values that such calls gave in this process, and the function that did


def note(name: str, value: Any) -> Any:
    """A call of this function in a task gives this value."""
    _given[type(value)] = name
    return value


def explain(error: BaseException) -> None:
    """Note on the error of a task that what it took for a future is a value."""
    if not _given:
        return
    name = _function_behind(error)
    if name is not None:
        BaseException.add_note(
            error,
            f"In a task a parallel function is the plain function: {name}(...) gives its value there, and no future. "
            f"Write `{name}(x)` where it says `{name}(x).result()` or `await {name}(x)`; `{name}.map(xs)` gives "
            "results in a task as it does outside.",
        )


def _function_behind(error: BaseException) -> str | None:
    """Whose value was taken for a future; no code of the exception's own runs."""
    if type(error) is AttributeError and error.name in _OF_FUTURES:
        return _given.get(type(error.obj))
    words = error.args[0] if type(error) is TypeError and error.args else None
    if type(words) is not str or not any(each in words for each in _AWAITED):
        return None
    named = (name for kind, name in _given.items() if kind.__name__ in words)
    return next(named, next(iter(_given.values())))
