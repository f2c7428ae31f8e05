"""A cluster that the kernel started ends with it, whatever its processes do when the kernel is killed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

import cellmill
from tests.support.dasks import found_there, lent, miss_callers_after
from tests.support.helpers import SECONDS, start_script
from tests.support.rays import left_of, processes
from tests.support.waiting import until

SOON = 15.0  # seconds: on a busy machine each process takes its time to be scheduled


def test_a_worker_of_dask_that_keeps_the_gil(tmp_path: Path) -> None:
    """With the files of large values."""
    pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
    code = """
        import ctypes, os, subprocess, sys, time, cellmill

        def deaf(told):
            child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
            print(child.pid, file=open(told, "w"), flush=True)
            ctypes.PyDLL(None).sleep(1000)  # PyDLL keeps the GIL: no thread of Python's runs meanwhile

        if __name__ == "__main__":
            from cellmill.backends.cluster.values import folders
            ex = cellmill.Executor(1, backend="dask")
            value = ex.submit(bytes, 10_000_000)
            print(ex.submit(os.getpid).result(60), *folders._guards, flush=True)
            ex.submit(deaf, sys.argv[1])
            time.sleep(1000)
    """
    told = tmp_path / "told"
    with start_script(tmp_path, code, str(told)) as kernel:
        assert kernel.stdout is not None
        worker, *folders = kernel.stdout.readline().split()
        assert all(os.path.isdir(folder) for folder in folders)
        assert any(os.listdir(folder) for folder in folders if "cellmill-values" in folder)
        child = until(lambda: told.exists() and told.read_text())
        everything = processes(kernel.pid)
        assert {int(child), int(worker)} <= everything.keys()
        kernel.kill()
        assert not left_of(set(everything), SOON)
        until(lambda: not any(map(os.path.exists, folders)))


def test_a_bridge_to_ray_that_keeps_the_gil(tmp_path: Path) -> None:
    """It reads the options of `ray.init`, and does not come back from that. Its folder goes with it."""
    pytest.importorskip("ray", reason="pip install 'cellmill[ray]'")
    code = """
        import os, sys, tempfile, cellmill

        class Option:
            def __reduce__(self):
                told = os.environ["TOLD"]
                return eval, (f"print('up', file=open({told!r}, 'w'), flush=True) or "
                    "__import__('ctypes').PyDLL(None).sleep(1000)",)

        tempfile.tempdir = sys.argv[1]
        cellmill.Executor(1, backend="ray", init={"x": Option()})
    """
    told = tmp_path / "told"
    with (
        tempfile.TemporaryDirectory(prefix="cm-") as folder,  # short: Ray's sockets have long names
        start_script(tmp_path, code, folder, env=os.environ | {"TOLD": str(told)}) as kernel,
    ):
        until(lambda: told.exists() and told.read_text())
        everything = processes(kernel.pid)
        assert any("raybridge" in line for line in everything.values())
        assert os.listdir(folder)
        kernel.kill()
        assert not left_of(set(everything), SOON)
        until(lambda: not os.listdir(folder))


def test_a_borrowed_cluster_of_dask_is_left_as_it_was(tmp_path: Path) -> None:
    """What runs there ends, what waits does not begin, and nothing remains in the process, which others use."""
    pytest.importorskip("distributed", reason="pip install 'cellmill[dask]'")
    code = """
        import logging, os, sys, time, warnings, cellmill

        class Held:
            def __init__(self):
                self.gone = os.path.abspath("gone")
            def __del__(self):
                open(self.gone, "w")

        @cellmill.per_worker
        def held():
            return Held()

        def runs():
            held()
            try:
                open("begun", "w")
                end = time.monotonic() + 1000
                while time.monotonic() < end:
                    time.sleep(0.001)
            finally:
                open("ended", "w")

        def waits(i):
            open(f"waited-{i}", "w")

        os.chdir(os.path.dirname(__file__))
        with cellmill.Executor(backend=sys.argv[1]) as ex:
            os.environ["KILLED"] = "1"
            warnings.filterwarnings("ignore", "of the killed")
            logging.getLogger("distributed.killed").setLevel(logging.DEBUG)
            running = ex.submit(runs)
            waiting = [ex.submit(waits, i) for i in range(20)]
            time.sleep(1000)
    """
    with lent(n_workers=1, threads_per_worker=1) as client:
        client.run(miss_callers_after, 0.2)
        before = client.run(found_there)
        with start_script(tmp_path, code, client.scheduler.address) as kernel:
            until((tmp_path / "begun").exists)
            assert client.run(found_there) != before
            kernel.kill()
        until((tmp_path / "ended").exists)
        until(lambda: client.run(found_there) == before)
        until((tmp_path / "gone").exists)
        assert not list(tmp_path.glob("waited-*"))
        with cellmill.Executor(backend=client) as ex:  # and another one's is
            assert ex.submit(os.environ.get, "KILLED").result(SECONDS) is None
            assert client.run(found_there) != before
            # one that is there stays, however long nothing comes
            until(lambda: all(client.run(_asked_twice).values()))
            assert ex.submit(abs, -1).result(SECONDS) == 1
        until(lambda: client.run(found_there) == before)


def _asked_twice(dask_worker: Any = None) -> Any:
    """Whether this worker has asked for the caller since the first call of this."""
    (look,) = [
        called.callback for name, called in dask_worker.periodic_callbacks.items() if "cellmill" in name
    ]
    asked = getattr(look, "asked", 0)
    if not asked:
        there = look._there

        async def counted() -> bool:
            look.asked += 1
            return await there()

        look.asked, look._there = 1, counted
    return asked > 2
