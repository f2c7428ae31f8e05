"""Calls that are no plain ones, as their payloads say them.

A tuple is the arguments. A list is [args, kwargs], [function, args, kwargs], [settings, function, args, kwargs],
[settings, function, draws, args, kwargs] or [names, settings, function, draws, args, kwargs], with None for what does
not come along.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..by_value.first_calls import sent_along
from ..process_context.settings import Settings, Under
from ..randomness.generators import Draws


class _Beside(NamedTuple):
    """What comes along with the arguments of a call."""

    names: Any  # an `argument_names.Along`
    settings: Settings | None
    function: Any
    draws: Draws | None


def _beside(body: list[Any]) -> _Beside:
    match body[:-2]:
        case [function]:
            return _Beside(None, None, function, None)
        case [settings, function]:
            return _Beside(None, settings, function, None)
        case [settings, function, draws]:
            return _Beside(None, settings, function, draws)
        case [names, settings, function, draws]:
            return _Beside(names, settings, function, draws)
    return _Beside(None, None, None, None)


def function_of(body: list[Any]) -> Any:
    """Return the function sent with its call; None if the function's number is sent instead."""
    return _beside(body).function


def with_names(body: Any, names: Any) -> list[Any]:
    """Return a call of any form, with names of modules that its arguments read (`by_value.argument_names`)."""
    if type(body) is tuple:
        return [names, None, None, None, body, {}]
    _, *beside = _beside(body)
    return [names, *beside, *body[-2:]]


def callee(body: list[Any], numbered: Any, own_process: bool = True) -> Any:
    """Return the function to call for such a list; ``numbered`` is the function of the task's number."""
    names, settings, function, draws = _beside(body)
    function = numbered if function is None else sent_along(function)
    if draws is not None:
        function = draws.one(function)
    if settings is not None:
        function = Under(settings, function, own_process)
    return function if names is None else names.around(function)
