"""The arguments of a map: its options, the constants of its calls, and names that could be either."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import fields
from typing import Any

from ..by_value.references import unwrapped
from ..diagnostics.signatures import check_call, check_names, parameters
from ..errors import UsageError, did_you_mean
from ..serialization.function_code import function_name
from .map_options import OUR_OWN, MapOptions

OPTIONS = tuple(option.name for option in fields(MapOptions) if option.name not in OUR_OWN)
_PARTS = (list, tuple, dict)
DEEPEST = 50


class Unset:
    """The default of an option: shown as its value, told from one that was given."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


NONE: Any = Unset(None)
TRUE: Any = Unset(True)
FALSE: Any = Unset(False)


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if type(value) is not Unset}


def check_options(name: str, function: Any, options: Mapping[str, Any]) -> None:
    """Raise `UsageError` where an option of a map is a parameter of its function, too."""
    clash = sorted(options.keys() & parameters(function)) if options else ()
    if clash:
        option = clash[0]
        raise UsageError(
            f"{option}= could be meant for {name}, which has a parameter {option!r}, or for its map, which has an "
            f"option of that name. For {name}: cellmill.parallel(lambda x: {name}(x, {option}=...)).map(xs). For the "
            f"map: cellmill.default_executor().map({name}, xs, {option}=...)"
        )


def check_constants(
    function: Any, iterables: tuple[Any, ...], constants: dict[str, Any], *, star: bool, batch: bool
) -> None:
    """Raise the plain TypeError where no call of the map could be made."""
    if not constants:
        return
    function = unwrapped(function)
    try:
        if star or batch:
            check_names(function, constants)
        else:
            check_call(function, iterables, constants)
    except TypeError as error:
        for word in constants:
            if (meant := did_you_mean(word, OPTIONS)) and repr(word) in str(error):
                raise TypeError(f"{error}{meant}") from None
        raise


class _Fed:
    """A call whose last arguments belong to these names."""

    def __init__(self, function: Any, names: tuple[str, ...]) -> None:
        self.function, self.names = function, names
        self.__name__ = self.__qualname__ = function_name(function)

    def __call__(self, *args: Any) -> Any:
        count = len(args) - len(self.names)
        return self.function(*args[:count], **dict(zip(self.names, args[count:], strict=True)))


def with_constants(
    function: Any, iterables: tuple[Iterable[Any], ...], constants: dict[str, Any], *, alone: bool
) -> tuple[Any, tuple[Iterable[Any], ...]]:
    """Return (function, iterables) of a map whose calls get these constants as well.

    They are part of the function: sent once, as they are when the map begins. Futures among them are inputs of the
    tasks, as futures among arguments are; ``alone``: of calls that take nothing beside an element.
    """
    if not constants:
        return function, iterables
    inputs = {name: value for name, value in constants.items() if awaited(value)}
    kept = {name: value for name, value in constants.items() if name not in inputs}
    made = functools.partial(function, **kept) if kept else function
    if not inputs:
        return made, iterables
    if alone:
        name = next(iter(inputs))
        raise UsageError(
            f"{name}= of a map by lists or by starmap cannot be a future: pass its value, {name}={name}.result()"
        )
    return _Fed(made, tuple(inputs)), (*iterables, *map(itertools.repeat, inputs.values()))


def awaited(value: Any, depth: int = 0) -> bool:
    """Whether there are futures in it, where they count as inputs."""
    if isinstance(value, Future):
        return True
    if type(value) not in _PARTS or depth > DEEPEST:
        return False
    return any(awaited(part, depth + 1) for part in (value.values() if type(value) is dict else value))
