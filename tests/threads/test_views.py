"""Journeys, questions and failed calls."""

from __future__ import annotations

import threading
import time

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.threads.helpers import SOON, until


def test_journeys_and_inspection(pool: Executor) -> None:
    futures = [pool.submit(time.sleep, 0.001) for _ in range(20)]
    for future in futures:
        future.result(SOON)
    rows = list(pool.journey_rows())
    assert len(rows) == 20
    for row in rows:
        stamps = [row[stage] for stage in cellmill.telemetry.schema.STAGES]
        assert all(stamps)
        assert stamps == sorted(stamps)
        assert row["function"] == "sleep"
    gate = threading.Event()
    blocked = [pool.submit(gate.wait, SOON) for _ in range(4)]
    until(lambda: pool.stats().running == 3)
    inspector = pool._backend.observer.tasks  # type: ignore[attr-defined]
    assert inspector.arguments(blocked[3]._ticket, None) == f"{SOON}"
    gate.set()


def test_arguments_of_the_slowest_are_not_kept(pool: Executor) -> None:
    assert pool.submit(tasks.double, 3).result(SOON) == 6
    observer = pool._backend.observer
    assert observer is not None
    assert [(slow.function, slow.arguments) for slow in observer.slowest()] == [("double", None)]


def test_a_failed_call_can_be_made_again(pool: Executor) -> None:
    def fail(x: int, *, y: int = 0) -> None:
        raise ValueError(x)

    future = pool.submit(fail, 3, y=4)
    assert future.exception(SOON) is not None
    failure = pool._backend.observer.tasks.latest_failure()  # type: ignore[attr-defined]
    assert failure.arguments == "3, y=4"
    assert failure.call() == (fail, [3] if isinstance(failure.call()[1], list) else (3,), {"y": 4})
