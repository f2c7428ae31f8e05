"""Dask workers that others use, too: what they keep and run there is not harmed, and the workers stay as they are."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, TaskTimeoutError, WorkerLostError
from cellmill.backends.cluster import clocks
from cellmill.backends.cluster.remote import entry
from tests.support import tasks
from tests.support.dasks import all_there, lent, local_cluster
from tests.support.helpers import SECONDS, Gate, prepend_to_path
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")

StartWorker = Callable[..., Any]

WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "cellmill":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Without())
"""
OTHER = """
import platform

import cloudpickle

cloudpickle.__version__ = "1.6.0"
platform.python_version_tuple = lambda: ("3", "2", "1")
"""


@pytest.fixture
def empty() -> Iterator[Any]:
    """A client of a cluster that Cellmill did not start, without workers."""
    with lent(n_workers=0, host="127.0.0.1") as client:
        yield client


@pytest.fixture
def worker(empty: Any, tmp_path: Path) -> Iterator[StartWorker]:
    """Start a process that is a worker of the cluster; its address. ``site``: code that runs when it starts."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *options: str, site: str = "") -> str:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(site)
        program = [sys.executable, "-m", "distributed.cli.dask_worker", empty.scheduler.address]
        program += ["--name", name, "--no-dashboard", "--local-directory", str(folder), *options]
        if not {"--nthreads"} & set(options):
            program += ["--nthreads", "1"]
        path = os.pathsep.join([str(folder), os.getcwd(), os.environ.get("PYTHONPATH", "")])
        with open(folder / "log", "wb") as log:
            started.append(
                subprocess.Popen(
                    program,
                    env={**os.environ, "PYTHONPATH": path},
                    cwd=folder,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            )
        empty.wait_for_workers(len(started), timeout=2 * SECONDS)
        workers = empty.scheduler_info(n_workers=-1)["workers"]
        return next(str(address) for address, told in workers.items() if told["name"] == name)

    yield start
    for process in started:
        process.terminate()
    for process in started:
        try:
            process.wait(SECONDS)
        finally:
            process.kill()


@pytest.fixture
def client(threads: Any) -> Any:
    return all_there(threads)


@pytest.fixture
def address(client: Any) -> str:
    """Of a worker of the cluster: a process of three threads, with a nanny."""
    (found,) = client.scheduler_info(n_workers=-1)["workers"]
    return str(found)


@contextlib.contextmanager
def heard() -> Iterator[list[str]]:
    """The texts of all warnings, once it is left."""
    texts: list[str] = []
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        yield texts
    texts += [str(each.message) for each in said]


def _greeted() -> int:
    return len(entry._runners)


def test_workers_that_cannot_run_packs_are_left_alone(
    empty: Any, worker: StartWorker, tmp_path: Path
) -> None:
    """One without Cellmill and one of other versions: they keep what others have there, and are named."""
    without = worker("without", "--no-nanny", "--nthreads", "2", site=WITHOUT)
    other = worker("other", "--no-nanny", site=OTHER)
    pids = {str(address): pid for address, pid in empty.run(os.getpid).items()}
    data = empty.scatter([1, 2], workers=[without]) + empty.scatter([3, 4], workers=[other])
    with (
        heard(),
        Executor(backend=empty) as unusable,
        pytest.raises(WorkerLostError, match=r"import Cellmill|same versions"),
    ):
        unusable.submit(os.getpid).result(SECONDS)
    fit = worker("fit", "--no-nanny")
    with heard() as said, Executor(backend=empty, initializer=os.getpid) as ex:
        assert set(ex.map(tasks.pid, range(100))) == {empty.run(os.getpid, workers=[fit])[fit]}
        until(lambda: ex.stats().workers == 1)
    found = [text for text in said if "leaves the worker" in text]
    assert len(found) == 2  # one for each process, however many threads it has
    texts = {address: next(text for text in found if address in text) for address in (without, other)}
    assert "pip install cellmill" in texts[without]
    assert "Python 3.2 (here: " in texts[other]
    assert "cloudpickle 1.6 (here: " in texts[other]
    log = (tmp_path / "without" / "log").read_text()
    assert "Compute Failed" in log  # of the greeting, as of any task that fails
    assert "Exception while handling" not in log
    assert empty.run(_greeted, workers=[other]) == {other: 0}  # no settings went there
    assert [future.result(SECONDS) for future in data] == [1, 2, 3, 4]
    assert {**pids, fit: pids.get(fit)}.keys() == empty.scheduler_info(n_workers=-1)["workers"].keys()
    assert {a: p for a, p in empty.run(os.getpid).items() if a in pids} == pids


@pytest.mark.parametrize("how", ["not allowed", "others are there", "on another machine"])
def test_a_task_that_does_not_end_harms_nobody(
    client: Any, address: str, gate: Gate, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process that others use, its thread is left alone; what runs in other threads there runs on."""
    allowed = how == "others are there"
    if how == "on another machine":  # where it is not seen which task runs
        monkeypatch.setattr(clocks, "boot", lambda: "this machine, for the kernel alone")
    pid = client.run(os.getpid)[address]
    theirs, ours = Gate(_folder(tmp_path, "theirs")), Gate(_folder(tmp_path, "ours"))
    data = client.scatter([1, 2])
    neighbour = client.submit(_counted, theirs.folder)
    theirs.wait_started()
    with heard() as said, Executor(backend=client, end_workers=allowed) as ex:
        list(ex.map(tasks.double, range(2000)))  # so that many tasks go at once
        innocent = ex.submit(_counted, ours.folder)
        ours.wait_started()
        held = ex.options(timeout=0.2).submit(tasks.hold, gate.folder)
        rest = [ex.submit(tasks.count_call, str(_folder(tmp_path, str(i)))) for i in range(200)]
        gate.wait_started()
        with pytest.raises(TaskTimeoutError):
            held.result(SECONDS)
        ours.release()
        theirs.release()
        assert innocent.result(SECONDS) == 1
        assert [future.result(SECONDS) for future in rest] == [1] * 200
        assert neighbour.result(SECONDS) == 1
        gate.release()
        until(lambda: ex.stats().workers == 3)
    why = "others have work" if allowed else "end_workers=True"
    assert any(why in text and "used again when it is through" in text for text in said)
    assert [future.result(SECONDS) for future in data] == [1, 2]
    assert client.run(os.getpid)[address] == pid
    assert [len(list(tmp_path.glob(f"{which}/call-*"))) for which in ("theirs", "ours")] == [1, 1]


