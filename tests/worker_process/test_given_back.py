"""Memory without use goes back to the system: the kernel's and the workers', whether they run something or not."""

from __future__ import annotations

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
