"""Digests: equal content gives the same in every process, other content another one."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import functools
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellmill.memo.structure import Structure, Unkeyed


def digest(*values: Any) -> bytes:
    made = Structure()
    made.add(values)
    return made.digest()


ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.binary(max_size=4)
)
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        st.sets(st.integers(), max_size=3),
    ),
    max_leaves=8,
)


def shape(value: Any) -> Any:
    """The value with its types, so that comparing tells 1 from True and 0.0 from -0.0."""
    if type(value) in (list, tuple):
        return type(value).__name__, [shape(each) for each in value]
    if type(value) is dict:
        return "dict", [(key, shape(each)) for key, each in value.items()]
    if type(value) is set:
        return "set", sorted(value)
    return type(value).__name__, repr(value)


@given(VALUES, VALUES)
def test_digests_are_equal_where_values_are(one: Any, other: Any) -> None:
    assert (digest(one) == digest(other)) == (shape(one) == shape(other))


@dataclass
class Point:
    x: int
    y: list[int]


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a: Any) -> None:
        self.a = a


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


Pair = collections.namedtuple("Pair", "a b")
DIFFERENT: list[Callable[[], list[Any]]] = [
    lambda: [Point(1, [2]), Point(1, [3]), Point(2, [2]), Slotted(1), Slotted(2), Colour.RED, Colour.BLUE],
    lambda: [Pair(1, 2), Pair(2, 1), (1, 2), [1, 2], frozenset((1, 2)), {1, 2}, {1: 2}, collections.deque([1, 2])],
    lambda: [{"a": 1, "b": 2}, {"b": 2, "a": 1}, collections.OrderedDict(a=1, b=2), collections.Counter("ab")],
    lambda: [collections.defaultdict(int, a=1), collections.defaultdict(list, a=1), collections.deque([1], 3)],
    lambda: [collections.deque([1]), collections.deque([1], 4)],
    lambda: [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), datetime.timedelta(1), decimal.Decimal("1.0")],
    lambda: [decimal.Decimal("1.00"), re.compile("a"), re.compile("a", re.I), pathlib.Path("a"), range(3), range(4)],
    lambda: [numpy.arange(4), numpy.arange(4.0), numpy.arange(4).reshape(2, 2), numpy.arange(4)[::2], numpy.int8(1)],
    lambda: [numpy.asfortranarray(numpy.arange(4).reshape(2, 2)), numpy.int16(1), numpy.array([1, "a"], object)],
    lambda: [numpy.array(["2024-01-01"], "M8[D]"), numpy.array(["2024-01-02"], "M8[D]"), numpy.zeros(0)],
    lambda: [pandas.Series([1, 2]), pandas.Series([1, 2], [1, 2]), pandas.Series([1, 2], name="a")],
    lambda: [pandas.Index([1, 2]), pandas.Index([1, 3]), pandas.Index([1, 2], name="a")],
    lambda: [pandas.DataFrame({"a": [1], "b": ["x"]}), pandas.DataFrame({"a": [1], "b": ["y"]})],
    lambda: [pandas.DataFrame({"a": [1, 2]}, [3, 4]), pandas.DataFrame({"a": [1, 2]}), pandas.DataFrame({"b": [1, 2]})],
    lambda: [functools.partial(int, base=2), functools.partial(int, base=8), int, len, str.upper, "x".upper],
    lambda: [lambda x: x, lambda x: x + 1, lambda x: x + 2, lambda x, y=1: x, lambda *x: x],
]  # fmt: skip


def test_all_these_are_told_apart_and_equal_ones_are_not() -> None:
    first = [digest(value) for make in DIFFERENT for value in make()]
    again = [digest(value) for make in DIFFERENT for value in make()]
    assert first == again
    assert len(set(first)) == len(first)


def test_a_cached_property_counts_by_its_function() -> None:
    """Not by the lock that it has on Python 3.11."""

    def made(number: int) -> type:
        class Kind:
            @functools.cached_property
            def value(self) -> int:
                return number

        return Kind

    assert digest(made(1)) == digest(made(1)) != digest(made(2))


def test_what_comes_of_using_a_class_does_not_count() -> None:
    class Kind:
        pass

    class Bits(enum.Flag):
        LOW = 1
        HIGH = 2

    before = digest(Kind(), Bits.LOW)
    assert Kind.__annotations__ == {}  # made by this read
    assert ~Bits.LOW == Bits.HIGH  # the member keeps it
    assert Bits.LOW | Bits.HIGH  # the class keeps it
    assert digest(Kind(), Bits.LOW) == before


def test_enumerations_count_by_their_members() -> None:
    class Bits(enum.IntFlag):
        LOW = 1

    class Tone(enum.Enum):
        LIGHT = 1

        def __init__(self, value: int) -> None:
            self.label = str(value)

    unnamed = [Bits(0), Bits(4), Bits(8)]
    assert {each.name for each in unnamed} == {None}
    assert len(set(map(digest, unnamed))) == 3
    before = digest(Tone.LIGHT)
    Tone.LIGHT.label = "pale"
    assert digest(Tone.LIGHT) != before


def test_sharing_counts_and_cycles_end() -> None:
    one: list[int] = [1]
    assert digest([one, one]) != digest([[1], [1]])
    loop: list[Any] = []
    loop.append(loop)
    other: list[Any] = []
    other.append(other)
    assert digest(loop) == digest(other)
    text = "ab" * 3
    assert digest([text, text]) == digest([text, "".join(["a", "babab"])])


def test_code_counts_without_its_place() -> None:
    spaces: list[dict[str, Any]] = [{}, {}, {}]
    source = "def f(x):\n    def inner(y):\n        return y * {}\n    return inner(x)"
    for space, text in zip(
        spaces, (source.format(2), "\n\n" + source.format(2), source.format(3)), strict=True
    ):
        exec(compile(text, f"cell {len(text)}", "exec"), space)
    same, moved, other = (space["f"] for space in spaces)
    assert digest(same) == digest(moved) != digest(other)


def test_what_has_no_digest_says_so() -> None:
    with pytest.raises(Unkeyed, match="generator of random numbers"):
        digest(numpy.random.default_rng(1))
    with pytest.raises(Unkeyed, match="cannot be pickled"):
        digest(iter([1]).__class__, (x for x in [1]))


def test_every_process_comes_to_the_same_digest() -> None:
    """With other hash seeds: sets of text come in another order there."""
    program = """
import sys; sys.path.insert(0, sys.argv[1])
import pathlib, numpy, pandas
from cellmill.memo.structure import Structure
class Point:
    def __init__(self, x): self.x = x
    def norm(self): return abs(self.x)
def helper(x, names={"b", "a", "c"}): return sorted(names) + [x]
def f(x): return helper(Point(x).norm())
made = Structure()
made.add((f, {"b", "a", "c"}, frozenset("xyz"), {"k": [1.5, None]}, Point(3), numpy.arange(5.0), pathlib.Path("p"),
          pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})))
print(made.digest().hex())
"""
    seen = {
        subprocess.run(
            [sys.executable, "-c", program, "."],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