def test_a_worker_that_is_asked_twice_is_heard_once(gate: Gate) -> None:
    """Two time limits of one pack may both have it given up: what had ended comes with each answer."""
    with lent(n_workers=1, threads_per_worker=1) as client, Executor(1, backend=client) as ex:
        assert list(ex.map(abs, range(500), chunksize=1)) == list(
            range(500)
        )  # so short that those below go together
        ex.pause()
        ended = [ex.submit(abs, -i) for i in range(5)]
        held = ex.submit(tasks.hold, gate.folder)
        ex.resume()
        gate.wait_started()
        (lane,) = ex._backend.pool.members.values()  # type: ignore[attr-defined]
        asking = [threading.Thread(target=lane._ask_all) for _ in range(2)]
        for each in asking:
            each.start()
        for each in asking:
            each.join(SECONDS)
        assert [future.result(SECONDS) for future in ended] == list(range(5))
        assert lane.lost is None
        lane.lose("it was given up")
        gate.release()
        assert isinstance(held.exception(SECONDS), WorkerLostError)


def test_a_process_may_be_ended_where_nobody_else_is(
    client: Any, address: str, gate: Gate, tmp_path: Path
) -> None:
    ours = Gate(_folder(tmp_path, "ours"))
    pid = client.run(os.getpid)[address]
    gc.collect()  # what tests before have there
    until(lambda: not any(client.has_what().values()))
    with Executor(backend=client, end_workers=True) as ex:
        beside = ex.submit(_counted, ours.folder)
        ours.wait_started()
        held = ex.options(timeout=0.2).submit(tasks.hold, gate.folder)
        gate.wait_started()
        with pytest.raises(TaskTimeoutError):
            held.result(SECONDS)
        assert beside.result(SECONDS) == 2  # it ran again by itself
        assert pid not in ex.run_on_workers(os.getpid)


def _folder(parent: Path, name: str) -> Path:
    made = parent / name
    made.mkdir()
    return made


def _counted(folder: str) -> int:
    """Held once; the number of this call."""
    number = tasks.count_call(folder)
    if number == 1:
        tasks.hold(folder)
    return number


@pytest.mark.parametrize("way", ["of one process", "of the kernel"])
def test_each_thread_has_its_own_value(threads: Any, way: str) -> None:
    """Of threads that share a process, and with one lane that any of them may serve."""
    with contextlib.ExitStack() as stack:
        cluster = all_there(threads).cluster
        if way == "of the kernel":
            cluster = stack.enter_context(local_cluster(n_workers=3, threads_per_worker=1, processes=False))
        for lanes in (1, 3):
            with Executor(lanes, backend=cluster) as ex:
                threads_of = [ex.submit(_use, i).result(SECONDS) for i in range(30)]
                threads_of += [future.result(SECONDS) for future in [ex.submit(_use, i) for i in range(150)]]
                assert len(set(threads_of)) <= 3


@cellmill.per_worker
def _database() -> Any:
    made = sqlite3.connect(":memory:")
    made.execute("CREATE TABLE found (i)")
    return made, threading.get_ident()


