"""The fold from an executor's counters to the counts of the present piece of work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cellmill.telemetry.progress import ProgressFold, RunSample, Sample

START = Sample(
    executor=1,
    time=100.0,
    backend="local",
    workers=2,
    wanted=2,
    paused=False,
    submitted=0,
    running=0,
    succeeded=0,
    failed=0,
    cancelled=0,
)


def test_counts_of_the_first_work() -> None:
    fold = ProgressFold()
    fold.snapshot(START, [])
    frame = fold.snapshot(
        replace(START, time=101.0, submitted=10, running=2, succeeded=3, failed=1, cancelled=1), []
    )
    assert frame["counts"] == {
        "total": 10,
        "done": 5,
        "failed": 1,
        "lost": 0,
        "cancelled": 1,
        "running": 2,
        "queued": 3,
    }
    assert frame["elapsed"] == 1.0


def test_a_run_adds_what_it_will_submit_yet() -> None:
    fold = ProgressFold()
    runs = [
        RunSample(1, "f", expected=100, submitted=10, done=4, failed=0),
        RunSample(2, "g", expected=None, submitted=5, done=5, failed=2),
    ]
    frame = fold.snapshot(replace(START, submitted=15, succeeded=7, failed=2), runs)
    assert frame["counts"]["total"] == 105
    assert [run["total"] for run in frame["runs"]] == [100, None]


def test_a_cell_with_tasks_begins_new_work_when_none_was_outstanding() -> None:
    fold = ProgressFold()
    done = replace(START, time=101.0, submitted=10, succeeded=9, failed=1)
    first = fold.snapshot(done, [])
    fold.cell_started(replace(done, time=150.0))
    # Nothing was submitted yet: the counts of the last work stay.
    assert fold.snapshot(replace(done, time=150.5), [])["counts"] == first["counts"]
    second = fold.snapshot(replace(done, time=151.0, submitted=14, succeeded=11), [])
    assert second["work"] == first["work"] + 1
    assert (second["counts"]["total"], second["counts"]["done"], second["counts"]["failed"]) == (4, 2, 0)
    assert second["elapsed"] == 0.5


def test_a_cell_joins_the_work_that_is_under_way() -> None:
    fold = ProgressFold()
    busy = replace(START, time=101.0, submitted=10, running=2, succeeded=4)
    first = fold.snapshot(busy, [])
    fold.cell_started(replace(busy, time=102.0))
    second = fold.snapshot(replace(busy, time=103.0, submitted=20), [])
    assert second["work"] == first["work"]
    assert second["counts"]["total"] == 20


def test_another_executor_counts_from_zero() -> None:
    fold = ProgressFold()
    first = fold.snapshot(replace(START, submitted=50, succeeded=50), [])
    second = fold.snapshot(replace(START, executor=2, time=120.0, submitted=3, succeeded=1), [])
    assert second["work"] == first["work"] + 1
    assert (second["counts"]["total"], second["counts"]["done"]) == (3, 1)


def test_elapsed_stops_with_the_last_change() -> None:
    fold = ProgressFold()
    fold.snapshot(START, [])
    fold.snapshot(replace(START, time=104.0, submitted=10, succeeded=10), [])
    assert fold.snapshot(replace(START, time=400.0, submitted=10, succeeded=10), [])["elapsed"] == 4.0


def test_counters_read_a_moment_apart_never_go_below_zero() -> None:
    fold = ProgressFold()
    frame = fold.snapshot(replace(START, submitted=4, running=2, succeeded=4), [])
    assert frame["counts"]["running"] == 0
    assert frame["counts"]["queued"] == 0


def test_the_course_of_a_work_is_kept_from_its_start() -> None:
    fold = ProgressFold()
    assert fold.course() is None
    for tick in range(101):
        sample = replace(START, time=100 + tick, submitted=100, running=2 * (tick < 100), succeeded=tick)
        fold.snapshot(sample, [])
    course = fold.course()
    assert course is not None
    assert course["began"] == 100.0
    assert course["time"] == [100.0 + tick for tick in range(101)]
    assert course["ran"] == list(range(101))
    assert course["queued"] == [98 - tick if tick < 99 else 0 for tick in range(101)]
    assert course["running"][-2:] == [1, 0]
    fold.cell_started(replace(sample, time=300.0))
    later = fold.snapshot(replace(sample, time=301.0, submitted=110, succeeded=103), [])
    assert fold.course() is None  # one point is no course
    fold.snapshot(replace(sample, time=302.0, submitted=110, succeeded=105, cancelled=1), [])
    course = fold.course()
    assert course is not None
    assert (course["work"], course["time"], course["ran"]) == (later["work"], [301.0, 302.0], [3, 5])


def test_time_without_tasks_is_no_part_of_the_work() -> None:
    fold = ProgressFold()
    fold.snapshot(START, [])
    fold.snapshot(replace(START, time=150.0), [])
    assert fold.snapshot(replace(START, time=151.0, submitted=1, succeeded=1), [])["elapsed"] == 1.0


def test_what_a_work_took_is_exact_where_the_scheduler_knows_it() -> None:
    fold = ProgressFold()
    fold.snapshot(START, [])
    going = replace(START, time=102.0, submitted=4, succeeded=1, span=(101.7, 101.9))
    frame = fold.snapshot(going, [])
    assert (frame["began"], frame["elapsed"]) == (101.7, pytest.approx(0.3))
    over = replace(START, time=103.0, submitted=4, succeeded=4, span=(101.7, 102.95))
    for time in (103.0, 109.0):
        frame = fold.snapshot(replace(over, time=time), [])
        assert (frame["began"], frame["elapsed"]) == (101.7, pytest.approx(1.25))
    fold.cell_started(replace(over, time=110.0))
    frame = fold.snapshot(replace(over, time=111.0, submitted=6, succeeded=6), [])
    assert frame["began"] >= 110.0  # the scheduler's figures are still those of the work before
