"""Large results on a Ray that the executor did not start: they stay in its object store, and outlive their actor."""

from __future__ import annotations

import os
import signal

import pytest

import cellmill
from cellmill import Executor, TaskTimeoutError, UsageError
from tests.support import tasks
from tests.support.helpers import Gate
from tests.support.rays import OwnRay
from tests.support.staying import BYTES, make, sum_of
from tests.support.waiting import until

pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
numpy = pytest.importorskip("numpy")

SECONDS = 120.0  # longest wait; a worker of Ray takes seconds to start, on a busy machine many


@pytest.fixture
def ex(on_ray: Executor) -> Executor:
    until(lambda: on_ray.stats().workers == 2)
    return on_ray


def test_values_outlive_their_actor(ex: Executor) -> None:
    """It is killed, by hand or by a time limit; what it had finished is there."""
    made = ex.submit(make, 4)
    pid = ex.submit(sum_of, made).result(SECONDS)[1]
    os.kill(pid, signal.SIGKILL)
    until(lambda: pid not in {info.pid for info in ex.workers()})
    assert ex.submit(sum_of, made).result(SECONDS)[0] == 4 * BYTES
    assert (made.result(SECONDS)[1] == 4).all()


@pytest.mark.long
def test_values_outlive_a_time_limit(ex: Executor, gate: Gate) -> None:
    made = [ex.submit(make, i) for i in range(4)]
    for future in made:
        future.exception(SECONDS)
    late = [ex.options(timeout=0.3).submit(tasks.hold, gate.folder) for _ in range(2)]
    for future in late:
        assert isinstance(future.exception(SECONDS), TaskTimeoutError)
    assert [int(future.result(SECONDS)[1][0]) for future in made] == [0, 1, 2, 3]


def test_nothing_can_be_left_there(own_ray: OwnRay) -> None:
    """Results that outlive the kernel are for clusters of Dask: on Ray the name is refused, at once."""
    with pytest.raises(UsageError, match="name= keeps results on clusters of Dask"):
        Executor(1, backend="ray:127.0.0.1:9", name="screen")
    with pytest.raises(UsageError, match="results are left on clusters of Dask"):
        cellmill.reattach("screen", backend=own_ray.backend)
