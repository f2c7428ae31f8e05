"""What users of a cluster read: why a task waits there, how a worker ended, what an option is called."""

from __future__ import annotations

import re
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, TaskTimeoutError, WorkerLostError
from cellmill.backends.cluster import pool
from cellmill.magics.control import restarted
from cellmill.magics.status import Status
from tests.support import tasks
from tests.support.dasks import all_there
from tests.support.helpers import SECONDS, start_script
from tests.support.waiting import until

distributed = pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")


def test_why_speaks_of_a_cluster_without_workers_and_a_limit_of_what_is_certain() -> None:
    """A thread of a borrowed process may not hear that it is to stop."""
    with (
        distributed.LocalCluster(
            n_workers=0, dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}
        ) as empty,
        Executor(backend=empty) as ex,
    ):
        waiting = ex.submit(tasks.double, 4)
        assert ex.stats().workers == 0
        told = str(ex._backend.observer.tasks.why(waiting._ticket))  # type: ignore[union-attr]
        assert told.startswith(f"The Dask cluster at {empty.scheduler_address} has no worker: ")
        assert "%cellmill" not in told
        empty.scale(1)
        assert waiting.result(SECONDS) == 8
        with pytest.raises(
            TaskTimeoutError, match="was told to stop; what it still returns is dropped"
        ) as limit:
            ex.options(timeout=0.2).submit(tasks.spin, 60).result(SECONDS)
        assert "all that it had started" not in str(limit.value)


def test_status_and_restart_say_whose_the_workers_are(threads: Any) -> None:
    lent = all_there(threads).cluster
    with Executor(backend=lent) as ex:
        cellmill.set_default_executor(ex)
        processes = set(ex.run_on_workers(tasks.pid))
        shown = repr(Status.now())
        assert f"cluster   the Dask cluster at {lent.scheduler_address}\n" in shown
        (address,) = {str(worker.worker_address) for worker in lent.workers.values()}
        assert f"  {address} thread 0" in shown
        assert f"{address} thread 1</td>" in Status.now()._repr_html_()
        assert " threads" in shown
        used = r"idle +\d+ +0 +3 +[\d.]+ MB of [\d.]+ [GT]B"
        row = rf"{used}  {address} thread 0\n.* idle +\d+ +0 +3 +with \d+  {address} thread 1"
        until(lambda: re.search(row, repr(Status.now())))
        ex.restart()
        assert restarted(ex).startswith(
            f"set 3 workers of the Dask cluster at {lent.scheduler_address} up anew: "
        )
        assert set(ex.run_on_workers(tasks.pid)) == processes
        cellmill.set_default_executor(None)


@pytest.mark.parametrize("backend", ["dask", "ray", "local", "tcp://127.0.0.1:9"])
def test_another_librarys_name_for_the_number_of_workers(backend: str) -> None:
    with pytest.raises(TypeError, match="Did you mean 'max_workers'"):
        Executor(backend=backend, n_workers=2)


UNGUARDED = """
import cellmill


def start():
    return cellmill.Executor(2, backend="dask")


with start() as executor:
    print(list(executor.map(abs, range(4))))
"""


def test_a_script_without_a_guard_is_told_first(tmp_path: Path) -> None:
    with start_script(tmp_path, UNGUARDED) as process:
        _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    lines = said.splitlines()
    assert len(lines) < 15
    assert lines[-1].startswith(
        "cellmill.errors.UsageError: this script starts a Dask cluster outside of `if __name__"
    )
    assert "script.py:9" in lines[-1]


def _eat() -> None:
    held = []
    while True:
        held.append(bytearray(b"1" * 10_000_000))
        time.sleep(0.01)


def test_a_worker_that_its_nanny_ends_for_memory() -> None:
    with Executor(1, backend="dask", memory_limit="400MB") as ex:
        ex.submit(tasks.double, 1).result(SECONDS)
        with pytest.raises(
            WorkerLostError, match=r"used \d+ MB of memory, and its nanny ended it.*raise memory_limit"
        ):
            ex.submit(_eat).result(SECONDS)
        assert ex.submit(tasks.double, 2).result(SECONDS) == 4


def test_a_script_whose_tasks_wait_for_workers_says_so_and_ends_at_ctrl_c(tmp_path: Path) -> None:
    code = """
        import sys
        from cellmill import Executor
        from cellmill.backends.cluster import pool
        pool.WAITING_SECONDS = 0.5
        ex = Executor(backend=sys.argv[1])
        ex.submit(abs, -1)
    """
    with (
        distributed.LocalCluster(
            n_workers=0, dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False}
        ) as empty,
        start_script(tmp_path, code, empty.scheduler_address) as script,
    ):
        assert script.stderr is not None
        said = next(line for line in script.stderr if "waits for workers" in line)
        assert "has none now" in said
        script.send_signal(signal.SIGINT)
        rest = script.communicate(timeout=SECONDS)[1]
        assert "cellmill: interrupted; 1 task was not finished" in rest
        assert script.returncode in (-signal.SIGINT, 130)


def test_it_is_said_too_when_the_last_worker_has_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WAITING_SECONDS", 0.5)
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as lent,
        Executor(backend=lent) as ex,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        assert ex.submit(tasks.double, 4).result(SECONDS) == 8
        lent.scale(0)
        until(lambda: not ex.workers())
        waiting = ex.submit(tasks.double, 5)
        until(lambda: not ex._backend.pool._waiter)  # type: ignore[union-attr]
        lent.scale(1)
        assert waiting.result(SECONDS) == 10
    assert any(
        "waits for workers" in str(each.message) and "has none now" in str(each.message) for each in said
    )
