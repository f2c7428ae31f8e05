"""What programs use instead of Cellmill: the same names, everything computed at once by the plain interpreter.

A task has its arguments and its result for itself: both are copied, as they are by the trip to a worker and back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

from cellmill import DependencyError

_inside = 0  # depth of the tasks that run


class Future:
    """What a call came to, kept until it is read."""

    def __init__(self, value: Any = None, error: Exception | None = None) -> None:
        self._value = value
        self._error = error

    def result(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._value

    def exception(self, timeout: float | None = None) -> Exception | None:
        return self._error

    def __deepcopy__(self, memo: Any) -> Future:
        return self


class _Cycle(Exception):
    """What contains itself is passed as it is."""


def _with_inputs(value: Any) -> Any:
    try:
        return _resolved(value)
    except _Cycle:
        return value


def _resolved(value: Any, above: tuple[int, ...] = ()) -> Any:
    """Futures in lists, tuples and dicts replaced by their values; raises `DependencyError` for one that failed."""
    if id(value) in above:
        raise _Cycle
    above = (*above, id(value))
    if isinstance(value, Future):
        if value._error is not None:
            raise DependencyError("an input failed") from value._error
        return value._value
    if type(value) in (list, tuple):
        return type(value)(_resolved(member, above) for member in value)
    if type(value) is dict:
        return {key: _resolved(member, above) for key, member in value.items()}
    return value


def _done(function: Callable[..., Any], args: Any, kwargs: Any) -> Future:
    global _inside
    try:
        args, kwargs = deepcopy((_with_inputs(tuple(args)), _with_inputs(kwargs)))
        _inside += 1
        try:
            return Future(deepcopy(function(*args, **kwargs)))
        finally:
            _inside -= 1
    except Exception as error:
        try:
            return Future(error=deepcopy(error))
        except Exception:
            return Future(error=error)


class _Outcomes:
    """An iterator of what was computed: values, and errors raised at their places, which end it."""

    def __init__(self, outcomes: list[Future], errors_are_values: bool) -> None:
        self._outcomes = outcomes
        self._errors_are_values = errors_are_values

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if not self._outcomes:
            raise StopIteration
        outcome = self._outcomes.pop(0)
        if outcome._error is not None and (not self._errors_are_values or isinstance(outcome, _InputEnded)):
            self._outcomes = []
            raise outcome._error
        return outcome._error if outcome._error is not None else outcome._value


class _InputEnded(Future):
    """The input itself raised."""


def _mapped(function: Callable[..., Any], iterables: Iterable[Any], how: dict[str, Any]) -> _Outcomes:
    outcomes: list[Future] = []
    elements = zip(*iterables, strict=False)
    while True:
        try:
            element = next(elements)
        except StopIteration:
            break
        except Exception as error:
            outcomes.append(_InputEnded(error=error))
            break
        outcomes.append(_done(function, element, {}))
    return _Outcomes(outcomes, bool(how.get("return_exceptions")))


class Parallel:
    """A function whose calls are over when they return."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._options = options

    def _one(self) -> Callable[..., Any]:
        if self._options.get("batch"):
            return lambda item: self.__wrapped__([item])[0]
        return self.__wrapped__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _inside:
            return self._one()(*args, **kwargs)
        return _done(self._one(), args, kwargs)

    def map(self, *iterables: Any, **how: Any) -> Any:
        return map(self._one(), *iterables) if _inside else _mapped(self._one(), iterables, how)

    def options(self, **options: Any) -> Parallel:
        return Parallel(self.__wrapped__, {**self._options, **options})

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __deepcopy__(self, memo: Any) -> Parallel:
        return self


def parallel(function: Any = None, /, **options: Any) -> Any:
    return Parallel(function, options) if function is not None else lambda target: Parallel(target, options)


class Executor:
    """`submit` and `map` of an executor."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future:
        return _done(function, args, kwargs)

    def map(self, function: Any, *iterables: Any, **how: Any) -> Any:
        return _mapped(function, iterables, how)

    def options(self, **options: Any) -> Executor:
        return self
