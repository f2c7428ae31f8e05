"""What a loop would take as tasks: arithmetic on given durations."""

from __future__ import annotations

import ast

import pytest

from cellmill.magics.promise import Cost, Promise, free_processors, predict
from cellmill.magics.speedup_report import Finding, Speedup
from cellmill.magics.timed_loops import MOST_KEPT, Times, clocks, find_loops, with_clocks

COST = Cost(once=0.01, each=0.001)


def test_equal_items_are_shared_by_the_workers() -> None:
    promise = predict([0.5] * 8, COST, 4, items=8, processor=0.0, cpus=2)
    assert promise.now == 4.0
    assert promise.then == pytest.approx(1.0 + 0.01 + 8 * 0.001)
    assert promise.holds
    assert promise.bound == ""


def test_the_longest_item_bounds_it() -> None:
    promise = predict([3.0, 0.5, 0.5], COST, 4, items=3, processor=0.0, cpus=4)
    assert promise.then == pytest.approx(3.0 + 0.013)
    assert promise.bound == "its longest item"
    assert not predict([9.0, 0.5], COST, 4, items=2, processor=0.0, cpus=4).holds


def test_what_computes_is_bound_by_the_processors() -> None:
    promise = predict([1.0] * 8, COST, 8, items=8, processor=8.0, cpus=2)
    assert promise.then == pytest.approx(4.0 + 0.018)
    assert promise.bound == "2 processors"


def test_native_threads_that_use_all_processors_leave_no_gain() -> None:
    promise = predict([1.0] * 4, COST, 2, items=4, processor=8.0, cpus=2)
    assert promise.then > promise.now
    assert not promise.holds
    assert promise.bound == "2 processors are in use already"


def test_short_items_cost_more_than_they_take() -> None:
    promise = predict([1e-6] * 1000, COST, 2, items=1000, processor=1e-3, cpus=2)
    assert not promise.holds
    assert promise.bound == "what tasks cost"


def test_an_iterable_that_takes_long_stays_where_it_is() -> None:
    promise = predict([0.1] * 4, COST, 4, items=4, processor=0.0, cpus=4, waiting=2.0)
    assert promise.now == pytest.approx(2.4)
    assert promise.then == pytest.approx(2.0 + 0.014)
    assert promise.bound == "its iterable, which runs here"
    assert not promise.holds


def test_what_the_iterable_computes_is_not_taken_for_the_items() -> None:
    promise = predict([1e-5] * 10, COST, 2, items=10, processor=0.5, cpus=2, waiting=0.5)
    assert promise.bound == "its iterable, which runs here"
    assert not promise.holds


def test_the_filter_of_a_comprehension_is_no_part_of_its_tasks() -> None:
    statement = ast.parse("[x for x in range(10) if x % 2 if x > 2]").body[0]
    timed, (times,) = with_clocks(statement, find_loops(statement, {}))
    with clocks([times]):
        assert eval(compile(ast.unparse(timed), "cell", "eval")) == [3, 5, 7, 9]
    assert (times.items, len(times.durations)) == (4, 4)
    assert times.filtered
    promise = predict([0.1] * 4, COST, 2, items=4, processor=0.0, cpus=2, waiting=2.0, filtered=True)
    assert promise.bound == "its iterable and filter, which run here"


def test_threads_promise_what_computes_on_a_condition() -> None:
    def on_threads(processor: float) -> Promise:
        return predict([1.0] * 8, COST, 2, items=8, processor=processor, cpus=2, shares_gil=True)

    computes = on_threads(processor=8.0)
    assert computes.then == pytest.approx(4.0 + 0.018)
    assert "if its items release the GIL" in f"if {computes.condition}"
    assert not on_threads(processor=0.5).condition  # it waits, which needs no lock
    finding = Finding(1, "for x in xs:", "independent", "", None, computes)
    report = repr(Speedup((finding,), "", "", 8.0, COST))
    assert "as tasks about 4.02 s, if what is said below holds" in report
    assert "about 4.02 s with 2 workers, if its items release the GIL" in report


def test_a_gain_of_milliseconds_is_no_promise() -> None:
    assert not predict([0.005] * 4, Cost(0.0, 0.0), 4, items=4, processor=0.0, cpus=4).holds


def test_durations_of_many_items_are_put_together() -> None:
    times = Times()
    for _ in range(3 * MOST_KEPT + 1):
        times.add(0.25)
    assert times.items == 3 * MOST_KEPT + 1
    assert len(times.durations) <= MOST_KEPT
    assert times.total == (3 * MOST_KEPT + 1) * 0.25


def test_other_programs_leave_fewer_processors() -> None:
    assert free_processors(2, used=1.0, idle=0.95, wall=1.0) == 2
    assert free_processors(4, used=1.0, idle=0.5, wall=1.0) == 1.5
    assert free_processors(4, used=0.1, idle=0.0, wall=0.1) == 4
    assert free_processors(4, used=1.0, idle=None, wall=1.0) == 4
    promise = predict([1.0] * 8, COST, 4, items=8, processor=4.0, cpus=0.5)
    assert promise.bound == "other programs, which leave it 0.5 processors"
    assert not promise.holds
