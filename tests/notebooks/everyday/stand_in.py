"""What the plain versions have in place of Cellmill: each call is made in place, on the notebook's own objects.

A call gives a future that is over, because that is what the cells read; a map is the builtin `map`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from typing import Any

_seed: int | None = None
_task: tuple[int | None, int | None] = (None, None)
_inside = 0  # depth of the tasks that run


class Over(Future):
    """The outcome of a call that was made."""

    def __await__(self) -> Generator[Any, None, Any]:
        yield from ()
        return self.result()


def over(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Over:
    """Make a call as a task."""
    future = Over()
    try:
        future.set_result(_task_of(function, args, kwargs))
    except Exception as error:
        future.set_exception(error)
    return future


def _task_of(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    global _inside
    given, named = _values((args, kwargs))
    _inside += 1
    try:
        return function(*given, **named)
    finally:
        _inside -= 1


def _values(value: Any) -> Any:
    """The same with the values of futures, also in lists, tuples and dicts; what has none in it is itself."""
    if isinstance(value, Future):
        return value.result()
    if type(value) in (list, tuple):
        inner = [_values(each) for each in value]
        return type(value)(inner) if any(a is not b for a, b in zip(inner, value, strict=True)) else value
    if type(value) is dict:
        inner = [_values(each) for each in value.values()]
        same = all(a is b for a, b in zip(inner, value.values(), strict=True))
        return value if same else dict(zip(value, inner, strict=True))
    return value


class Parallel:
    """A function whose calls are futures that are over, and the function itself inside of one."""

    def __init__(self, function: Callable[..., Any], batch: bool = False) -> None:
        self.__wrapped__ = functools.wraps(function)(lambda x: function([x])[0]) if batch else function
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        global _task
        if _inside:
            return self.__wrapped__(*args, **kwargs)
        _task = _seed, self.calls
        self.calls += 1
        return over(self.__wrapped__, *args, **kwargs)

    def map(self, *iterables: Any, return_exceptions: bool = False) -> Iterator[Any]:
        def one(index: int, *args: Any) -> Any:
            global _task
            _task = _seed, index
            try:
                return _task_of(self.__wrapped__, args, {})
            except Exception as error:
                if return_exceptions:
                    return error
                raise

        return (one(index, *args) for index, args in enumerate(zip(*iterables, strict=False)))


def parallel(function: Any = None, /, batch: bool = False, **_: Any) -> Any:
    if function is None:
        return lambda target: Parallel(target, batch)
    return Parallel(function, batch)


def seed(number: int | None) -> None:
    global _seed
    _seed = number


def task_seed() -> Any:
    """The seed that the documentation promises: of the number, and the element's place."""
    from numpy.random import SeedSequence

    number, index = _task
    return SeedSequence(number, spawn_key=() if number is None else (index,))
