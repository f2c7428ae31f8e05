"""Calls that are no plain ones, as their payloads say them.

A tuple is the arguments. A list is [args, kwargs], [function, args, kwargs], [settings, function, args, kwargs] or
[settings, function, draws, args, kwargs], with None for what does not come along.
"""

from __future__ import annotations

from typing import Any

from ..process_context.settings import Under


def function_of(body: list[Any]) -> Any:
    """Return the function sent with its call; None if the function's number is sent instead."""
    return body[0] if len(body) == 3 else body[1] if len(body) > 3 else None


def callee(body: list[Any], numbered: Any, own_process: bool = True) -> Any:
    """Return the function to call for such a list; ``numbered`` is the function of the task's number."""
    function = function_of(body)
    if function is None:
        function = numbered
    if len(body) > 4:
        function = body[2].one(function)
    if len(body) > 3 and body[0] is not None:
        function = Under(body[0], function, own_process)
    return function
