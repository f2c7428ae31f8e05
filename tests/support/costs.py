"""What each test costs: ``pytest --costs FILE`` writes processor seconds, seconds and the test's name, a line a test.

Processor time is that of this process and of all that descend from it, those that have ended included; seconds differ
with what runs beside. The first test of a run has the cost of loading all tests, the first of a module that of its
fixtures.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def processor_seconds(pid: int) -> float:
    """Of a process, its descendants and those of them that have ended; 0 where it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return 0.0
    spent = (
        sum(int(fields[at]) for at in (11, 12, 13, 14)) / _TICKS_PER_S
    )  # utime, stime, those of waited children
    return spent + sum(processor_seconds(child) for child in _children(pid, threads))


def _children(pid: int, threads: list[str]) -> Iterator[int]:
    for thread in threads:
        with contextlib.suppress(OSError):
            yield from map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())


class Costs:
    """Writes a line after each test."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spent = 0.0
        self._at = time.monotonic()
        path.write_text("")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        spent, at = processor_seconds(os.getpid()), time.monotonic()
        with self._path.open("a") as file:
            file.write(f"{spent - self._spent:.2f}\t{at - self._at:.2f}\t{nodeid}\n")
        self._spent, self._at = spent, at
