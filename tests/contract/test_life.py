"""From an executor's start to its end: initializer, shutdown in its ways, use afterwards."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from concurrent.futures import wait
from pathlib import Path

import pytest

from cellmill import Executor
from tests.contract import work
from tests.contract.abilities import Abilities, each_cluster, later, own_cluster
from tests.support import holders, tasks
from tests.support.helpers import SECONDS, Gate, comes_down, ends


@own_cluster
def test_start_and_end(fresh: Callable[..., Executor], able: Abilities, tmp_path: Path) -> None:
    ex = fresh(initializer=work.prepare, initargs=(str(tmp_path), "ready"), preload=["colorsys"])
    assert ex.run_on_workers(work.is_prepared) == [True] * able.workers
    assert all(ex.map(lambda _: work.is_prepared(), range(20), chunksize=1))
    assert len(list(tmp_path.glob("ready-*"))) == able.workers
    assert all(ex.run_on_workers(lambda: work.has_module("colorsys")))
    processes = [worker.pid for worker in ex.workers()]
    futures = [ex.submit(tasks.double, i) for i in range(50)]
    large = ex.submit(bytes, 1_000_000)
    with ex:
        pass
    assert ex.closed
    assert [f.result(0) for f in futures] == [2 * i for i in range(50)]  # what was submitted is finished
    assert large.result(0) == bytes(1_000_000)  # and at hand
    with pytest.raises(RuntimeError, match="after shutdown"):
        ex.submit(tasks.double, 1)
    with pytest.raises(RuntimeError, match="after shutdown"):
        ex.map(tasks.double, [1])
    ex.shutdown()
    if able.apart:
        assert all(ends(pid) for pid in processes)


@own_cluster
@later
def test_an_end_that_cancels(another: Callable[..., Executor], gate: Gate) -> None:
    ex = another()
    held = [ex.submit(tasks.hold, gate.folder, i) for i in range(ex.max_workers)]
    gate.wait_started(ex.max_workers)
    queued = [ex.submit(tasks.double, i) for i in range(50)]
    ex.shutdown(wait=False, cancel_futures=True)
    gate.release(ex.max_workers)
    assert not wait([*held, *queued], SECONDS).not_done
    assert [h.result(0) for h in held] == list(range(ex.max_workers))
    assert all(future.cancelled() for future in queued)
    ex.shutdown()


@each_cluster
@pytest.mark.parametrize("end", ["shutdown", pytest.param("dropped", marks=own_cluster)])
def test_nothing_is_left_of_executors(
    ex: Executor, backend: str, shared: str, able: Abilities, end: str
) -> None:
    """Also of those whose single calls belong to a run that was not ended.

    What the first one of a backend loads stays. What a Ray of our own leaves is asked by `own_ray`.
    """
    made: list[weakref.ref[object]] = []
    where = shared if backend == "ray" else backend

    def use() -> None:
        one = Executor(1 if able.outside else able.workers, backend=where)
        assert one.options(retries=1).submit(tasks.double, 2).result(SECONDS) == 4
        assert list(one.options(retries=1).map(tasks.double, range(3))) == [0, 2, 4]
        made.extend((weakref.ref(one), weakref.ref(one._backend)))
        if end == "shutdown":
            one.shutdown()
            with pytest.raises(RuntimeError, match="after shutdown"):
                one.options(retries=1).submit(tasks.double, 2)

    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    if not able.outside:  # of clusters `ex` is the first one
        use()
    ex.run_on_workers(os.getpid)
    before = descriptors()
    for _ in range(1 if able.outside else 10):
        use()
    assert comes_down(lambda: sum(ref() is not None for ref in made), 0), holders.told(made)
    assert comes_down(descriptors, before + 1)
