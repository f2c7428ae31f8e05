"""Clusters that grow and shrink with their work: what waits in the kernel is seen there, and who is idle may go."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cellmill import Executor
from cellmill.backends.cluster.engines.dask_demand import count
from cellmill.backends.cluster.engines.protocol import Waiting
from tests.support import tasks
from tests.support.dasks import local_cluster
from tests.support.helpers import SECONDS, Gate
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")


@pytest.fixture
def cluster() -> Iterator[Any]:
    """One that Cellmill did not start, without workers: those that come are threads, which takes no time."""
    with local_cluster(n_workers=0, threads_per_worker=1, processes=False) as made:
        yield made


def _waiting_there(cluster: Any) -> list[str]:
    """Keys of tasks that no worker can run."""
    return [str(task.key) for task in list(cluster.scheduler.unrunnable)]


def test_adaptive_workers_come_for_what_waits_and_go_when_it_is_done(cluster: Any, gate: Gate) -> None:
    cluster.adapt(minimum=0, maximum=3, interval="100ms", target_duration="1s")
    with Executor(backend=cluster) as ex:
        assert ex.stats().workers == 0
        held = ex.map(tasks.hold, [gate.folder] * 8, range(8))
        gate.wait_started(3)  # all that may come
        until(lambda: ex.max_workers == 3)
        gate.release(8)
        assert list(held) == list(range(8))
        until(lambda: not _waiting_there(cluster))
        until(lambda: not cluster.scheduler.workers)  # which lanes do not hold back
        until(lambda: not ex.stats().workers)
        assert not ex._backend.pool.exits  # type: ignore[attr-defined]
        assert ex.submit(tasks.double, 4).result(SECONDS) == 8  # and one comes again
    assert not _waiting_there(cluster)


def test_a_cluster_of_dask_jobqueue_adapts(gate: Gate) -> None:
    """Its jobs are scripts, which its local kind starts by itself, without a batch system."""
    pytest.importorskip("dask_jobqueue", reason="pip install dask-jobqueue")
    from dask_jobqueue.local import LocalCluster

    with LocalCluster(
        cores=1, processes=1, memory="1GB", scheduler_options={"dashboard_address": None}
    ) as made:
        made.adapt(minimum=0, maximum=2, interval="100ms", target_duration="1s")
        with Executor(backend=made) as ex:
            assert sum(ex.map(tasks.double, range(1000))) == 999_000
            held = [ex.submit(tasks.hold, gate.folder, i) for i in range(6)]
            gate.wait_started(2)
            gate.release(6)
            assert [future.result(SECONDS) for future in held] == list(range(6))
            until(lambda: not made.scheduler.workers)
        assert made.status.name == "running"


def _counted(folder: str) -> int:
    """Held once; the number of this call."""
    number = tasks.count_call(folder)
    if number == 1:
        tasks.hold(folder)
    return number


def test_a_task_of_a_worker_that_is_let_go_is_sent_again(cluster: Any, gate: Gate) -> None:
    """No worker was lost by it: the cluster has ended one."""
    cluster.scale(2)
    with distributed.Client(cluster, set_as_default=False) as client, Executor(backend=client) as ex:
        until(lambda: ex.stats().workers == 2)
        held = ex.submit(_counted, gate.folder)
        gate.wait_started()
        rest = [ex.submit(tasks.double, i) for i in range(20)]
        (address,) = {str(w.address) for w in ex.workers() if w.task == held._ticket}
        assert client.retire_workers([address], close_workers=True)
        assert held.result(SECONDS) == 2
        assert [future.result(SECONDS) for future in rest] == [2 * i for i in range(20)]
        assert not ex._backend.pool.exits  # type: ignore[attr-defined]
        gate.release()


def test_a_map_has_work_for_workers_that_come(cluster: Any, gate: Gate) -> None:
    """Also where all that was sent to the first one takes long."""
    cluster.scale(1)
    with Executor(backend=cluster) as ex:
        until(lambda: ex.stats().workers == 1)
        held = ex.map(tasks.hold, [gate.folder] * 5, range(5))
        gate.wait_started(1)
        cluster.scale(5)
        gate.wait_started(4)
        gate.release(5)
        assert list(held) == list(range(5))


def test_nothing_is_asked_for_that_would_not_be_used(cluster: Any, gate: Gate) -> None:
    """At most one worker of the cluster is used, or none while the executor is paused."""
    cluster.adapt(minimum=0, maximum=3, interval="100ms", target_duration="1s")
    with Executor(1, backend=cluster) as ex:
        ex.pause()
        held = [ex.submit(tasks.hold, gate.folder, i) for i in range(3)]
        asked = _asked(ex)
        assert asked() == asked() == 0
        assert not cluster.scheduler.workers
        ex.resume()
        gate.wait_started(1)
        until(lambda: asked() == 0)
        # while the first task was counted twice, as one that waits and as one that runs, another worker may have come
        until(lambda: len(cluster.scheduler.workers) == 1)
        gate.release(3)
        assert [future.result(SECONDS) for future in held] == [0, 1, 2]


def _asked(ex: Executor) -> Callable[[], int]:
    """What asks how many tasks' worth of workers the cluster was told of, in the next look."""
    engine = ex._backend.engine  # type: ignore[attr-defined]
    told: queue.SimpleQueue[int] = queue.SimpleQueue()
    want = engine.want

    def heard(waiting: Any, there: int, more: int) -> None:
        want(waiting, there, more)
        told.put(len(waiting))

    engine.want = heard

    def ask() -> int:
        while not told.empty():
            told.get()
        return told.get(timeout=SECONDS)

    return ask


def test_what_waits_is_shown_in_halves_of_a_second() -> None:
    """As much work as there is, but no more threads than tasks or than a cluster may grow to at once."""
    assert count([], 20, 0.5, 5.0) == 0
    assert count([Waiting(300, 0.1)], 20, 0.5, 5.0) == 60
    assert count([Waiting(3, 0.0)], 20, 0.5, 5.0) == 3
    assert count([Waiting(3, 1000.0)], 20, 0.5, 5.0) == 30  # 3 threads would do it in 5 s, were it so short
    assert count([Waiting(1e6, 1.0)], 20, 0.5, 5.0) == 200
    assert count([Waiting(1000, 1e-6)], 20, 0.5, 5.0) == 1
