"""Elements packed when they are taken: what is packed at all, how often, and what it looks like to people."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cellmill.serialization import payload
from cellmill.serialization.fixed import fixed, size_of
from cellmill.serialization.packer import Packer
from cellmill.serialization.pieces import Bare, Piece, Plain, as_sent


def packer(*, star: bool = False, quiet: bool = True) -> Packer:
    return Packer("f", star=star, quiet=quiet)


def sent(items: list[Any]) -> Any:
    """What a worker makes of these elements."""
    return pickle.loads(pickle.dumps(as_sent(items), 5))


@pytest.mark.parametrize(
    "items", [[1, 2.0, None, "a", b"b"], [(1, "a"), 2], [np.float64(1), np.int8(2)], [range(3)]]
)
def test_what_cannot_be_changed_stays(items: list[Any]) -> None:
    assert fixed(items)
    assert packer().pack(items) is items


@pytest.mark.parametrize("item", [np.zeros(3), Fraction(1, 2), np.zeros(1, "i4,i4")[0], {1}, bytearray(b"a")])
def test_what_can_be_changed_is_packed(item: Any) -> None:
    assert not fixed([1, item])
    packed = packer().pack([1, item])
    assert packed[0] == 1
    assert type(packed[1]) is Bare
    assert repr(sent(packed)) == repr([1, item])


PLAIN: list[Any] = [
    *([], {}, [1], [[]], (1, [2]), ([], {}), ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [5])),
    [0, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**63 - 1, -1, -(2**31), -(2**31) - 1, -(2**63)],
    [True, False, None, 0.0, -0.0, 1e-300, float("inf")],
    ["", "a", "é" * 127, "é" * 128, "a" * 255, "a" * 256, "\0", "\U0001f600"],
    [b"", b"a" * 255, b"a" * 256],
    {"a": {"b": [1, {"c": ()}]}, 1: None, (1, "x"): [], None: True, b"k": 1.5},
    [[i, [i]] for i in range(500)],
]


@pytest.mark.parametrize("item", PLAIN)
def test_plain_data_is_packed_in_c(item: Any) -> None:
    packed = packer().pack([item, 7, item])
    assert list(map(type, packed)) == [Plain, int, Plain]
    one, number, other = sent(packed)
    assert repr(one) == repr(other) == repr(item) == repr(packed[0])
    assert number == 7
    several = sent([packed[0], packed[2]])
    assert list(map(repr, several)) == [repr(item)] * 2
    assert type(item) is tuple or several[0] is not several[1]
    assert repr(pickle.loads(pickle.dumps(packed[0]))) == repr(item)


def cycle() -> list[Any]:
    found: list[Any] = [1]
    found.append(found)
    return found


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


TWICE: list[int] = [1]
IN_A_TUPLE: Any = ([1],)


@pytest.mark.parametrize(
    "item",
    [
        *([TWICE, TWICE], {"a": TWICE, "b": TWICE}, [[TWICE], TWICE], (TWICE, (TWICE,))),
        *([IN_A_TUPLE, IN_A_TUPLE], cycle(), nested(40), ["a" * 20_000], [2**64], [1j], [{1}], ["\ud800"]),
    ],
    ids=str,
)
def test_what_is_not_plain_data_is_pickled(item: Any) -> None:
    packed = packer().pack([item, [1]])
    assert list(map(type, packed)) == [Bare, Plain]
    one, other = sent(packed)
    assert repr(one) == repr(item)
    assert other == [1]
    if isinstance(item, list) and item[0] is item[-1]:
        assert one[0] is one[-1]


def test_what_plain_data_weighs() -> None:
    made = packer()
    (packed,) = made.pack([[1, "abc"]])
    assert made.made == len(packed) == len(b"](K\x01\x8c\x03abce")


def test_elements_are_as_they_were() -> None:
    buffer, made = np.zeros(5000), packer(quiet=False)
    packed = []
    for i in range(3):
        buffer[:] = i
        packed += made.pack([buffer])
    assert [array[4999] for array in sent(packed)] == [0, 1, 2]
    assert made.made > 3 * buffer.nbytes
    assert not any(array.flags.writeable is False for array in sent(packed))


def test_what_comes_again_is_packed_once() -> None:
    model, made = {"weights": np.zeros(5000)}, packer(star=True)
    packed = made.pack([(model, i) for i in range(100)])
    assert made.made < 2 * 5000 * 8
    encoded = payload.encode(as_sent(packed))
    assert len(encoded.buffers) == 1
    assert [number for _, number in sent(packed)] == list(range(100))
    one, other = made.pack([model, model])[1], made.pack([model])[0]
    assert one.data is other.data
    assert one.copies == other.copies  # the very same
    made.forget()
    model["weights"][0] = 7
    assert [each["weights"][0] for each in sent(made.pack([model, model]))] == [7, 7]


def test_of_an_array_in_parts_each_is_its_own() -> None:
    rows = [*np.arange(6000.0).reshape(3, 2000)]
    assert [row[0] for row in sent(packer().pack(rows))] == [0, 2000, 4000]
    data = bytearray(b"a" * 5000 + b"b" * 5000)
    halves = [np.frombuffer(memoryview(data)[at : at + 5000], "u1") for at in (0, 5000)]
    assert [int(half[0]) for half in sent(packer().pack(halves))] == [97, 98]


def test_people_see_what_was_packed() -> None:
    class Local:
        def __init__(self) -> None:
            self.x = [1]

    packed = packer().pack([[1, {"a": 2}], Local(), (3, [4]), np.zeros(5000)])
    assert [repr(item) for item in packed] == ["[1, {'a': 2}]", "Local(x=[1])", "(3, [4])", "<array>"]
    assert type(packed[1]) is Piece


def test_sizes() -> None:
    assert size_of([1, 2.0]) == 64
    assert size_of(["a" * 10_000, np.zeros(1000), (b"b" * 1000, 1)]) > 10_000 + 8000 + 1000
