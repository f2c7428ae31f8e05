"""The end of a program whose default executor has work: it is finished, unless Ctrl-C is pressed."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.contract.abilities import Abilities, each_cluster, later, own_cluster, same_on_clusters
from tests.support.helpers import Gate, start_script

SECONDS = 120.0  # a cluster takes seconds to start and to end

BEGIN = """
import os, sys, threading
from pathlib import Path
import cellmill
folder, backend, workers = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])

@cellmill.parallel
def write(i, gate=None):
    if gate is not None:
        open(gate + "/started", "w").write("x")
        os.read(os.open(gate + "/open", os.O_RDONLY), 1)
    (folder / str(i)).write_text("done")

if __name__ == "__main__":
    cellmill.set_default_executor(cellmill.Executor(workers, backend=backend))
    threading._register_atexit(lambda: print("end", flush=True))
"""


class Program:
    """One that says "end" when it has come to its end, and what it left behind."""

    def __init__(self, folder: Path, backend: str, able: Abilities, code: str, *args: str) -> None:
        self.folder = folder / "files"
        self.patience = SECONDS / 4 if able.outside else 5.0  # with a program that ends after Ctrl-C
        self.folder.mkdir()
        self.workers = 1 if able.outside else able.workers
        where = (str(self.folder), backend, str(self.workers))
        self.process = start_script(folder, BEGIN + textwrap.indent(code, "    "), *where, *args)

    def wait_end(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "end\n"

    def press_ctrl_c(self) -> None:
        """Once more where it came just before the program began to finish its work."""
        for _ in range(3):
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(self.patience)
                return

    def finish(self) -> str:
        """What it wrote to stderr."""
        with self.process:
            try:
                _, err = self.process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
        return err

    def files(self) -> int:
        return len(list(self.folder.iterdir()))


GO_ON = """
import time
from concurrent.futures import ThreadPoolExecutor

begun = threading.Event()

def go_on(first):
    begun.wait()
    while len(list(folder.iterdir())) < 108: time.sleep(0.01)
    for i in range(first, first + 4): write(i)

for i in range(8): write(i, gate=sys.argv[4])
results = write.map(range(8, 108))
threading.Thread(target=go_on, args=[108]).start()
"""
GO_ON_IN_POOLS = """
pool = ThreadPoolExecutor(2)
for i in range(2): pool.submit(go_on, 112 + 4 * i)
"""


@own_cluster
def test_what_is_submitted_and_a_map_that_is_not_read_are_finished(
    tmp_path: Path, shared: str, able: Abilities, gate: Gate
) -> None:
    """Threads go on after the last line, and when all else is done: they may call functions that are not parallel.

    Clusters need the standard thread pools themselves: calls made in a pool at the end raise there.
    """
    code = GO_ON + ("" if able.outside else GO_ON_IN_POOLS) + "threading._register_atexit(begun.set)\n"
    if not able.concurrent:
        gate.release(8)
    program = Program(tmp_path, shared, able, code, gate.folder)
    program.wait_end()
    gate.release(8)
    err = program.finish()
    assert (program.process.returncode, err) == (0, "")
    assert sorted(int(file.name) for file in program.folder.iterdir()) == list(
        range(112 if able.outside else 120)
    )


@each_cluster
@later
def test_ctrl_c_ends_it(tmp_path: Path, backend: str, shared: str, able: Abilities, gate: Gate) -> None:
    code = "for i in range(8): write(i, gate=sys.argv[4])"
    where = shared if backend == "ray" else backend  # on Dask the workers are ended, which others may use
    program = Program(tmp_path, where, able, code, gate.folder)
    program.wait_end()
    gate.wait_started(program.workers)
    program.press_ctrl_c()
    err = program.finish()
    assert program.process.returncode == -signal.SIGINT, err
    assert "cellmill: interrupted; 8 tasks were not finished" in err
    assert program.files() == 0


@same_on_clusters
@later
def test_a_program_that_ctrl_c_ended_finishes_nothing(
    tmp_path: Path, backend: str, able: Abilities, gate: Gate
) -> None:
    code = "for i in range(8): last = write(i, gate=sys.argv[4])\nprint('waits', flush=True)\nlast.result()"
    program = Program(tmp_path, backend, able, code, gate.folder)
    gate.wait_started(program.workers)
    assert program.process.stdout is not None
    assert program.process.stdout.readline() == "waits\n"
    program.process.send_signal(signal.SIGINT)
    err = program.finish()
    assert program.process.returncode == -signal.SIGINT, err
    assert "KeyboardInterrupt" in err
    assert program.files() == 0


@same_on_clusters
@later
def test_a_map_that_was_begun_does_not_hold_up_the_end(tmp_path: Path, shared: str, able: Abilities) -> None:
    """The rest cannot be read any more, whether a variable still refers to it or not."""
    code = "next(write.map(range(20_000)))\neach = write.map(range(20_000, 40_000))\nnext(each)\n"
    program = Program(tmp_path, shared, able, code)
    err = program.finish()
    assert (program.process.returncode, err) == (0, "")
    of_kept = sum(int(file.name) >= 20_000 for file in program.folder.iterdir())
    assert 0 < of_kept < 20_000
    assert 0 < program.files() - of_kept < 20_000


OPEN_FILE = """
out = open(folder / "open", "w")
out.write("all of it")
with cellmill.Executor(workers, backend=backend) as ex:
    assert list(ex.map(lambda x: x, range(3))) == [0, 1, 2]
    assert ex.submit(lambda: 2).result() == 2
    assert ex.submit(lambda: 1 / 0).exception() is not None
"""


@each_cluster
@pytest.mark.parametrize("backend", ["local", "threads", "inline", "dask"], indirect=True, scope="session")
def test_what_the_globals_have_ends_as_without_it(tmp_path: Path, shared: str, able: Abilities) -> None:
    """A file that the program has not closed is written to its end. On Ray as on Dask."""
    program = Program(tmp_path, shared, able, OPEN_FILE)
    assert program.finish() == ""
    assert (program.folder / "open").read_text() == "all of it"
