"""The workers of a Dask cluster that Cellmill started: how many there are, whatever becomes of them."""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from cellmill import BackendError, Executor, WorkerLostError
from cellmill.backends.cluster.engines.dask_own import OwnWorkers
from tests.support import tasks
from tests.support.helpers import SECONDS
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
Status = distributed.Status


def test_a_worker_that_dask_drops_is_replaced() -> None:
    from dask import config

    with (
        config.set({"distributed.deploy.lost-worker-timeout": "1ms"}),  # no worker is back by then
        Executor(1, backend="dask") as ex,
    ):
        before = set(ex.run_on_workers(os.getpid))
        with pytest.raises(WorkerLostError):
            ex.submit(tasks.die, "exit").result(SECONDS)
        until(lambda: ex.stats().workers == 1 and all(lane.ready for lane in _lanes(ex)))
        after = set(ex.run_on_workers(os.getpid))
        assert len(after) == 1
        assert not after & before


class Specified:
    """The numbers of a `LocalCluster` alone."""

    def __init__(self) -> None:
        self.worker_spec: dict[Any, str] = {0: "how", 1: "how"}
        self.workers = {name: SimpleNamespace(status=Status.running) for name in self.worker_spec}
        self.scaled: list[int] = []

    def scale(self, count: int) -> None:
        self.scaled.append(count)


def test_the_replacement_has_another_name() -> None:
    """What Dask drops may come back for a moment before it is closed, and its scheduler refuses a name that is taken.
    One that was refused is replaced as well.
    """
    cluster = Specified()
    own = OwnWorkers(cluster)
    own.look([])
    assert cluster.scaled == []
    del cluster.workers[0]
    own.look([])
    assert cluster.scaled == [2]
    assert len(cluster.worker_spec) == 2
    (again,) = set(cluster.worker_spec) - {0, 1}
    cluster.workers[again] = SimpleNamespace(status=Status.failed)
    own.look([])
    assert set(cluster.worker_spec).isdisjoint({0, again})
    assert len(cluster.worker_spec) == 2
    assert set(cluster.worker_spec.values()) == {"how"}


def test_the_end_of_one_lets_no_other_write_to_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    monkeypatch.setattr(logging.getLogger("distributed"), "handlers", [handler])
    with Executor(1, backend="dask", processes=False):
        other = Executor(1, backend="dask", processes=False)
    assert other.submit(abs, -3).result(SECONDS) == 3
    other.shutdown()
    assert text.getvalue() == ""
    assert handler.level == logging.NOTSET


def test_another_worker_stands_in_for_one_that_is_stopped() -> None:
    """One that is there by then: a process needs seconds to start."""
    with Executor(1, backend="dask") as ex:
        before = set(ex.run_on_workers(os.getpid))
        deaf = ex.submit(time.sleep, 1000)
        until(lambda: len(_cluster(ex).scheduler.workers) == 2)
        (spare,) = {each.pid for each in _cluster(ex).scheduler.workers.values()} - before
        assert ex.stats().workers == len(ex.workers()) == 1
        deaf.cancel(force=True)
        assert ex.submit(os.getpid).result(SECONDS) == spare
        until(lambda: len(_cluster(ex).scheduler.workers) == 2 and ex.stats().workers == 1)
        ex.set_workers(2)
        until(lambda: len(_cluster(ex).scheduler.workers) == 3 and _answering(ex) == 2)
        ex.set_workers(1)
        until(lambda: len(_cluster(ex).scheduler.workers) == 2 and ex.stats().workers == 1)


def _answering(ex: Executor) -> int:
    try:
        return len(ex.run_on_workers(os.getpid))
    except BackendError:  # Dask ends a worker that it was told to end as it came: ask again
        return 0


def _lanes(ex: Executor) -> list[Any]:
    return list(ex._backend.pool.members.values())  # type: ignore[attr-defined]


def _cluster(ex: Executor) -> Any:
    return ex._backend.engine.connection.cluster  # type: ignore[attr-defined]


def test_stop_while_it_begins_leaves_nothing(script: Callable[..., str], tests_on_path: None) -> None:
    out = script(
        """
import psutil
from cellmill import Executor
from tests.support.stops import each_step
from tests.support.waiting import until

def left():
    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            command = " ".join(child.cmdline())
        except psutil.Error:
            continue
        if "resource_tracker" not in command:
            found.append(command)
    return found

if __name__ == "__main__":
    for step in each_step(613, lambda step: lambda: Executor(1, backend="dask")):
        until(lambda: not left())
    assert step > 1000, step
    print("done")
"""
    )
    assert out == "done\n"
