"""Items of a batch run together: what is told of their record counts its time once."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

import cellmill
from cellmill import Executor
from cellmill.records.figures import Figures
from cellmill.records.moments import Moments
from cellmill.records.record import _end_of

EACH = 0.005  # seconds of an item


def slow_halves(numbers: list[int]) -> list[float]:
    time.sleep(EACH * len(numbers))
    return [number / 2 for number in numbers]


@pytest.fixture(scope="module")
def record(pool: Executor) -> Iterator[cellmill.Record]:
    assert sum(pool.options(batch=True).map(slow_halves, range(20), chunksize=4)) == 95
    return cellmill.open_record(cellmill.runs()[-1])


def test_functions_take_as_long_as_the_run_counts(record: cellmill.Record) -> None:
    (told,) = Figures(record).functions
    assert (told.tasks, told.failed) == (20, 0)
    assert record.run.figures is not None
    assert float(told.seconds.sum()) == pytest.approx(record.run.figures.work)
    assert told.seconds[0] >= EACH
    assert told.quantile(0.5) < 4 * EACH + record.run.wall / 4


def test_one_of_a_batch_runs_at_each_moment_as_it_does_live(record: cellmill.Record) -> None:
    moments = Moments(record)
    counts = [moments.at(moment) for moment in moments.evenly(200)]
    assert max(each.running for each in counts) in (1, 2)
    assert all(each.queued + each.running + each.over == each.submitted for each in counts)
    assert counts[-1] == (20, 0, 20, 0, 0, 0)
    curves = Figures(record).curves
    assert max(curves["running"]) in (1, 2)


def test_a_record_that_was_cut_off_counts_the_same(record: cellmill.Record) -> None:
    whole = record.run.figures
    assert whole is not None
    told = _end_of(record.head, record.rows, [])["figures"]
    assert (told["tasks"], told["work"]) == (whole.tasks, pytest.approx(whole.work))
    assert told["steps"] == list(whole.steps)
