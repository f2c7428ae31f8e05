"""Many tasks of all sizes and fates in one pool; at the end there is as much as there was at the beginning."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
from collections import deque
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

import cellmill
from cellmill import Executor, Future
from tests.core import tasks
from tests.core.test_memory_limits import figures

KB, MB = 1 << 10, 1 << 20
OUTSTANDING = 500

# What may differ between two moments at which nothing runs.
RESIDENT_SLACK = 24 * MB  # of a process: allocators keep pages, and arenas their warm blocks
ARENA_SLACK = MB


def children(process: int) -> set[int]:
    """All processes below this one."""
    found = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found |= {child} | children(child)
    return found


def resident(process: int) -> int:
    """Private memory of a process in bytes. Shared memory is counted by the arena."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * KB


def holdings(pool: Executor) -> dict[str, Any]:
    """What this process and its workers have, nothing being under way."""
    gc.collect()
    found = figures(pool)
    below = children(os.getpid())
    return {
        "processes": below,
        "threads": threading.active_count(),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "descriptors below": sum(len(os.listdir(f"/proc/{p}/fd")) for p in below),
        "futures": sum(isinstance(o, Future) for o in gc.get_objects()),
        "resident": {p: resident(p) for p in {os.getpid(), *below}},
        "arena": found.arena_used,
        "file": found.file_used,
    }


class Soak:
    """Submits by a plan that a seed decides and checks each outcome."""

    def __init__(self, pool: Executor, seed: int) -> None:
        self.pool = pool
        self.random = random.Random(seed)
        self.outstanding: deque[tuple[Future, Any]] = deque()
        self.tasks = 0

    def run(self, count: int) -> None:
        kinds = [self.nothing, self.bytes_in, self.bytes_out, self.failing, self.dependent, self.cancelled]
        while self.tasks < count:
            if self.random.random() < 0.001:
                self.map()
            kind = self.random.choices(kinds, [60, 15, 10, 5, 8, 2])[0]
            self.outstanding.append(kind())
            self.tasks += 1
            while len(self.outstanding) > OUTSTANDING:
                self.check()
        while self.outstanding:
            self.check()

    def check(self) -> None:
        future, expected = self.outstanding.popleft()
        if isinstance(expected, type):
            with pytest.raises(expected):
                future.result(60)
        elif isinstance(expected, tuple):  # cancelled in time, or not
            assert future.cancelled() or future.result(60) == expected[0]
        else:
            assert future.result(60) == expected

    def size(self) -> int:
        """100 bytes to a megabyte, small ones mostly."""
        return int(100 * 10 ** (self.random.random() ** 3 * 4))

    def nothing(self) -> tuple[Future, Any]:
        return self.pool.submit(tasks.same, None), None

    def bytes_in(self) -> tuple[Future, Any]:
        size = self.size()
        return self.pool.submit(len, bytes(size)), size

    def bytes_out(self) -> tuple[Future, Any]:
        size = self.size()
        return self.pool.submit(bytes, size), bytes(size)

    def failing(self) -> tuple[Future, Any]:
        return self.pool.submit(tasks.fail), LookupError

    def dependent(self) -> tuple[Future, Any]:
        before, expected = self.outstanding[-1] if self.outstanding else self.nothing()
        if isinstance(expected, tuple):
            before, expected = self.nothing()
        if isinstance(expected, type):
            return self.pool.submit(tasks.same, [before]), cellmill.DependencyError
        return self.pool.submit(tasks.same, [before]), [expected]

    def cancelled(self) -> tuple[Future, Any]:
        size = self.size()
        future = self.pool.submit(len, bytes(size))
        return future, CancelledError if future.cancel() else size

    def map(self) -> None:
        count = self.random.randrange(1, 2000)
        self.tasks += count
        items: list[Any] = list(range(count))
        items[count // 2] = bytes(self.size())
        results = self.pool.map(tasks.same, items, ordered=self.random.random() < 0.5)
        if self.random.random() < 0.2:
            next(results)
            results.close()  # type: ignore[attr-defined]
        else:
            assert len(list(results)) == count


def soak(count: int, warm_up: int) -> None:
    """``warm_up`` tasks first, in which tables, caches, arenas and the journey ring come to their size."""
    with Executor(2, memory=64 * MB) as pool:
        Soak(pool, 1).run(warm_up)
        before = holdings(pool)
        Soak(pool, 2).run(count)
        after = holdings(pool)
        for name in ("processes", "threads", "descriptors", "descriptors below", "futures", "file"):
            assert after[name] == before[name], name
        assert after["arena"] <= before["arena"] + ARENA_SLACK
        for process, size in before["resident"].items():
            assert after["resident"][process] <= size + RESIDENT_SLACK, f"process {process}"
        stats = pool.stats()
        assert stats.waiting == stats.queued == stats.running == 0
        assert stats.done == stats.submitted


def soak_alone(count: int, warm_up: int, limit: float) -> None:
    """`soak` in a process of its own: the memory of this one depends on the tests before."""
    code = f"from tests.core.test_soak import soak; soak({count}, {warm_up})"
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=limit
    )
    assert done.returncode == 0, done.stderr


def test_fifty_thousand_tasks() -> None:
    soak_alone(50_000, 20_000, 100)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_million_tasks() -> None:
    soak_alone(1_000_000, 300_000, 1100)
