"""Large results on clusters that the executor did not start: they stay where they were made, on Dask as on Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from cellmill import Executor, Future
from cellmill.backends.cluster.values.proxies import ENDS_PACK
from tests.support import tasks
from tests.support.dasks import all_there
from tests.support.helpers import Gate, comes_down
from tests.support.rays import OwnRay
from tests.support.staying import (
    BYTES,
    Traffic,
    change,
    join,
    last_of,
    make,
    make_again,
    objects_of_ray,
    sum_of,
    where_of,
)
from tests.support.waiting import until

pytest.importorskip("numpy")

SECONDS = 120.0  # longest wait; a worker of Ray takes seconds to start, on a busy machine many


@dataclass(frozen=True, slots=True)
class Borrowed:
    """An executor of two workers on a cluster, and how many values that keeps."""

    executor: Executor
    count: Callable[[], int]
    exact: bool  # tasks run where their input is, if its holder is free


@pytest.fixture(scope="module")
def dask(processes: Any) -> Iterator[Borrowed]:
    client = all_there(processes)
    with Executor(backend=client) as executor:
        until(lambda: executor.stats().workers == 2)
        yield Borrowed(executor, lambda: sum("cellmill-value" in str(key) for key in client.who_has()), True)


@pytest.fixture
def ray(own_ray: OwnRay, on_ray: Executor) -> Borrowed:
    until(lambda: on_ray.stats().workers == 2)
    return Borrowed(on_ray, lambda: int(own_ray.executor.submit(objects_of_ray).result(SECONDS)), False)


@pytest.fixture(params=["dask", "ray"])
def place(request: pytest.FixtureRequest) -> Iterator[Borrowed]:
    """Each cluster in turn; what a test has made there goes with its futures."""
    found: Borrowed = request.getfixturevalue(request.param)
    before = found.count()
    yield found
    assert comes_down(found.count, before)


def made_and_used(ex: Executor) -> tuple[list[Future], list[Any]]:
    """Twenty values, which stay as long as the first of these, and what tasks have found in them."""
    made = [ex.submit(make, i) for i in range(20)]
    used = [ex.submit(sum_of, value) for value in made]
    return made, [future.result(SECONDS) for future in used]


def used_at_home(found: list[Any]) -> bool:
    """Whether most values were used where they are."""
    return sum(there == here for _, there, here in found) >= 15


def test_values_stay_where_they_are_made(place: Borrowed) -> None:
    """Twenty are made and used; what passes the kernel is a small part of one."""
    ex, before = place.executor, place.count()
    with Traffic(ex) as passed:
        made, found = made_and_used(ex)
    assert [total for total, _, _ in found] == [i * BYTES for i in range(20)]
    assert passed.bytes < BYTES // 2
    if place.exact:
        assert place.count() - before == len(made)
        # other work of the machine may hold a worker up: what it has is used elsewhere then
        assert used_at_home(found) or any(used_at_home(made_and_used(ex)[1]) for _ in range(2))


def test_the_value_is_fetched_when_it_is_asked_for(place: Borrowed) -> None:
    ex = place.executor
    future = ex.submit(make, 7)
    assert future.exception(SECONDS) is None
    assert "finished" in repr(future)
    with Traffic(ex) as passed:
        pid, array = future.result()
    assert (array == 7).all()
    assert pid != os.getpid()
    assert passed.bytes < BYTES // 100  # not in a pack; an empty reply may come late
    array[:] = 8  # it is the caller's own
    assert future.result()[1] is array


def test_what_was_made_before_the_call_is_used_where_it_is(place: Borrowed) -> None:
    """The producers are over when the consumers are called, as from one cell to the next."""
    ex = place.executor
    made = [ex.submit(make, i) for i in range(5)]
    for future in made:
        future.exception(SECONDS)
    with Traffic(ex) as passed:
        found = [ex.submit(sum_of, value).result(SECONDS) for value in made]
    assert [total for total, _, _ in found] == [i * BYTES for i in range(5)]
    assert all(there == here for _, there, here in found)  # one at a time: the holder is free
    assert passed.bytes < BYTES // 2
    assert list(ex.map(last_of, made)) == list(range(5))
    made[3].result()[1][:] = 99  # it was changed here: tasks see that
    assert ex.submit(last_of, made[3]).result(SECONDS) == 99


def test_a_chain_and_a_diamond(place: Borrowed) -> None:
    ex = place.executor
    with Traffic(ex) as passed:
        first = ex.submit(make, 1)
        chain = ex.submit(change, ex.submit(change, first))
        left, right = ex.submit(change, chain), ex.submit(change, chain)
        assert ex.submit(join, left, right, first).result(SECONDS) == (4 + 4 + 1) * BYTES
    assert passed.bytes < BYTES // 2


@pytest.mark.parametrize("size", [300_000, BYTES, ENDS_PACK])  # the first one travels in the reply
def test_each_task_has_a_value_of_its_own(place: Borrowed, size: int) -> None:
    """What a task changes, neither another one nor the caller sees; nor what the maker changes later."""
    ex = place.executor
    made = [ex.submit(make_again, i, size) for i in range(6)]  # one array in each worker, filled anew
    changed = [ex.submit(change, value) for value in made]
    assert [int(future.result(SECONDS)[1][0]) for future in changed] == [i + 1 for i in range(6)]
    assert [int(future.result(SECONDS)[1][0]) for future in made] == list(range(6))


def test_a_large_value_does_not_wait_for_the_tasks_behind_it(place: Borrowed, gate: Gate) -> None:
    """They are sent together with its own, as all tasks before were short."""
    ex = place.executor
    for future in [ex.submit(tasks.double, i) for i in range(200)]:
        future.result(SECONDS)
    ex.pause()
    made = [ex.submit(make, i, ENDS_PACK) for i in range(2)]
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(2)]
    ex.resume()
    for value in made:
        assert value.exception(SECONDS) is None
    gate.release(2)
    for future in held:
        future.result(SECONDS)


def test_tasks_wait_for_the_worker_that_has_a_large_value(dask: Borrowed) -> None:
    """The other worker has nothing to do, but to bring it there takes longer than what is before them."""
    ex = dask.executor
    value = ex.submit(make, 1, 8 * ENDS_PACK)
    for _ in range(8):  # how long one takes is known then
        ex.submit(where_of, value).result(SECONDS)
    for _ in range(10):  # a busy machine may take as long for two as for that
        found = [future.result(SECONDS) for future in [ex.submit(where_of, value) for _ in range(3)]]
        if all(there == here for there, here in found):
            break
    assert all(there == here for there, here in found)


def test_small_results_and_those_of_maps_travel(place: Borrowed) -> None:
    ex, before = place.executor, place.count()
    small: Any = ex.submit(make, 1, 500_000)
    assert small.result(SECONDS)[1].nbytes == 500_000
    assert [int(array[0]) for _, array in ex.map(make, range(4))] == [0, 1, 2, 3]
    if place.exact:
        assert place.count() == before


def test_what_is_cancelled_leaves_nothing(place: Borrowed, gate: Gate) -> None:
    ex = place.executor
    made = ex.submit(make, 3)
    made.exception(SECONDS)
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    waiting = [ex.submit(sum_of, made) for _ in range(5)] + [ex.submit(make, i) for i in range(5)]
    assert all(future.cancel() for future in waiting)
    gate.release(2)
    for future in held:
        future.result(SECONDS)
