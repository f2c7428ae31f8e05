"""What tasks ask for beside a worker, the same on every backend."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import cellmill
from cellmill import Executor
from tests.contract.abilities import each_cluster, later
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate


@pytest.fixture
def lent(ex: Executor) -> Iterator[Executor]:
    """All there is can be had afterwards."""
    ex.set_resources({"gpu": 1, "memory": "4GB"})
    yield ex
    assert ex.options(resources={"gpu": 1}, memory="4GB").submit(tasks.double, 1).result(SECONDS) == 2


@each_cluster
def test_totals(lent: Executor) -> None:
    assert lent.resources == {"gpu": 1, "memory": 4 * 10**9}
    asking = lent.options(resources={"gpu": 0.5}, memory="1GB")
    assert asking.submit(tasks.double, 1).result(SECONDS) == 2
    assert list(asking.map(tasks.half_of_even, range(0, 40, 2))) == list(range(20))
    with pytest.raises(LookupError):
        asking.submit(tasks.fail).result(SECONDS)
    for options, words in (
        ({"resources": {"gpu": 2}}, "asks for 2 gpu, and this executor has 1 in all"),
        ({"resources": {"cpu": 1}}, "'cpu', of which this executor has none; it has 1 gpu"),
        ({"memory": "5GB"}, "reserves 5 GB of memory, and there are 4 GB in all"),
    ):
        with pytest.raises(cellmill.UsageError, match=words):
            lent.options(**options).submit(tasks.double, 1)
        with pytest.raises(cellmill.UsageError, match=words):
            lent.options(**options).map(tasks.double, [1])


@later
def test_one_at_a_time(lent: Executor, gate: Gate) -> None:
    asking = lent.options(resources={"gpu": 1})
    held = [asking.submit(tasks.hold, gate.folder, i) for i in range(2)]
    gate.wait_started()
    assert lent.submit(tasks.double, 3).result(SECONDS) == 6  # goes past
    assert "It waits for 1 gpu: 1 of 1 are in use by hold #" in str(cellmill.why(held[1]))
    never = asking.submit(tasks.double, 3)
    assert never.cancel()
    gate.release(2)
    assert [future.result(SECONDS) for future in held] == [0, 1]
