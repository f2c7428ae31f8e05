"""The counters of a piece of work over time, in bounded memory."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cellmill.telemetry.course import MOST, Course, Point


def test_a_level_stretch_keeps_its_ends() -> None:
    course = Course()
    for tick in range(100):
        course.push(Point(float(tick), min(tick, 10), 0, 1))
    assert [point.time for point in course.points] == [*map(float, range(11)), 99.0]


def test_points_out_of_order_are_ignored() -> None:
    course = Course()
    for time in (1.0, 3.0, 2.0):
        course.push(Point(time, int(time), 0, 0))
    assert [point.time for point in course.points] == [1.0, 3.0]


@given(st.lists(st.tuples(st.floats(0.001, 5), st.integers(0, 3)), max_size=3000))
def test_it_stays_bounded_and_close(steps: list[tuple[float, int]]) -> None:
    """Its first and newest points are those that came, and counts between lie between."""
    course, time, ran = Course(), 0.0, 0
    came = []
    for gap, more in steps:
        time, ran = time + gap, ran + more
        came.append(Point(time, ran, 0, 0))
        course.push(came[-1])
    kept = course.points
    assert len(kept) <= MOST
    assert set(kept) <= set(came)
    assert all(first.time < second.time and first.ran <= second.ran for first, second in pairwise(kept))
    if came:
        assert (kept[0], kept[-1]) == (came[0], came[-1])


def test_a_long_run_keeps_even_steps() -> None:
    course = Course()
    for tick in range(100_000):
        course.push(Point(tick / 10, tick, 0, 0))
    times = [point.time for point in course.points]
    assert MOST / 4 <= len(times) <= MOST
    widest = max(after - before for before, after in pairwise(times))
    assert widest <= 10_000 / (MOST / 8)
