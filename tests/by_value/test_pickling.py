"""The pickler for what plain pickle cannot send."""

from __future__ import annotations

import collections
import random
from typing import Any

import pytest

from cellmill.by_value import molecules, pickling


def test_what_is_told_by_a_class_is_asked_once_for_all_of_its_objects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Pair = collections.namedtuple("Pair", "a b")

    class Point:
        def __init__(self, x: int) -> None:
            self.x = x

    asked: list[Any] = []
    monkeypatch.setattr(molecules, "reduced", lambda value, caches: asked.append(type(value)))
    values = [each for i in range(50) for each in (Point(i), Pair(i, -i), random.Random(i))]
    data = pickling.dumps(values)
    assert asked.count(Point) == asked.count(Pair) == 1
    assert asked.count(random.Random) == 50
    assert b"Pair" in data
