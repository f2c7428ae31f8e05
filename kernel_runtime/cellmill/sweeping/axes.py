"""The axes of a sweep: the values of each parameter, as given or as the function's signature has them."""

from __future__ import annotations

import copy
import enum
import functools
import inspect
import typing
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..diagnostics.short_text import short_repr
from ..errors import UsageError, did_you_mean

MOST_POINTS = 1_000_000
_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_CHANGEABLE = ("list", "dict", "set", "bytearray", "ndarray")


class Axis(NamedTuple):
    """The values of one parameter; ``start`` is the place of its default, or 0."""

    name: str
    values: tuple[Any, ...]
    start: int = 0

    def place(self, value: Any) -> int | None:
        """The place of a value; None where it is not on the axis."""
        return next((place for place, own in enumerate(self.values) if same(own, value)), None)


class Plan(NamedTuple):
    """What a sweep calls with: its axes, parameters of one given value, and defaults that stay as they are."""

    axes: tuple[Axis, ...]
    given: dict[str, Any]
    defaults: dict[str, Any]
    positional: tuple[str, ...]  # those that are not taken by name, in order

    def call(self, places: tuple[int, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of the call at these places of the axes."""
        found = self.parameters(places)
        last = max((i for i, name in enumerate(self.positional) if name in found), default=-1)
        args = tuple(
            found.pop(name) if name in found else self.defaults[name] for name in self.positional[: last + 1]
        )
        return args, found

    def parameters(self, places: tuple[int, ...]) -> dict[str, Any]:
        """What is given to the call at these places of the axes, by name."""
        at = {axis.name: axis.values[place] for axis, place in zip(self.axes, places, strict=True)}
        return {**at, **self.given}


def axes_given(axes: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """What ``axes=`` and the other keywords of a sweep give, by parameter.

    Raises:
        UsageError: ``axes`` is no dict of parameters, or names one that a keyword gives, too.
    """
    if axes is None:
        return dict(values)
    if not isinstance(axes, Mapping) or not all(isinstance(name, str) for name in axes):
        raise UsageError(
            f"axes takes a dict with the names of parameters and their values, not {short_repr(axes)}; for a "
            'parameter that is called axes: axes={"axes": …}'
        )
    twice = next((name for name in axes if name in values), None)
    if twice is not None:
        raise UsageError(f"{twice} is given twice: in axes, and as {twice}=…")
    return {**axes, **values}


def plan_of(function: Any, name: str, given: Mapping[str, Any]) -> Plan:
    """The axes of a function: those ``given``, and for other parameters what its signature says.

    Raises:
        UsageError: an axis is empty or of no parameter, a parameter has no values, or there are too many points.
    """
    parameters = _parameters(function)
    if parameters is not None:
        _check_names(name, parameters, given)
    axes: list[Axis] = []
    fixed: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    positional = []
    for parameter in (parameters or {}).values():
        default = parameter.default
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            positional.append(parameter.name)
        if default is not inspect.Parameter.empty:
            defaults[parameter.name] = default
        if parameter.name in given or parameter.kind in (
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        ):
            continue
        choices = _choices(parameter)
        if choices:
            axes.append(_axis(parameter.name, choices, default))
        elif default is inspect.Parameter.empty:
            raise UsageError(
                f"{name} needs {parameter.name}, which has neither an axis nor a default: give its values, "
                f"{parameter.name}=[…], or one value, {parameter.name}=…"
            )
    for word, values in given.items():
        if _is_one_value(values):
            fixed[word] = values
        else:
            axes.append(_axis(word, _values(word, values), defaults.get(word, inspect.Parameter.empty)))
    axes = _in_order(axes, list(parameters or given))
    points = functools.reduce(lambda product, axis: product * len(axis.values), axes, 1)
    if points > MOST_POINTS:
        raise UsageError(f"these axes span {points:,} points; a sweep has at most {MOST_POINTS:,}")
    kept = {word: value for word, value in defaults.items() if word not in fixed}
    kept = {word: value for word, value in kept.items() if all(axis.name != word for axis in axes)}
    return Plan(tuple(axes), fixed, kept, tuple(positional))


def same(one: Any, other: Any) -> bool:
    """Whether two values are one on an axis: equal and of one type, or the same object; arrays by their elements."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        if hasattr(one, "shape") and hasattr(one, "tobytes"):
            return bool(one.shape == other.shape and one.dtype == other.dtype and (one == other).all())
        return bool(one == other) or bool(one != one and other != other)  # not a number
    except Exception:  # values of a kind that cannot be compared are different ones
        return False


def place_of(axis: Axis, value: Any) -> int:
    """The place of a value that a person gave: also an equal one of another type, 1 for 1.0.

    Raises:
        UsageError: it is not on the axis.
    """
    found = axis.place(value)
    if found is None:
        found = next((place for place, own in enumerate(axis.values) if _equal(own, value)), None)
    if found is None:
        shown = ", ".join(short_repr(own, 20) for own in axis.values[:8])
        more = ", …" if len(axis.values) > 8 else ""
        raise UsageError(
            f"{axis.name}={short_repr(value, 40)} is no point of this sweep: {axis.name} has {shown}{more}"
        )
    return found


def _equal(own: Any, value: Any) -> bool:
    try:
        return bool(own == value)
    except Exception:  # as in `same`
        return False


def _parameters(function: Any) -> dict[str, inspect.Parameter] | None:
    """The parameters of a function, with annotations that are text looked up; None where it does not tell them."""
    try:
        found = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None
    try:
        hints = typing.get_type_hints(inspect.unwrap(function))
    except Exception:  # an annotation names what is not there
        hints = {}
    return {
        name: each.replace(annotation=hints.get(name, each.annotation)) if name in hints else each
        for name, each in found.items()
    }


def _check_names(name: str, parameters: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> None:
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return
    known = [
        each.name
        for each in parameters.values()
        if each.kind in _BY_NAME or each.kind is inspect.Parameter.POSITIONAL_ONLY
    ]
    for word in given:
        if word not in known:
            told = did_you_mean(word, known) or (
                f"; it has {', '.join(known)}" if known else "; it has no parameters"
            )
            raise UsageError(f"{name} has no parameter {word!r}{told}")


def _choices(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """The values that a parameter's annotation or default allows; none where they are not so few."""
    kinds = [parameter.annotation]
    if len(arguments := typing.get_args(parameter.annotation)) and _is_union(parameter.annotation):
        kinds = list(arguments)
    found: list[Any] = []
    for kind in kinds:
        if typing.get_origin(kind) is typing.Literal:
            found += typing.get_args(kind)
        elif isinstance(kind, type) and issubclass(kind, enum.Enum):
            found += list(kind)
        elif kind is bool:
            found += [False, True]
        elif kind is type(None):
            found.append(None)
        else:  # one of them allows more
            found = []
            break
    if found and found != [None]:
        return tuple(found)
    return (False, True) if isinstance(parameter.default, bool) else ()


def _is_union(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    return origin is typing.Union or getattr(origin, "__name__", "") == "UnionType"


def _is_one_value(values: Any) -> bool:
    if isinstance(values, (str, bytes, bytearray)) or (
        isinstance(values, enum.Enum) or not isinstance(values, (Iterable, enum.EnumMeta))
    ):
        return True
    return getattr(values, "shape", None) == ()  # an array of no dimension


def _values(word: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, Mapping) or hasattr(values, "columns"):
        raise UsageError(
            f"the axis {word} is a {type(values).__name__}: give a list of values, [{word}] for this one alone"
        )
    found = tuple(islice(values, MOST_POINTS + 1))
    if len(found) > MOST_POINTS:
        raise UsageError(f"the axis {word} has more than {MOST_POINTS:,} values")
    if isinstance(values, (set, frozenset)):
        try:
            found = tuple(sorted(found))
        except TypeError:
            found = tuple(sorted(found, key=repr))
    return found


def _axis(word: str, values: tuple[Any, ...], default: Any) -> Axis:
    """An axis with each value once, kept as it is now."""
    if not values:
        raise UsageError(f"the axis {word} has no values: the sweep would have no points")
    found: list[Any] = []
    simple: set[Any] = set()
    for value in values:
        if type(value) in (int, float, str, bool) and value == value:  # is a number
            known = (type(value), value) in simple
            simple.add((type(value), value))
        else:
            known = any(same(own, value) for own in found)
        if not known:
            found.append(copy.deepcopy(value) if type(value).__name__ in _CHANGEABLE else value)
    made = Axis(word, tuple(found))
    place = None if default is inspect.Parameter.empty else made.place(default)
    return made._replace(start=place or 0)


def _in_order(axes: list[Axis], names: list[str]) -> list[Axis]:
    """Axes in the order of the parameters; those of ``**kwargs`` last."""
    return sorted(axes, key=lambda axis: names.index(axis.name) if axis.name in names else len(names))
