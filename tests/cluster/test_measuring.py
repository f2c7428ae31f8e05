"""What remote workers use: told by themselves, once for each process, and never read of a process that only has the
same number here.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Hashable, Iterator
from typing import Any

import pytest

from cellmill import Executor
from cellmill.backends.cluster.backend import ClusterBackend
from cellmill.backends.cluster.engines.protocol import Heard, Lanes, RemoteWorker
from cellmill.backends.cluster.remote import entry
from cellmill.backends.cluster.remote.measure import Answer
from cellmill.telemetry.usage import Point
from cellmill.views.sections.workers import WorkersSection
from tests.support import tasks
from tests.support.dasks import all_there, lent
from tests.support.helpers import SECONDS, Gate
from tests.support.waiting import until

MEGABYTE = 1 << 20
GIGABYTE = 1 << 30


class FarAway:
    """An engine whose remote worker says that it is a process of another machine, with the number of one of this."""

    name = "far-away"
    where = "a machine far away"
    owns = refills = keeps = True
    spares = 0

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.answer: Answer | None = None

    def open(self, lanes: Lanes, workers: int | None) -> int:
        self.lanes = lanes
        lanes.came(RemoteWorker(0, "node7, process 1", "node7", self.pid, limit=4 * GIGABYTE))
        return 1

    def send(self, key: Hashable, pack: int, data: list[Any], name: str) -> None:
        threading.Thread(target=lambda: self.lanes.replied(pack, entry.run(data)), daemon=True).start()

    def dashboard(self) -> str:
        return ""

    def values(self) -> None:
        """Values go through the kernel."""

    def watch(self) -> None: ...

    def measure(self, message: bytes, heard: Heard) -> None:
        if self.answer is not None:
            heard([0], self.answer)

    def close(self) -> None: ...


def state_of(executor: Executor) -> Any:
    """The frame of the workers."""
    return WorkersSection().frame(executor)


@pytest.fixture
def far() -> Iterator[tuple[Executor, FarAway]]:
    engine = FarAway(os.getppid())
    executor = Executor(1, backend="inline")
    own, executor._backend = executor._backend, ClusterBackend(engine, 1)  # type: ignore[arg-type]
    executor._backend.open()
    yield executor, engine
    executor.shutdown()
    own.shutdown(True, True)


def test_a_process_number_of_another_machine_means_nothing_here(far: tuple[Executor, FarAway]) -> None:
    executor, engine = far
    assert executor.submit(tasks.double, 4).result(SECONDS) == 8
    (worker,) = state_of(executor)["workers"]
    assert (worker["pid"], worker["address"]) == (os.getppid(), "node7, process 1")
    assert (worker["memory"], worker["cpu"], worker["limit"]) == (None, None, None)
    assert state_of(executor)["hosts"] is None
    engine.answer = Answer(
        (b"far", 1),
        {},
        5.0,
        300 * MEGABYTE,
        400 * MEGABYTE,
        1.0,
        "node7",
        "node7",
        48,
        9 * GIGABYTE,
        6 * GIGABYTE,
    )
    frame = until(lambda: (found := state_of(executor))["workers"][0]["memory"] and found)
    (worker,) = frame["workers"]
    assert (worker["memory"], worker["resident"]) == (300 * MEGABYTE, 400 * MEGABYTE)
    assert worker["limit"] == 4 * GIGABYTE
    assert frame["hosts"] == [{"name": "node7", "cpus": 48, "memory": 9 * GIGABYTE, "free": 6 * GIGABYTE}]


def points(executor: Executor) -> list[Point]:
    use = executor._backend.use
    assert use is not None
    return use.points(0)


@pytest.fixture(params=["of its own", "the kernel's"])
def threads_of_a_process(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """A worker of Dask with three threads, in a process of its own, or in the kernel's."""
    with contextlib.ExitStack() as stack:
        if request.param == "of its own":
            client = all_there(request.getfixturevalue("threads"))
        else:
            client = stack.enter_context(lent(n_workers=1, threads_per_worker=3, processes=False))
        with Executor(backend=client.cluster) as executor:
            yield executor
            executor._backend.profiling.switch(True)  # type: ignore[union-attr]
            until(lambda: any(client_of(executor).run(samplers).values()))
        assert list(client.run(metrics_of).values()) == [[]]  # nothing of ours is left
        until(lambda: not any(client.run(samplers).values()))


def client_of(executor: Executor) -> Any:
    return executor._backend.engine.connection.client  # type: ignore[attr-defined]


def samplers() -> int:
    """Threads of this process that sample."""
    return sum(thread.name == "cellmill-profile" for thread in threading.enumerate())


def metrics_of(dask_worker: Any) -> list[str]:
    return list(dask_worker.metrics)


def test_threads_of_one_process_have_its_memory_once(
    threads_of_a_process: Executor, gate: Gate, request: pytest.FixtureRequest
) -> None:
    executor = threads_of_a_process
    held = [executor.submit(tasks.hold, gate.folder, i) for i in range(3)]
    gate.wait_started(3)
    until(lambda: [worker["state"] for worker in state_of(executor)["workers"]] == ["busy"] * 3)
    if "kernel" in request.node.name:
        until(lambda: len(points(executor)) > 5)
        assert all(worker["memory"] is None for worker in state_of(executor)["workers"])
        assert all(point.memory != point.memory for point in points(executor))
    else:
        first, second, third = until(lambda: (ws := state_of(executor)["workers"])[0]["memory"] and ws)
        assert (second["shares"], second["memory"], second["cpu"]) == (first["index"], None, None)
        assert (third["shares"], third["memory"], third["cpu"]) == (first["index"], None, None)
        assert first["shares"] is None
        told = until(lambda: [point for point in points(executor) if point.memory == point.memory])
        assert told[-1].memory == pytest.approx(first["memory"], rel=0.1)
        assert told[-1].busy == 3
        assert executor._backend.use.peaks(None) == {}  # type: ignore[union-attr]
    gate.release(3)
    assert [future.result(SECONDS) for future in held] == [0, 1, 2]
