"""Objects of the user's subclasses of lists, dicts, text, numbers and arrays arrive as they are, whatever their class
does when it is filled.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import fractions
from collections.abc import Callable
from typing import Any

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS

numpy = pytest.importorskip("numpy")


class Doubling(dict[str, int]):
    """Counts what is set, and doubles it."""

    def __init__(self) -> None:
        super().__init__()
        self.sets = 0

    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(key, 2 * value)
        self.sets += 1


class Tens(list[Any]):
    """Has ten times what is appended."""

    def append(self, value: Any) -> None:
        super().append(10 * value)

    def extend(self, values: Any) -> None:
        super().extend(10 * value for value in values)


class Named(set[int]):
    """Has a name before its members."""

    __slots__ = ("name",)

    def __init__(self, name: str, members: Any) -> None:
        super().__init__(members)
        self.name = name


class Pair(tuple[int, ...]):
    """Is made of two numbers."""

    __slots__ = ()

    def __new__(cls, one: int, other: int) -> Pair:
        return super().__new__(cls, (one, other))


class Shout(str):
    """Is louder than what it is made of."""

    note: str

    def __new__(cls, text: str) -> Shout:
        return super().__new__(cls, text.upper() + "!")


class More(int):
    def __new__(cls, value: int) -> More:
        return super().__new__(cls, value + 1)


class Fixed(frozenset[int]):
    def __new__(cls, *members: int) -> Fixed:
        return super().__new__(cls, members)


class Measured(numpy.ndarray):  # type: ignore[name-defined,misc]
    """An array with a unit, as numpy's documentation makes it."""

    def __array_finalize__(self, source: Any) -> None:
        self.unit = getattr(source, "unit", None)


class Tally(collections.Counter[str]):
    """Has a label."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.label = label


class Groups(collections.defaultdict[str, list[int]]):
    """Knows what its members are."""

    def __init__(self, title: str) -> None:
        super().__init__(list)
        self.title = title


class Money(decimal.Decimal):
    """Has a unit."""

    def __new__(cls, value: str, unit: str) -> Money:
        made = super().__new__(cls, value)
        made.unit = unit  # type: ignore[attr-defined]
        return made


class Share(fractions.Fraction):
    """Is made of a percentage."""

    def __new__(cls, percent: int) -> Share:
        return super().__new__(cls, percent, 100)


class Moment(datetime.datetime):
    """Is made of nothing, and has a note."""

    def __new__(cls, *given: Any) -> Moment:
        return super().__new__(cls, *(given or (2026, 1, 2, 3, 4)), tzinfo=datetime.UTC)


class Span(datetime.timedelta):
    """Has attributes."""


def objects() -> list[Any]:
    tally = Tally("birds")
    tally.update("aab")
    groups = Groups("g")
    groups["a"].append(1)
    moment, span, share = Moment(), Span(1, 2), Share(25)
    moment.note = span.note = share.note = "kept"  # type: ignore[attr-defined]
    doubling = Doubling()
    doubling["a"] = 1
    tens = Tens()
    tens.append(1)
    list.append(tens, tens)
    shout = Shout("ab")
    shout.note = "quiet"
    measured = numpy.array([1.0, 2.0]).view(Measured)
    measured.unit = "kg"
    large = numpy.zeros(200_000).view(Measured)
    large.unit = "m"
    hard = numpy.ma.array([1, 2], mask=[0, 1], hard_mask=True)
    return [
        doubling,
        tens,
        Named("n", [1, 2]),
        Pair(1, 2),
        shout,
        More(4),
        Fixed(3, 4),
        measured,
        large,
        hard,
        tally,
        groups,
        Money("1.50", "EUR"),
        moment,
        span,
        share,
    ]


def shown(thing: Any) -> Any:
    """All that such an object is, in plain data."""
    if isinstance(thing, numpy.ma.MaskedArray):
        return thing.filled(-1).tolist(), thing.hardmask
    if isinstance(thing, numpy.ndarray):
        return thing.tolist(), thing.unit
    if isinstance(thing, dict):
        content: Any = dict(thing)
    elif isinstance(thing, list):
        content = ["itself" if each is thing else each for each in thing]
    elif isinstance(thing, (set, frozenset)):
        content = sorted(thing)
    elif isinstance(thing, (tuple, str, int)):
        content = next(base for base in (tuple, str, int) if isinstance(thing, base))(thing)
    else:
        content = str(thing)
    more = getattr(thing, "name", None), getattr(thing, "default_factory", None)
    return type(thing).__name__, content, getattr(thing, "__dict__", {}), *more


def of_a_cell() -> list[Any]:
    """The same classes as a notebook has them: workers cannot import them."""

    class Doubled(dict[str, int]):
        def __setitem__(self, key: str, value: int) -> None:
            super().__setitem__(key, 2 * value)

    class Both(tuple[int, ...]):
        def __new__(cls, one: int, other: int) -> Both:
            return super().__new__(cls, (one, other))

    class Unit(numpy.ndarray):  # type: ignore[name-defined,misc]
        def __array_finalize__(self, source: Any) -> None:
            self.unit = getattr(source, "unit", None)

    doubled = Doubled()
    doubled["a"] = 1
    unit = numpy.array([1.0]).view(Unit)
    unit.unit = "kg"
    return [doubled, Both(1, 2), unit]


@pytest.mark.parametrize("make", [objects, of_a_cell])
def test_each_arrives_as_it_is(ex: Executor, make: Callable[[], list[Any]]) -> None:
    """As arguments, results, elements of maps, in what functions refer to, and handed on."""
    things = make()
    plain = [shown(thing) for thing in things]
    assert [f.result(SECONDS) for f in [ex.submit(shown, thing) for thing in things]] == plain
    assert list(ex.map(shown, things)) == plain
    assert ex.submit(lambda: [shown(thing) for thing in things]).result(SECONDS) == plain
    assert [shown(thing) for thing in ex.submit(make).result(SECONDS)] == plain
    handed_on = ex.submit(make)
    assert ex.submit(lambda found: [shown(thing) for thing in found], handed_on).result(SECONDS) == plain
