"""Boxes refuse what cannot be a search space."""

from __future__ import annotations

import math

import numpy as np
import pytest

from docking.records import MAX_BOX_EDGE, Box, Docked, DockingInputError


def test_box_contains_what_lies_inside_it() -> None:
    box = Box((0.0, 0.0, 0.0), (10.0, 4.0, 4.0))
    points = np.array([[4.9, 0.0, 0.0], [5.1, 0.0, 0.0], [0.0, 2.1, 0.0]])
    assert box.contains(points).tolist() == [True, False, False]
    assert box.contains(points, margin=0.2).tolist() == [True, True, True]


def test_box_around_coordinates_has_padding_and_a_minimum() -> None:
    box = Box.around(np.array([[0.0, 0.0, 0.0], [20.0, 2.0, 0.0]]), padding=5.0, minimum=18.0)
    assert box.center == (10.0, 1.0, 0.0)
    assert box.size == (30.0, 18.0, 18.0)


@pytest.mark.parametrize(
    ("center", "size", "message"),
    [
        ((0.0, 0.0), (1.0, 1.0, 1.0), "six numbers"),
        ((0.0, 0.0, math.nan), (1.0, 1.0, 1.0), "not a number"),
        ((0.0, 0.0, 0.0), (10.0, -1.0, 10.0), "longer than 0"),
        ((0.0, 0.0, 0.0), (10.0, MAX_BOX_EDGE + 1, 10.0), "too long"),
    ],
)
def test_impossible_boxes_are_refused(center: tuple, size: tuple, message: str) -> None:
    with pytest.raises(DockingInputError, match=message):
        Box(center, size)


def test_a_docking_with_a_reason_is_not_ok() -> None:
    assert Docked("C", -1.0).ok
    assert not Docked("C", reason="too large").ok
