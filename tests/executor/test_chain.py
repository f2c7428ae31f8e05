"""A chain of tasks runs on while Python holds the GIL: the scheduler's helper thread needs none of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS

LINKS = 1000
FINISHED, RESOLVED = 12, 14  # places in a journey's row


@pytest.fixture
def gil_is_kept() -> Iterator[None]:
    """No other thread of this process runs Python until this one lets it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(10 * SECONDS)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("gil_is_kept")
def test_a_chain_needs_no_gil(fresh: Executor) -> None:
    from cellmill.backends.scheduled.scheduler import ffi, with_gil

    assert fresh.submit(tasks.same, 0).result() == 0
    scheduler = fresh._backend.scheduler  # type: ignore[attr-defined]
    stats, handle = ffi.new("csched_stats_t *"), scheduler.handle
    future = fresh.submit(tasks.same, 7)
    chain = [future := fresh.submit(tasks.same, future) for _ in range(LINKS)]
    give_up = time.monotonic() + SECONDS
    while with_gil.csched_stats(handle, stats) == 0 and stats.succeeded < LINKS + 2:  # drains nothing
        assert time.monotonic() < give_up
    end = time.monotonic_ns()
    assert future.result() == 7
    rows = {row[0]: row for row in scheduler.journeys()}
    assert max(rows[link._ticket][FINISHED] for link in chain) <= end <= rows[future._ticket][RESOLVED]
