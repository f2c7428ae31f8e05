"""Why workers were idle, of real work; csched's tests have schedules on paper whose truth is known."""

from __future__ import annotations

import time
from concurrent.futures import wait

import pytest

import cellmill
from cellmill import Executor
from cellmill.telemetry.idle import Idle, explained
from tests.telemetry.work import brief, sleeps

CASES = 9000  # more than are scheduled again on paper for advice
PAUSE = 0.25


def test_stamps_that_do_not_add_up_tell_nothing() -> None:
    assert explained(Idle(last=1), idle=3, capacity=4) is None  # an attempt of two seconds has left no stamps


def test_the_sum_is_the_idle_time() -> None:
    found = explained(Idle(last=1), idle=1.01, capacity=4)
    assert found is not None
    assert found.seconds == pytest.approx(1.01)
    assert [words for share, words in found.words() if share] == ["idle while the last task ran"]


def test_resources_and_pauses_are_told_from_slow_delivery() -> None:
    with Executor(2, resources={"gpu": 1}) as pool:
        pool.run_on_workers(int)
        wait([pool.options(resources={"gpu": 1}).submit(sleeps, PAUSE / 5) for _ in range(4)])
        reasons = cellmill.account(None, pool).reasons
        assert reasons is not None
        assert reasons.held >= 0.6 * PAUSE / 5 * 3  # one worker, while the other one had it
        assert reasons.held > reasons.delivery  # which takes milliseconds on a busy machine
    with Executor(1) as pool:
        pool.run_on_workers(int)
        pool.pause()
        late = pool.submit(brief, 1)
        time.sleep(PAUSE)
        pool.resume()
        assert late.result() == 1
        reasons = cellmill.account(None, pool).reasons
        assert reasons is not None
        assert reasons.held >= PAUSE > reasons.delivery


@pytest.mark.parametrize("chunksize", [1, None], ids=["single", "chunks"])
def test_many_tasks_and_a_slow_last_one(chunksize: int | None) -> None:
    with Executor(max_workers=2) as pool:
        wait([pool.submit(sleeps, PAUSE) for _ in range(2)])  # both workers are there
        many = pool.map(brief, range(CASES), chunksize=chunksize)
        slow = pool.submit(sleeps, PAUSE)
        assert sum(many) == sum(range(CASES))
        last = pool.submit(sleeps, 2 * PAUSE)
        slow.result()
        last.result()
        account = cellmill.account(None, pool)
        rows = {row["task"]: row for row in pool.journey_rows()}
    reasons = account.reasons
    assert account.tasks >= CASES + 2
    assert reasons is not None
    assert reasons.seconds == pytest.approx(account.idle)
    one, other = rows[slow._ticket], rows[last._ticket]
    begun = max(
        one["received"], other["received"]
    )  # on a busy machine the last one may come when the other is over
    alone = max(one["returned"], other["returned"]) - max(begun, min(one["returned"], other["returned"]))
    assert reasons.last >= 0.99 * alone * 1e-9  # one worker, while the other one had nothing


def test_workers_may_come_late_and_go() -> None:
    with Executor(1) as pool:
        kept = pool.map(sleeps, [PAUSE / 5] * 10, chunksize=1)  # the worker is started for it
        assert next(kept) is None
        pool.set_workers(2)
        assert list(kept) == [None] * 9
        account = cellmill.account(None, pool)
    reasons = account.reasons
    assert reasons is not None
    assert reasons.seconds == pytest.approx(account.idle)
