"""Large values on clusters: only references travel, and nothing of them is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import each_cluster, outside
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down

pytestmark = [outside, each_cluster]
numpy = pytest.importorskip("numpy")


@pytest.fixture
def keeper(ex: Executor) -> Iterator[Any]:
    """What is in the store; after the test nothing."""
    found = ex._backend.keeper  # type: ignore[attr-defined]
    assert comes_down(lambda: found.outstanding, 0)
    yield found
    assert comes_down(lambda: found.outstanding, 0)


def array() -> Any:
    return numpy.arange(125_000)


def test_a_result_stays_outside_until_it_is_asked_for(ex: Executor, keeper: Any) -> None:
    future = ex.submit(work.mirror, array())
    assert future.exception(SECONDS) is None
    assert comes_down(lambda: keeper.outstanding, 1)  # the arguments are gone, the result is not
    assert repr(future).startswith("<cellmill.Future finished, 1,000,")
    assert len(keeper.unread) == 1
    result = future.result()
    assert (result == array() + 1).all()
    assert future.result() is result
    assert keeper.outstanding == 1
    del future
    assert comes_down(lambda: keeper.outstanding, 0)
    assert (result == array() + 1).all()  # it lives as long as it is referred to


def test_its_own_input(ex: Executor, keeper: Any) -> None:
    """A task that returns what it was given gets it back to the caller, although its arguments go with it."""
    for value in (array(), b"x" * 1_000_000, [array(), {"k": array()}]):
        assert str(ex.submit(tasks.same, value).result(SECONDS)) == str(value)
    again = ex.submit(tasks.same, ex.submit(tasks.same, array()))
    assert (again.result(SECONDS) == array()).all()


def test_dependents_hold_what_they_need(ex: Executor, keeper: Any, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    first = ex.submit(work.mirror, array())
    sums = [ex.submit(numpy.sum, first) for _ in range(3)]
    later = ex.submit(tasks.total_size, [first, {"k": 1}], None)
    del first
    gate.release(ex.max_workers)
    assert [int(f.result(SECONDS)) for f in sums] == [int((array() + 1).sum())] * 3
    assert later.exception(SECONDS) is not None  # a dict has no size
    for future in held:
        future.result(SECONDS)


def test_a_chain_does_not_come_here(ex: Executor, keeper: Any) -> None:
    future = ex.submit(work.mirror, array())
    for _ in range(5):
        future = ex.submit(work.mirror, future)
    assert int(ex.submit(numpy.sum, future).result(SECONDS)) == int((array() + 6).sum())
    assert len(keeper.unread) <= 1


def test_maps_and_batches(ex: Executor, keeper: Any) -> None:
    arrays = [array() + i for i in range(8)]
    assert [int(a[0]) for a in ex.map(work.mirror, arrays)] == list(range(1, 9))
    assert [int(a[0]) for a in ex.map(work.mirror, arrays, chunksize=1)] == list(range(1, 9))
    batch = ex.options(batch=True)
    assert [int(a[0]) for a in batch.map(lambda parts: [a + 1 for a in parts], arrays)] == list(range(1, 9))
    total = ex.map(tasks.total_size, [[ex.submit(work.mirror, a)] for a in arrays], range(8))
    assert list(total) == [125_000] * 8


def test_what_fails_or_is_cancelled_leaves_nothing(ex: Executor, keeper: Any, gate: Gate) -> None:
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    waiting = [ex.submit(work.mirror, array()) for _ in range(5)]
    assert all(future.cancel(force=True) for future in waiting)
    bad = ex.submit(tasks.add, array(), "no number")
    lost = ex.options(retries=1).submit(work.leave, array())
    gate.release(10)
    assert isinstance(bad.exception(SECONDS), Exception)
    assert isinstance(lost.exception(SECONDS), Exception)
    for future in held:
        future.exception(SECONDS)
