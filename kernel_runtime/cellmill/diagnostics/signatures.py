"""Whether a call fits its function: wrong arguments raise at the call, with Python's own error.

Looked at are plain functions and methods. What another callable takes is known to itself alone: its tasks tell.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

ANY_NUMBER = sys.maxsize


def limits(function: Any) -> tuple[int, int]:
    """The least and the most arguments of a call without keywords that fits for sure."""
    if type(function) is not types.FunctionType:
        return 0, ANY_NUMBER
    code = function.__code__
    most = ANY_NUMBER if code.co_flags & inspect.CO_VARARGS else code.co_argcount
    by_name = function.__kwdefaults__ or {}
    names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    if any(name not in by_name for name in names):
        return ANY_NUMBER, 0
    return code.co_argcount - len(function.__defaults__ or ()), most


def sees_order(function: Any) -> bool:
    """Whether a call can tell in which order its arguments by name come: it takes any names, or may do so."""
    function = getattr(function, "__func__", function)
    return type(function) is not types.FunctionType or bool(
        function.__code__.co_flags & inspect.CO_VARKEYWORDS
    )


def check_call(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> None:
    """Raise the TypeError that ``function(*args, **kwargs)`` raises before its first line."""
    if type(function) is types.MethodType:
        function, args = function.__func__, (function.__self__, *args)
    if not kwargs:
        least, most = limits(function)
        if least <= len(args) <= most:
            return
    if type(function) is types.FunctionType:
        _bind(function, args, kwargs or {})


def check_names(function: Any, kwargs: dict[str, Any]) -> None:
    """The same where only the arguments by name are known: one that the function does not take."""
    try:
        check_call(function, (), kwargs)
    except TypeError as error:
        if " missing " not in str(error):
            raise


def _bind(function: types.FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    stub = types.FunctionType(_without_body(function.__code__), {}, function.__name__, function.__defaults__)
    stub.__kwdefaults__ = function.__kwdefaults__
    stub.__qualname__ = function.__qualname__
    try:
        stub(*args, **kwargs)
    except TypeError as error:
        raise error.with_traceback(None) from None


@functools.lru_cache(maxsize=512)
def _without_body(code: types.CodeType) -> types.CodeType:
    """Code with the same parameters that does nothing."""
    names = list(code.co_varnames)
    by_place = names[: code.co_argcount]
    if code.co_posonlyargcount:
        by_place.insert(code.co_posonlyargcount, "/")
    by_name = names[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    rest = names[code.co_argcount + code.co_kwonlyargcount :]
    if code.co_flags & inspect.CO_VARARGS:
        by_place.append(f"*{rest.pop(0)}")
    elif by_name:
        by_place.append("*")
    if code.co_flags & inspect.CO_VARKEYWORDS:
        by_name.append(f"**{rest.pop(0)}")
    made: dict[str, Callable[..., None]] = {}
    exec(f"def stub({', '.join(by_place + by_name)}): pass", made)
    return made["stub"].__code__


def parameters(function: Any) -> frozenset[str]:
    """The names of parameters that arguments can be given to by name; none where that is not known."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(p.name for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
