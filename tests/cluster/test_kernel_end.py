"""A cluster that the kernel started ends with it, whatever its processes do when the kernel is killed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support.helpers import start_script
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
