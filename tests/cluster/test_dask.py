"""Dask: clusters of our own and of others, what is left of them, and what becomes of tasks when they go."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import CancelledError, Future
from functools import partial
from typing import Any

import pytest

import cellmill.dask
from cellmill import BackendError, Executor, WorkerLostError
from cellmill.backends.cluster import pack
from cellmill.backends.cluster.engines import dask, dask_buffers
from cellmill.backends.cluster.remote import entry
from tests.support import tasks
from tests.support.dasks import all_there, local_cluster
from tests.support.helpers import SECONDS, Gate

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")


@pytest.fixture
def client(processes: Any) -> Any:
    return all_there(processes)


def _comes(seen: Any) -> None:
    deadline = time.monotonic() + SECONDS
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _key() -> str:
    from distributed.worker import thread_state

    return str(thread_state.key)


def test_dasks_dashboard_groups_tasks_by_their_functions(client: Any) -> None:
    key_split = pytest.importorskip("dask.utils").key_split
    with Executor(backend=client) as ex:
        assert (
            key_split(ex.submit(_key).result(SECONDS)) == "key"
        )  # as for a function of this name in Dask itself
        assert {key_split(key) for key in ex.map(lambda _: _key(), range(10))} == {"lambda"}
        assert key_split(ex.submit(partial(_key)).result(SECONDS)) in ("cellmill", "key")


def test_large_arguments_are_sent_without_a_warning(client: Any) -> None:
    import dask

    name = "distributed.admin.large-graph-warning-threshold"
    before = dask.config.get(name)
    with warnings.catch_warnings(record=True) as said, Executor(backend=client) as ex:
        warnings.simplefilter("always")
        sent = [ex.submit(len, bytes(12_000_000 + i)) for i in range(4)]
        assert [f.result(SECONDS) for f in sent] == [12_000_000 + i for i in range(4)]
    assert not [each for each in said if "large graph" in str(each.message)]
    assert dask.config.get(name) == before


def _runners() -> int:
    return len(entry._runners)


def _streams() -> str:
    return type(sys.stdout).__name__


@pytest.mark.parametrize("way", ["client", "cluster", "address"])
def test_a_borrowed_cluster_is_left_as_it_was_found(client: Any, way: str) -> None:
    before = (client.run(_streams), client.run(os.getcwd), client.nthreads())
    target = {"client": client, "cluster": client.cluster, "address": client.cluster.scheduler_address}[way]
    with Executor(backend=target) as ex:
        assert (ex.backend, ex.max_workers) == ("dask", 2)
        assert list(ex.map(tasks.double, range(100))) == [2 * i for i in range(100)]
        _comes(lambda: all(client.run(_runners).values()))
        with pytest.raises(cellmill.CellmillError):
            ex._backend.engine.resize(3)  # type: ignore[attr-defined]
    _comes(lambda: not any(client.run(_runners).values()))
    assert (client.run(_streams), client.run(os.getcwd), client.nthreads()) == before
    assert client.submit(tasks.double, 4).result(SECONDS) == 8
    _comes(lambda: not [key for key in client.who_has() if str(key).startswith("cellmill")])


def test_log_records_of_a_worker_are_not_those_of_the_task_that_it_runs(client: Any, gate: Gate) -> None:
    """It logs each thing that it is asked, on the thread of its event loop."""
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("distributed.worker")
    logger.addHandler(handler)
    try:
        with Executor(backend=client) as ex:
            held = [ex.submit(tasks.hold, gate.folder, i) for i in range(2)]
            gate.wait_started(2)
            assert len(client.run(os.getpid)) == 2
            gate.release(2)
            assert [future.result(SECONDS) for future in held] == [0, 1]
    finally:
        logger.removeHandler(handler)
    assert records == []


def test_fewer_workers_than_a_cluster_has(client: Any) -> None:
    with Executor(1, backend=client) as ex:
        assert len(set(ex.run_on_workers(os.getpid))) == 1


def test_the_death_of_a_borrowed_worker(client: Any, gate: Gate) -> None:
    """Killed while one task runs there and others wait: that one is lost."""
    with Executor(backend=client) as ex:
        held = [ex.submit(tasks.hold, gate.folder, i) for i in range(2)]
        gate.wait_started(2)
        rest = [ex.submit(tasks.double, i) for i in range(50)]
        os.kill(next(w.pid for w in ex.workers() if w.task == held[0]._ticket), signal.SIGKILL)
        with pytest.raises(WorkerLostError, match="left the cluster"):
            held[0].result(SECONDS)
        gate.release(1)
        assert held[1].result(SECONDS) == 1
        assert [f.result(SECONDS) for f in rest] == [2 * i for i in range(50)]
        _comes(lambda: ex.stats().workers == 2)


_inside: list[int] = []


def _others(i: int) -> int:
    """How many of these run in this process beside this one."""
    _inside.append(i)
    time.sleep(0.0005)
    others = len(_inside) - 1
    _inside.remove(i)
    return others


def test_a_worker_of_several_threads(threads: Any) -> None:
    """Each of them is a worker, which runs one task at a time."""
    array = pytest.importorskip("dask.array")
    client = all_there(threads)
    with Executor(1, backend=client) as ex:
        futures = [ex.submit(_others, i) for i in range(200)]
        assert {f.result(SECONDS) for f in futures} == {0}
    with Executor(backend=client) as ex:
        assert ex.max_workers == 3
        with cellmill.dask.scheduler(
            ex
        ):  # while one of them imports the package, none calls what it has so far
            assert (array.arange(100, chunks=10) ** 2).sum().compute() == 328350
        futures = [ex.submit(_others, i) for i in range(200)]
        assert {f.result(SECONDS) for f in futures} <= {0, 1, 2}
        assert len(ex.run_on_workers(os.getpid)) == 3
        with pytest.raises(WorkerLostError, match="So is what else ran in its process"):
            ex.submit(tasks.die, "exit").result(SECONDS)


class Ear:
    """What an engine tells."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def __getattr__(self, verb: str) -> Any:
        return lambda what, *_: self.told.append((verb, what))


