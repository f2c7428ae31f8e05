"""Finished tasks, scheduled again on paper."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellmill.telemetry.forecast import Ran, makespan

SECONDS = st.integers(1, 9).map(float)


@given(st.lists(SECONDS, max_size=30), st.integers(1, 8))
def test_independent_tasks_keep_to_the_bounds_of_list_scheduling(times: list[float], workers: int) -> None:
    took = makespan([Ran(seconds) for seconds in times], workers)
    least = max([*times, sum(times) / workers, 0.0])
    assert least <= took + 1e-9
    assert took <= sum(times) / workers + max(times, default=0.0) * (1 - 1 / workers) + 1e-9
    if workers == 1:
        assert took == pytest.approx(sum(times))


@given(st.lists(st.tuples(SECONDS, st.sets(st.integers(1, 5), max_size=3)), max_size=30), st.integers(1, 8))
def test_tasks_wait_for_their_inputs(drawn: list[tuple[float, set[int]]], workers: int) -> None:
    tasks = [
        Ran(seconds, tuple(at - back for back in backs if at >= back))
        for at, (seconds, backs) in enumerate(drawn)
    ]
    chains: list[float] = []
    for task in tasks:
        chains.append(task.seconds + max((chains[before] for before in task.inputs), default=0.0))
    span, work = max(chains, default=0.0), sum(task.seconds for task in tasks)
    took = makespan(tasks, workers)
    assert max(span, work / workers) <= took + 1e-9
    assert took <= work / workers + span * (1 - 1 / workers) + 1e-9


def test_the_task_that_was_submitted_first_begins_first() -> None:
    for times in permutations([3.0, 2.0, 2.0]):
        ends = [0.0, 0.0]
        for seconds in times:
            ends = sorted([ends[0] + seconds, ends[1]])
        assert makespan([Ran(seconds) for seconds in times], 2) == max(ends)


def test_there_is_a_worker() -> None:
    with pytest.raises(ValueError, match="at least one worker, not 0"):
        makespan([], 0)


@pytest.mark.parametrize(
    ("submitted", "workers", "took"),
    [
        ([0.0, 2.0, 4.0], 2, 5.0),
        ([0.0, 0.5, 0.5], 1, 3.0),
        ([3.0, 0.0, 0.0], 1, 4.0),
        ([0.0, 0.0, 5.0, 0.5], 2, 6.0),
    ],
)
def test_no_task_begins_before_it_was_submitted(submitted: list[float], workers: int, took: float) -> None:
    assert makespan([Ran(1.0, submitted=at) for at in submitted], workers) == took


def test_a_task_waits_for_its_inputs_and_its_submission() -> None:
    assert makespan([Ran(1.0), Ran(1.0, (0,), submitted=3.0)], 2) == 4.0
    assert makespan([Ran(3.0), Ran(1.0, (0,), submitted=1.0)], 2) == 4.0


def test_workers_that_come_late() -> None:
    four = [Ran(1.0)] * 4
    assert makespan(four, 2, late=1, after=0.0) == 2.0
    assert makespan(four, 2, late=1, after=1.5) == 3.0
    assert makespan(four, 2, late=1, after=9.0) == 4.0
    assert makespan(four, 1, late=1, after=2.0) == 6.0
