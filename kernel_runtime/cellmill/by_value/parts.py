"""What a callable consists of: the function behind methods, partial calls and callable objects, and what it is given.

Nothing of the user's runs meanwhile: classes may answer for any attribute.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import types
from typing import Any, NamedTuple

from ..errors import is_a

_OF_C = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
)

_REST = "args"
_NAME, _MODULE = type.__dict__["__qualname__"], type.__dict__["__module__"]


class Parts(NamedTuple):
    """A function, and what comes before the arguments of a call of it."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    name: str
    module: str

    def key(self) -> Any:
        """What functions that are unpickled again and again have in common."""
        if type(self.function) is types.FunctionType:
            return self.function.__code__
        return type(self.function), self.module, self.name

    def parameters(self) -> tuple[tuple[str, ...], str]:
        """Return the names of those by place, as far as they are known, and that of the one for further arguments."""
        function = self.function
        if type(function) is types.FunctionType:
            return _parameters(function)
        if type(function) in _OF_C:
            return _parameters_of_c(function), _REST
        made = inspect.getattr_static(function, "__init__", None) if is_a(function, type) else None
        if type(made) is not types.FunctionType:
            return (), _REST
        names, rest = _parameters(made)
        return names[1:], rest


def taken_apart(function: Any) -> Parts:
    """Return the parts of a callable."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    while True:
        if type(function) is functools.partial:
            args, kwargs = (*function.args, *args), {**function.keywords, **kwargs}
            function = function.func
        elif type(function) is types.MethodType:
            args = (function.__self__, *args)
            function = function.__func__
        else:
            break
    if type(function) in _OF_C:
        if _is_bound(function):
            args = (function.__self__, *args)
        return Parts(
            function, args, kwargs, function.__qualname__, _text(getattr(function, "__module__", None))
        )
    if is_a(function, type):
        return Parts(function, args, kwargs, *_of_class(function))
    called = function
    if type(function) is not types.FunctionType:
        called = inspect.getattr_static(type(function), "__call__", None)
    if type(called) is not types.FunctionType:
        return Parts(function, args, kwargs, *_of_object(function))
    if called is not function:
        args = (function, *args)
    return Parts(called, args, kwargs, called.__qualname__, _text(called.__module__))


def _parameters(function: types.FunctionType) -> tuple[tuple[str, ...], str]:
    code = function.__code__
    several = code.co_flags & inspect.CO_VARARGS
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if several else _REST
    return code.co_varnames[: code.co_argcount], rest


def _parameters_of_c(function: Any) -> tuple[str, ...]:
    names = ["self"] if _is_bound(function) else []
    with contextlib.suppress(Exception):  # not all of them tell their parameters
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind > parameter.POSITIONAL_OR_KEYWORD:
                break
            names.append(parameter.name)
    return tuple(names)


def _is_bound(function: Any) -> bool:
    """Whether a function of C is the method of an object."""
    if type(function) not in (types.BuiltinFunctionType, types.MethodWrapperType):
        return False
    return function.__self__ is not None and not is_a(function.__self__, types.ModuleType)


def _of_class(kind: type) -> tuple[str, str]:
    """Return name and module of a class, whatever its metaclass says."""
    return _NAME.__get__(kind), _text(_MODULE.__get__(kind))


def _of_object(function: Any) -> tuple[str, str]:
    """Return name and module of what packages have of their own kinds of functions (`numpy.copyto`)."""
    name, module = _of_class(type(function))
    with contextlib.suppress(Exception):  # it may answer for any attribute
        own = function.__name__
        name = own if type(own) is str else name
    return name, module


def _text(module: Any) -> str:
    return module if type(module) is str else ""
