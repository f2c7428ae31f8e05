"""Dask workers that others use, too: what they keep and run there is not harmed, and the workers stay as they are."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cellmill import Executor, WorkerLostError
from cellmill.backends.cluster.remote import entry
from tests.support import tasks
from tests.support.helpers import SECONDS

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
def client() -> Iterator[Any]:
    """A cluster that Cellmill did not start, without workers."""
    with (
        distributed.LocalCluster(
            n_workers=0,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            silence_logs=50,
        ) as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def worker(client: Any, tmp_path: Path) -> Iterator[StartWorker]:
    """Start a process that is a worker of the cluster; its address. ``site``: code that runs when it starts."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *options: str, site: str = "") -> str:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "sitecustomize.py").write_text(site)
        program = [sys.executable, "-m", "distributed.cli.dask_worker", client.scheduler.address]
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
        client.wait_for_workers(len(started), timeout=2 * SECONDS)
        workers = client.scheduler_info(n_workers=-1)["workers"]
        return next(str(address) for address, told in workers.items() if told["name"] == name)

    yield start
    for process in started:
        process.terminate()
    for process in started:
        try:
            process.wait(SECONDS)
        finally:
            process.kill()


def _greeted() -> int:
    return len(entry._runners)


def test_workers_that_cannot_run_packs_are_left_alone(
    client: Any, worker: StartWorker, tmp_path: Path
) -> None:
    """One without Cellmill and one of other versions: they keep what others have there, and are named."""
    without = worker("without", "--no-nanny", "--nthreads", "2", site=WITHOUT)
    other = worker("other", "--no-nanny", site=OTHER)
    pids = {str(address): pid for address, pid in client.run(os.getpid).items()}
    data = client.scatter([1, 2], workers=[without]) + client.scatter([3, 4], workers=[other])
    with Executor(backend=client) as unusable:
        with pytest.raises(WorkerLostError, match=r"import Cellmill|same versions"):
            unusable.submit(os.getpid).result(SECONDS)
    fit = worker("fit", "--no-nanny")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with Executor(backend=client, initializer=os.mkdir, initargs=(str(tmp_path / "settled"),)) as ex:
            assert set(ex.map(tasks.pid, range(100))) == {client.run(os.getpid, workers=[fit])[fit]}
            assert ex.stats().workers == 1
    found = sorted(str(each.message) for each in said if "leaves the worker" in str(each.message))
    assert len(found) == 2  # one for each process, however many threads it has
    texts = {address: next(text for text in found if address in text) for address in (without, other)}
    assert "pip install cellmill" in texts[without]
    assert "Python 3.2 (here: " in texts[other]
    assert "cloudpickle 1.6 (here: " in texts[other]
    assert client.run(_greeted, workers=[other]) == {other: 0}  # no settings went there
    assert [future.result(SECONDS) for future in data] == [1, 2, 3, 4]
    assert {**pids, fit: pids.get(fit)}.keys() == client.scheduler_info(n_workers=-1)["workers"].keys()
    assert {a: p for a, p in client.run(os.getpid).items() if a in pids} == pids