def _use(i: int) -> int:
    """Use what only one thread can use."""
    thread: int
    made, thread = _database()
    made.execute("INSERT INTO found VALUES (?)", (i,))
    time.sleep(0.001)  # for others to come in between
    assert thread == threading.get_ident()
    return thread


def _state(dask_worker: Any = None) -> dict[str, Any]:
    """What a process is like, in values that can be compared."""
    named = {"": logging.root, **logging.root.manager.loggerDict}
    loggers = {name: found for name, found in named.items() if isinstance(found, logging.Logger)}
    return {
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "path": list(sys.path),
        "filters": [tuple(map(str, each)) for each in warnings.filters],
        "levels": {name: found.level for name, found in loggers.items() if found.level},
        "handlers": {name: [str(type(h)) for h in found.handlers] for name, found in loggers.items()},
        "disabled": logging.root.manager.disable,
        "recursion": sys.getrecursionlimit(),
        "finders": [str(each) for each in sys.meta_path],
        "streams": (str(type(sys.stdout)), str(type(sys.stderr))),
    }


def test_a_worker_is_left_as_it_was_found(
    client: Any, address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """By several lanes of two executors, each of which sees what the others have changed."""
    client.run(_load)
    before = client.run(_state)[address]
    limit = sys.getrecursionlimit()
    with warnings.catch_warnings():
        try:
            with Executor(backend=client) as first:
                assert len(first.run_on_workers(os.getpid)) == 3
                monkeypatch.chdir(tmp_path)
                monkeypatch.setenv("HOME", "/nowhere")
                monkeypatch.setenv("CELLMILL_TEST_OF_NEIGHBOURS", "1")
                prepend_to_path(monkeypatch, tmp_path)
                warnings.simplefilter("error", BytesWarning)
                logging.getLogger("cellmill.test").setLevel(logging.DEBUG)
                sys.setrecursionlimit(limit + 500)
                seen = first.run_on_workers(_state)
                assert {each["directory"] for each in seen} == {str(tmp_path)}
                assert {each["environment"]["HOME"] for each in seen} == {"/nowhere"}
                first.restart()  # other lanes, which come to what those have changed
                with Executor(backend=client) as second:
                    list(second.map(tasks.double, range(300)))
                    list(first.map(tasks.double, range(300)))
                    first.shutdown()
                    assert second.submit(os.getcwd).result(SECONDS) == str(tmp_path)
        finally:
            sys.setrecursionlimit(limit)
            logging.getLogger("cellmill.test").setLevel(logging.NOTSET)
    after: dict[str, Any] = client.run(_state)[address]
    assert {name: after[name] for name in after if name != "handlers"} == {
        name: before[name] for name in before if name != "handlers"
    }
    assert {name: found for name, found in after["handlers"].items() if found} == {
        name: found for name, found in before["handlers"].items() if found
    }


def _load() -> None:
    """Import what tasks will: a package may add filters of warnings."""
    import cellmill.backends.cluster.remote.entry  # noqa: F401


def test_settings_of_a_workers_own_hold_in_tasks(client: Any, address: str, tmp_path: Path) -> None:
    """Those that travel to no process of others: RDKit's, the folder of tempfile, the time limit of sockets."""
    pytest.importorskip("rdkit.Chem")
    client.run(_set, str(tmp_path), 7.5, False)
    try:
        with Executor(backend=client) as ex:
            assert ex.run_on_workers(_set_here) == [(str(tmp_path), 7.5, False)] * 3
            assert set(ex.map(_set_here, range(20))) == {(str(tmp_path), 7.5, False)}
        assert client.run(_set_here)[address] == (str(tmp_path), 7.5, False)
    finally:
        client.run(_set, None, None, True)


def _set(folder: str | None, seconds: float | None, legacy: bool) -> None:
    from rdkit import Chem

    tempfile.tempdir = folder
    socket.setdefaulttimeout(seconds)
    Chem.SetUseLegacyStereoPerception(legacy)


def _set_here(_: Any = None) -> tuple[str | None, float | None, bool]:
    from rdkit import Chem

    return tempfile.gettempdir(), socket.getdefaulttimeout(), Chem.GetUseLegacyStereoPerception()


def test_a_cluster_of_the_kernels_own_process_follows_the_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What changes there while an executor is open is the user's own doing, and stays."""
    monkeypatch.setenv("CELLMILL_TEST_OF_NEIGHBOURS", "0")
    with local_cluster(n_workers=1, processes=False) as cluster:
        with Executor(backend=cluster) as ex:
            assert ex.submit(tasks.double, 1).result(SECONDS) == 2
            monkeypatch.chdir(tmp_path)
            monkeypatch.setenv("CELLMILL_TEST_OF_NEIGHBOURS", "1")
            assert ex.submit(os.getcwd).result(SECONDS) == str(tmp_path)
        assert os.getcwd() == str(tmp_path)
        assert os.environ["CELLMILL_TEST_OF_NEIGHBOURS"] == "1"
