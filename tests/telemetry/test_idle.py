"""Why workers were idle: schedules on paper whose truth is known."""

from __future__ import annotations

import pytest

from cellmill.telemetry.idle import Idle, Stamps, reasons


def task(worker: int, start: float, end: float, submitted: float = 0, **stamps: float) -> Stamps:
    """One that was ready when it was submitted, and went at once from the kernel to its worker."""
    ready = stamps.get("ready", submitted)
    return Stamps(worker, submitted, ready, stamps.get("dispatched", start), start, end)


def test_a_chain_keeps_the_other_worker_waiting() -> None:
    tasks = [task(0, 0, 1), task(1, 0, 1), task(0, 1, 2), task(0, 2, 3, ready=2), task(1, 3, 4, ready=3)]
    assert reasons(tasks, 2, 0, 4, 3) == Idle(chain=2, last=1)


def test_a_slow_last_task_is_told_from_imbalance() -> None:
    tasks = [task(0, 0, 1), task(1, 0, 3), task(2, 0, 2)]
    assert reasons(tasks, 3, 0, 3, 3) == Idle(imbalance=1, last=2)


def test_tasks_queued_behind_another_are_imbalance() -> None:
    tasks = [task(0, 0, 1), task(1, 0, 2), task(1, 2, 3, dispatched=0)]
    assert reasons(tasks, 2, 0, 3, 2) == Idle(imbalance=1, last=1)


def test_a_loop_that_submits_slowly() -> None:
    tasks = [task(0, at, at + 0.25, submitted=at) for at in range(4)]
    assert reasons(tasks, 1, 0, 3.25, 2.25) == Idle(submission=2.25)


def test_ready_tasks_on_their_way() -> None:
    tasks = [task(0, 1, 2, dispatched=0.25), task(1, 1, 2, dispatched=1)]
    assert reasons(tasks, 2, 0, 2, 2) == Idle(delivery=2)


def test_workers_that_never_had_a_task() -> None:
    assert reasons([task(0, 0, 2), task(1, 0, 1)], 4, 0, 2, 5) == Idle(unused=4, last=1)


def test_stamps_that_do_not_add_up_tell_nothing() -> None:
    assert reasons([task(0, 0, 1)], 1, 0, 4, 1) is None  # an attempt of two seconds has left no stamps
    assert reasons([], 2, 0, 1, 0) is None


def test_the_sum_is_the_idle_time() -> None:
    found = reasons([task(0, 0, 1), task(1, 0, 2)], 2, 0, 2, 1.01)
    assert found is not None
    assert found.seconds == pytest.approx(1.01)
    assert [words for share, words in found.words() if share] == ["idle while the last task ran"]
