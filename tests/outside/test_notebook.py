"""A real kernel that is watched, by `%cellmill serve`, also while a cell computes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import cellmill
from cellmill import cli
from tests.support.notebook import Notebook
from tests.support.waiting import until

HOLD = """
%load_ext cellmill
%cellmill workers 2
"""
WORK = """
%%parallel
def hold(x):
    import time
    time.sleep(600)
"""


def test_a_kernel_is_watched_and_its_run_cancelled_from_outside(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = Notebook()  # its environment names the directory of sockets
    try:
        kernel.run(HOLD).ok()
        kernel.run(WORK).ok()
        said = kernel.run("%cellmill serve").ok().stdout
        assert "%cellmill serve off ends it" in said
        pid = int(kernel.value("__import__('os').getpid()"))
        assert pid != os.getpid()
        cell = kernel.start("list(hold.map(range(20), chunksize=1))")
        with cellmill.attach(pid) as watched:
            until(lambda: watched.stats()["running"] == 2)
            assert cli.main(["top", "--once", str(pid)]) == 0
            shown = capsys.readouterr().out
            assert f"process {pid}" in shown
            assert "2 running, 18 queued" in shown
            (run,) = watched.runs()
            assert (run["name"], run["total"]) == ("hold", 20)
            assert run["cell"].startswith("In[")
            assert watched.cancel(run["id"]) > 0
        assert "CancelledError" in kernel.finish(cell).traceback
        kernel.run("%cellmill serve off").ok()
        assert cli.main(["top", "--once", str(pid)]) == 1
        assert f"process {pid} cannot be watched" in capsys.readouterr().err
    finally:
        kernel.close()