def test_a_reply_that_goes_with_its_worker(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask has it, and loses it while it is fetched: the remote worker is lost, which is no failure of its tasks."""
    monkeypatch.setattr(dask, "LEAVING_SECONDS", SECONDS)
    engine, ear = dask.DaskEngine(client), Ear()
    engine.open(ear, None)  # type: ignore[arg-type]
    try:
        remote = next(what for verb, what in ear.told if verb == "came")

        class Reply:
            status = "finished"

            def release(self) -> None:
                pass

        def fetch(reply: Any, address: str, seconds: float) -> Any:
            os.kill(client.run(os.getpid)[address], signal.SIGKILL)
            raise CancelledError

        monkeypatch.setattr(engine._direct, "result", fetch)
        engine._futures[1] = (Reply(), remote.key[0])
        engine._take(1, Reply())
        _comes(lambda: ("gone", remote.key) in ear.told)
        assert "failed" not in {verb for verb, _ in ear.told}
        _comes(lambda: len(client.nthreads()) == 2)
    finally:
        engine.close()


def test_a_word_to_a_worker_that_is_gone(client: Any) -> None:
    """Dask's scheduler tries for long to reach it: who says it, as Stop and `cancel` do, does not wait for that."""
    from dask import config as dask_config

    engine, ear = dask.DaskEngine(client), Ear()
    engine.open(ear, None)  # type: ignore[arg-type]
    try:
        remote = next(what for verb, what in ear.told if verb == "came")
        address = remote.key[0]
        engine._answered.add(address)
        message = pickle.dumps((pack.WITHDRAW, b"", 0, []))
        assert engine.ask(remote.key, message) == {}
        with dask_config.set({"distributed.comm.timeouts.connect": f"{10 * SECONDS}s"}):
            os.kill(client.run(os.getpid)[address], signal.SIGKILL)
            _comes(lambda: address not in client.scheduler_info(n_workers=-1)["workers"])
            told: Future[Any] = Future()

            def ask() -> None:
                try:
                    told.set_result(engine.ask(remote.key, message))
                except BaseException as error:
                    told.set_exception(error)

            threading.Thread(target=ask, daemon=True).start()
            with pytest.raises(BackendError, match="left the cluster"):
                told.result(SECONDS)
        _comes(lambda: len(client.nthreads()) == 2)
    finally:
        engine.close()


def test_stop_in_the_middle_of_a_pack(client: Any, gate: Gate) -> None:
    with Executor(1, backend=client) as ex:
        list(ex.map(tasks.double, range(2000)))  # so that many tasks go at once
        held = ex.submit(tasks.hold, gate.folder, 1)
        rest = [ex.submit(tasks.double, i) for i in range(1000)]
        gate.wait_started(1)
        started = time.monotonic()
        assert ex.stop() <= 1000
        assert held.cancel(force=True)
        assert all(f.cancelled() or f.result(SECONDS) is not None for f in [held, *rest] if f is not held)
        with pytest.raises(CancelledError):
            held.result(SECONDS)
        assert time.monotonic() - started < SECONDS
        assert ex.submit(tasks.double, 4).result(SECONDS) == 8


def test_an_address_without_a_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(threading.enumerate())
    monkeypatch.setattr("cellmill.backends.cluster.engines.dask_connection.CONNECT_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    with pytest.raises(
        BackendError, match=rf"no Dask scheduler answers at tcp://127.0.0.1:{port}.*dask scheduler"
    ):
        Executor(backend=f"tcp://127.0.0.1:{port}")
    assert not [t for t in set(threading.enumerate()) - before if t.name.startswith("cellmill-dask")]


def test_a_scheduler_that_goes_away(caplog: pytest.LogCaptureFixture) -> None:
    program = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    scheduler = subprocess.Popen(
        [*program, "--no-dashboard", "--dashboard-address", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    )
    try:
        assert scheduler.stderr is not None
        line = next(line for line in scheduler.stderr if "Scheduler at:" in line)
        threading.Thread(target=scheduler.stderr.read, daemon=True).start()
        address = line.split()[-1]
        ex = Executor(2, backend=address)
        try:
            waiting = ex.submit(tasks.double, 1)  # of a cluster without workers
            scheduler.kill()
            with pytest.raises(
                WorkerLostError, match=f"the Dask cluster at {address} does not answer any more"
            ):
                waiting.result(SECONDS)
            with pytest.raises(WorkerLostError):
                ex.submit(tasks.double, 1)
        finally:
            ex.shutdown()
    finally:
        scheduler.kill()
        scheduler.wait()
    # what the executor says is enough
    assert not [each for each in caplog.records if each.name == "distributed.client" and each.levelno >= 40]
    with Executor(1, backend="inline") as other:
        assert other.submit(tasks.double, 4).result(SECONDS) == 8


def test_workers_that_go() -> None:
    with (
        local_cluster(n_workers=2, threads_per_worker=1, processes=False) as shrinking,
        Executor(backend=shrinking) as ex,
    ):
        assert len(ex.run_on_workers(os.getpid)) == 2
        shrinking.scale(1)
        _comes(lambda: ex.stats().workers == 1)
        begun = time.monotonic()
        assert len(ex.run_on_workers(os.getpid)) == 1
        assert time.monotonic() - begun < SECONDS  # it does not wait for the other one


def test_memory_of_a_foreign_cluster(client: Any) -> None:
    """Only its owner knows how much there is."""
    with Executor(1, backend=client) as ex:
        reserving = ex.options(memory="1MB")
        with pytest.raises(cellmill.UsageError, match="does not tell how much it has"):
            reserving.submit(tasks.double, 1)
        ex.set_resources({"memory": "1GB"})
        assert reserving.submit(tasks.double, 1).result(SECONDS) == 2


def test_resources_of_its_workers_are_its_own() -> None:
    """What places Dask's tasks, and what those of ours hold, are two things. Its profiler may stop the process on
    CPython 3.11.
    """
    from dask import config

    name = "distributed.worker.profile.enabled"
    with (
        config.set({name: True}),
        Executor(1, backend="dask", worker_resources={"GPU": 3}, resources={"gpu": 1}) as ex,
    ):
        assert ex.options(resources={"gpu": 1}).submit(_resources).result(SECONDS) == {"GPU": 3}
        assert ex.submit(config.get, name).result(SECONDS) is (sys.version_info >= (3, 12))
        assert config.get(name) is True
    with pytest.raises(TypeError, match=r"no option 'worker_resource'.*'worker_resources'"):
        Executor(1, backend="dask", worker_resource={"GPU": 3})


def _resources() -> Any:
    return distributed.get_worker().state.total_resources


def test_a_seeded_task_draws_beside_dask(client: Any) -> None:
    """Dask samples what it measures and compresses, in other threads of the worker."""

    def drawn(lists: int) -> tuple[float, float]:
        import random

        from dask.sizeof import sizeof
        from distributed.protocol.compression import randint

        first = random.random()
        for _ in range(lists):
            sizeof(list(range(50)))
            randint(1, 9)
        return first, random.random()

    with Executor(backend=client) as ex:
        found = []
        for lists in (0, 3):
            cellmill.seed(5)
            found.append(ex.submit(drawn, lists).result(SECONDS))
        cellmill.seed(None)
    assert found[0] == found[1]


def test_options_that_a_cluster_does_not_have(client: Any) -> None:
    with pytest.raises(TypeError, match=r"no option 'memory_limt'\. Did you mean 'memory_limit'"):
        Executor(1, backend="dask", memory_limt="1GB")
    with pytest.raises(TypeError, match="for a cluster that is there"):
        Executor(1, backend=client, memory_limit="1GB")


def _filled(array: Any) -> tuple[int, Any]:
    array += 1  # it is the task's own
    return int(array[0]), array


@pytest.mark.parametrize("there", [True, False])
def test_large_arguments_go_as_arrays_where_numpy_is(
    client: Any, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """Dask copies these less often; where its scheduler or a worker lacks numpy they go as bytes."""
    numpy = pytest.importorskip("numpy")
    if not there:
        monkeypatch.setattr(dask_buffers, "_HAS_NUMPY", "False")
    sent, submit = list[type](), client.submit

    def noting(function: Any, text: str, names: dict[str, Any], **how: Any) -> Any:
        sent.extend(type(part) for part in names["data"] if len(part) > 500_000)
        return submit(function, text, names, **how)

    monkeypatch.setattr(client, "submit", noting)
    with Executor(1, backend=client) as ex:
        buffers: Any = ex._backend.engine._buffers  # type: ignore[attr-defined]
        arrays = [numpy.full(1_000_000, i, numpy.uint8) for i in range(10)]
        for turn in range(2):
            found = [ex.submit(_filled, array) for array in arrays]
            assert [future.result(SECONDS)[0] for future in found] == list(range(1, 11))
            assert [int(future.result()[1][-1]) for future in found] == list(range(1, 11))
            if turn == 0:
                _comes(lambda: any(buffers._takes.values()) or not there)
                sent.clear()
        assert [int(array[0]) for array in arrays] == list(range(10))
    assert set(sent) == {numpy.ndarray if there else bytes}
