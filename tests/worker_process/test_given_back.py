"""Memory without use goes back to the system: the kernel's and the workers', whether they run something or not."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import Gate, comes_down

numpy = pytest.importorskip("numpy")

MB = 1 << 20
KEPT = 64 * MB


def arenas(pids: list[int]) -> dict[int, int]:
    """Bytes of the pages that payloads have, by the inode of their file."""
    found = {}
    for pid in pids:
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if "memfd:cellmill-arena" in os.readlink(fd):
                    about = fd.stat()
                    found[about.st_ino] = about.st_blocks * 512
            except FileNotFoundError:
                continue
    return found


def test_all_but_what_is_kept_for_the_next_ones(gate: Gate) -> None:
    others = arenas([os.getpid()]).keys()  # of pools that other tests use
    with Executor(2) as executor:
        pids = [os.getpid(), *executor.run_on_workers(os.getpid)]

        def in_memory() -> int:
            return sum(size for inode, size in arenas(pids).items() if inode not in others)

        results = [executor.submit(numpy.ones, 40 * MB // 8) for _ in range(4)]
        arrays = [f.result() for f in results]
        sums = [executor.submit(numpy.sum, array) for array in arrays]
        assert sum(f.result() for f in sums) == 4 * 40 * MB // 8
        assert in_memory() > 200 * MB
        busy = executor.submit(tasks.hold, gate.folder)
        gate.wait_started()
        kept = arrays[3]
        del results, arrays, sums
        assert comes_down(in_memory, KEPT + kept.nbytes)
        assert (kept == 1).all()
        gate.release()
        busy.result()
        assert numpy.array_equal(executor.submit(tasks.double, kept).result(), 2 * kept)


def copied_by_a_collection() -> int:
    """Bytes of pages that this process has of its own since all garbage is collected, and had not before."""

    def own() -> int:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Private_Dirty"))

    before = own()
    gc.collect()
    return own() - before


def test_a_collection_copies_nothing_of_what_was_imported_before_the_fork() -> None:
    with Executor(1, preload=["numpy"]) as executor:
        executor.submit(tasks.double, 1).result()
        assert executor.submit(copied_by_a_collection).result() < MB
