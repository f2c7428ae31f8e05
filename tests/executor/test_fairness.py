"""Who goes first: priorities, and runs that share the workers."""

from __future__ import annotations

import cellmill
from cellmill import Executor
from cellmill.task import POLICIES
from tests.support import tasks
from tests.support.helpers import Gate


def started(executor: Executor) -> list[int]:
    """Places, in the order of submission, of the tasks so far, in the order in which they started."""
    rows = sorted(executor.journey_rows(), key=lambda row: row["submitted"])
    return sorted(range(len(rows)), key=lambda place: rows[place]["started"])


def test_a_higher_priority_runs_next(gate: Gate) -> None:
    with Executor(1) as ex:
        held = ex.submit(tasks.hold, gate.folder)
        gate.wait_started()
        low = [ex.submit(tasks.double, i) for i in range(50)]
        high = ex.options(priority=5).submit(tasks.double, 100)
        lowest = ex.options(priority=-5).submit(tasks.double, 200)
        higher = ex.options(priority=6).submit(tasks.double, 300)
        gate.release()
        assert [f.result() for f in (held, high, lowest, higher)] == [None, 200, 400, 600]
        assert [f.result() for f in low] == [2 * i for i in range(50)]
        assert started(ex) == [0, 53, 51, *range(1, 51), 52]


def test_a_second_run_does_not_wait_for_the_first(gate: Gate) -> None:
    with Executor(1) as ex:
        first = cellmill.parallel(name="first", executor=ex)(tasks.double)
        second = cellmill.parallel(name="second", executor=ex)(tasks.double)
        held = ex.submit(tasks.hold, gate.folder)
        gate.wait_started()
        many = [first(i) for i in range(3000)]
        few = [second(i) for i in range(30)]
        gate.release()
        held.result()
        assert [f.result() for f in many] == [2 * i for i in range(3000)]
        assert [f.result() for f in few] == [2 * i for i in range(30)]
        order = started(ex)
        last_of_second = max(order.index(place) for place in range(3001, 3031))
        assert last_of_second < 2000


def test_every_policy_ends_every_graph() -> None:
    with Executor(3) as ex:
        for policy in POLICIES:
            ex.policy = policy
            level = [ex.submit(tasks.double, i) for i in range(64)]
            while len(level) > 1:
                level = [ex.submit(tasks.add, a, b) for a, b in zip(level[::2], level[1::2], strict=True)]
            assert level[0].result() == sum(2 * i for i in range(64))
