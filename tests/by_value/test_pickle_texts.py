"""The texts of pickles: what a search for names finds in a pickle, it finds in its texts."""

from __future__ import annotations

import collections
import decimal
import pickle
import pickletools
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

from cellmill.by_value.pickle_texts import LEAST, texts_of
from cellmill.serialization import payload
from tests.support import tasks

LARGE = bytes(5000)
VALUES: dict[str, Callable[[], Any]] = {
    "numbers": lambda: [*range(-300, 300), 1 << 40, -1 << 300, *map(float, range(300))],
    "texts": lambda: ["é" * n for n in range(300)],
    "objects": lambda: [decimal.Decimal(n) for n in range(300)],
    "functions": lambda: [tasks.double, collections.OrderedDict, LARGE, tasks.add],
    "contents": lambda: [LARGE, bytearray(LARGE), b"short", LARGE.decode()],
    "arrays": lambda: [numpy.arange(n) for n in range(40)],
    "masked": lambda: [numpy.ma.masked_array([1, 2], [0, 1]), LARGE],  # type: ignore[no-untyped-call]
    "errors": lambda: [ValueError("x"), LARGE],
    "sets": lambda: [{1, 2, "a"}, frozenset({LARGE}), (), (1,), {"k": (1, 2, 3, 4)}, True, None, ...],
    "itself": lambda: (cyclic := [LARGE], cyclic.append(cyclic))[0],
    "pickles": lambda: [pickle.dumps([tasks.double, LARGE]), pickle.dumps(pickle.dumps([tasks.fail, LARGE]))],
}


def names_in(data: bytes) -> set[bytes]:
    """The texts and global names that pickletools finds."""
    found = set()
    for opcode, argument, _ in pickletools.genops(data):
        if "UNICODE" in opcode.name and len(argument.encode()) < 4096:
            found.add(argument.encode())
        elif opcode.name == "GLOBAL":
            found.update(argument.encode().split())
    return found


@pytest.mark.parametrize("protocol", range(1, 6))  # that of protocol 0 has other signs than the texts
@pytest.mark.parametrize("kind", VALUES)
def test_names_are_in_them_and_numbers_are_not(kind: str, protocol: int) -> None:
    data = pickle.dumps(VALUES[kind](), protocol)
    texts = texts_of(data)
    assert len(data) > LEAST
    assert {name for name in names_in(data) if name not in texts} == set()
    if protocol == 5:
        assert payload.is_marked(texts) == payload.is_marked(data)
        assert len(texts) < len(data) - (4000 if kind in ("numbers", "contents") else 0)


def test_names_in_pickles_within_pickles() -> None:
    texts = texts_of(pickle.dumps(VALUES["pickles"](), 5))
    assert b"double" in texts
    assert b"fail" in texts
    assert len(texts) < 1000


def test_what_is_no_pickle_is_searched_as_it_is() -> None:
    draws = random.Random(1)
    data = pickle.dumps([VALUES[kind]() for kind in VALUES], 5)
    for place in draws.sample(range(LEAST + 1, len(data)), 300):
        assert texts_of(data[:place]) == data[:place]
    for _ in range(300):
        broken = bytearray(data)
        for place in draws.sample(range(len(data)), 5):
            broken[place] = draws.randrange(256)
        texts = texts_of(bytes(broken))
        assert len(texts) <= len(data)


@pytest.mark.parametrize("large", [bytearray(200_000), "x" * 200_000, b"x" * 200_000, [0.5] * 50_000])
def test_what_is_beside_something_large_is_found(large: Any) -> None:
    assert payload.is_marked(texts_of(pickle.dumps([large, decimal.Decimal], 5))) is False
    assert payload.is_marked(texts_of(pickle.dumps([large, [].append], 5))) is True
    assert payload.is_marked(texts_of(pickle.dumps([large, numpy.ma.masked_array([1])], 5))) is True  # type: ignore[no-untyped-call]
