"""A worker that still has a large argument of one call gives the next one what was sent, whatever was written to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import SECONDS

numpy = pytest.importorskip("numpy")

LARGE = 40_000
LARGER = 1_000_000  # than the memory below


@pytest.fixture(scope="module")
def alone() -> Iterator[Executor]:
    """One worker, and files for what its few megabytes do not hold."""
    with Executor(1, memory=4 << 20) as executor:
        yield executor
        executor.run_on_workers(tasks.forget_kept)


@pytest.mark.parametrize("size", [LARGE, LARGER])
def test_the_next_task(alone: Executor, size: int) -> None:
    alone.pause()
    made = alone.submit(numpy.zeros, size)  # not over at the calls: they get it from the worker that made it
    calls = [alone.submit(tasks.keep_and_write, made, number) for number in (1, 2, 3)]
    alone.resume()
    assert [call.result(SECONDS) for call in calls] == [(0.0, True)] * 3


@pytest.mark.parametrize("size", [LARGE, LARGER])
def test_the_next_attempt(alone: Executor, size: int, tmp_path: Path) -> None:
    def attempt(array: object, file: Path) -> tuple[float, bool]:
        found = tasks.keep_and_write(array, 7)
        if not file.exists():
            file.touch()
            raise ValueError
        return found

    tried = alone.options(retries=1).submit(attempt, numpy.zeros(size), tmp_path / "tried")
    assert tried.result(SECONDS) == (0.0, True)
