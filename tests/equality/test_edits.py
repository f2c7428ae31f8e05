"""Notebooks drawn at random see with Cellmill what they see without it, while the modules of their user's that they use
are edited, loaded again, moved and deleted.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator

import pytest

from tests.equality.hunt import failures
from tests.equality.runner import Runner

FIXED = 8  # notebooks of every run
LONG_SECONDS = 300.0


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner(of="edits")
    yield made
    made.close()


def _check(runner: Runner, first: int, seconds: float, least: int = 0) -> int:
    """Notebooks of seeds from ``first`` on for so long, and so many at least; how many they were."""
    begun, done = time.monotonic(), itertools.count()
    over = lambda: next(done) >= least and time.monotonic() - begun >= seconds  # noqa: E731
    for failure in failures(runner, itertools.count(first), over):
        assert failure is None, f"a notebook sees something else:\n{failure}"
    return next(done) - 1


def test_notebooks_of_every_run(runner: Runner) -> None:
    _check(runner, 0, 0.0, FIXED)
    assert len(runner.refused) < FIXED / 2


@pytest.mark.long
def test_five_minutes_of_notebooks(runner: Runner) -> None:
    first = random.SystemRandom().randrange(10**9, 10**12)
    print(f"first seed {first}")
    assert _check(runner, first, LONG_SECONDS) > 0
