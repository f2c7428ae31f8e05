"""Large results on a Ray that the executor did not start: they stay in its object store, and outlive their actor."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from cellmill import Executor, TaskTimeoutError
from tests.support import tasks
from tests.support.helpers import Gate, comes_down
from tests.support.rays import OwnRay
from tests.support.staying import BYTES, Traffic, change, join, last_of, make, make_again, sum_of
from tests.support.waiting import until

pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
numpy = pytest.importorskip("numpy")

SECONDS = 120.0  # longest wait; a worker of Ray takes seconds to start, on a busy machine many


def objects() -> int:
    """How many values Ray has in its object store; asked by a task, which is connected to it."""
    from ray._private.internal_api import memory_summary

    found = re.search(r"Plasma memory usage \d+ MiB, (\d+) objects", memory_summary(stats_only=True))
    assert found is not None
    return int(found[1])


@pytest.fixture(scope="module")
def guest(own_ray: OwnRay) -> Iterator[Executor]:
    """Two more actors; when they have gone nothing of theirs is in Ray's object store."""
    before = own_ray.executor.submit(objects).result(SECONDS)
    with Executor(2, backend=own_ray.backend, actor={"num_cpus": 0}) as executor:
        until(lambda: executor.stats().workers == 2)
        yield executor
        kept = executor.submit(make, 3)
        kept.exception(SECONDS)
    assert (kept.result()[1] == 3).all()  # it came at the end
    assert comes_down(lambda: own_ray.executor.submit(objects).result(SECONDS), before)


@pytest.fixture
def ex(own_ray: OwnRay, guest: Executor) -> Iterator[Executor]:
    count = own_ray.executor.submit(objects)
    before = count.result(SECONDS)
    yield guest
    assert comes_down(lambda: own_ray.executor.submit(objects).result(SECONDS), before)


def test_values_stay_where_they_are_made(ex: Executor) -> None:
    """Twenty are made and used; what passes the kernel is a small part of one."""
    with Traffic(ex) as passed:
        made = [ex.submit(make, i) for i in range(20)]
        used = [ex.submit(sum_of, value) for value in made]
        found = [future.result(SECONDS) for future in used]
    assert [total for total, _, _ in found] == [i * BYTES for i in range(20)]
    assert passed.bytes < BYTES // 2


def test_the_value_is_fetched_when_it_is_asked_for(ex: Executor) -> None:
    future = ex.submit(make, 7)
    assert future.exception(SECONDS) is None
    with Traffic(ex) as passed:
        pid, array = future.result()
    assert (array == 7).all()
    assert pid != os.getpid()
    assert passed.bytes < BYTES // 100  # not in a pack; an empty reply may come late
    array[:] = 8  # it is the caller's own


def test_what_was_made_before_the_call_is_used_where_it_is(ex: Executor) -> None:
    made = [ex.submit(make, i) for i in range(5)]
    for future in made:
        future.exception(SECONDS)
    with Traffic(ex) as passed:
        found = [ex.submit(sum_of, value).result(SECONDS) for value in made]
    assert [total for total, _, _ in found] == [i * BYTES for i in range(5)]
    assert all(there == here for _, there, here in found)
    assert passed.bytes < BYTES // 2
    assert list(ex.map(last_of, made)) == list(range(5))


def test_a_chain_and_a_diamond_and_values_of_their_own(ex: Executor) -> None:
    with Traffic(ex) as passed:
        first = ex.submit(make, 1)
        chain = ex.submit(change, ex.submit(change, first))
        left, right = ex.submit(change, chain), ex.submit(change, chain)
        assert ex.submit(join, left, right, first).result(SECONDS) == (4 + 4 + 1) * BYTES
    assert passed.bytes < BYTES // 2
    made = [ex.submit(make_again, i) for i in range(6)]
    assert [int(future.result(SECONDS)[1][0]) for future in made] == list(range(6))


def test_values_outlive_their_actor(ex: Executor) -> None:
    """It is killed, by hand or by a time limit; what it had finished is there."""
    made = ex.submit(make, 4)
    pid = ex.submit(sum_of, made).result(SECONDS)[1]
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in {info.pid for info in ex.workers()})
    assert ex.submit(sum_of, made).result(SECONDS)[0] == 4 * BYTES
    assert (made.result(SECONDS)[1] == 4).all()


def test_values_outlive_a_time_limit(ex: Executor, gate: Gate) -> None:
    made = [ex.submit(make, i) for i in range(4)]
    for future in made:
        future.exception(SECONDS)
    late = [ex.options(timeout=0.3).submit(tasks.hold, gate.folder) for _ in range(2)]
    for future in late:
        assert isinstance(future.exception(SECONDS), TaskTimeoutError)
    assert [int(future.result(SECONDS)[1][0]) for future in made] == [0, 1, 2, 3]


def test_what_is_cancelled_leaves_nothing(ex: Executor, gate: Gate) -> None:
    made: Any = ex.submit(make, 3)
    made.exception(SECONDS)
    held = [ex.submit(tasks.hold, gate.folder) for _ in range(2)]
    gate.wait_started(2)
    waiting = [ex.submit(sum_of, made) for _ in range(5)]
    assert all(future.cancel() for future in waiting)
    gate.release(2)
    for future in held:
        future.result(SECONDS)
