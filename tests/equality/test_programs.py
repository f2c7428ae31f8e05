"""Programs drawn at random see with Cellmill what the plain interpreter shows them.

What they do not do: tasks that write what they captured, random numbers, identity across arguments and results.
A failing program is printed shrunk, with its seed; `hunt` looks for more.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator

import pytest

from tests.equality.hunt import failures
from tests.equality.runner import Runner

FIXED = 40  # programs of every run
SECONDS = {"local": 2.0}  # of programs that no run has had before; of other backends half of one
LONG_SECONDS = {"local": 600.0}


@pytest.fixture(scope="module", params=["local", "threads", "inline"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    made = Runner(str(request.param))
    yield made
    made.close()


def _check(runner: Runner, first: int, seconds: float, least: int = 0) -> int:
    """Programs of seeds from ``first`` on for so long, and so many at least; how many they were."""
    begun, done = time.monotonic(), itertools.count()
    found = failures(
        runner,
        itertools.count(first),
        lambda: next(done) >= least and time.monotonic() - begun >= seconds,
        (),
        immediate=runner.backend != "local",
    )
    for failure in found:
        assert failure is None, f"a program of {runner.backend} sees something else:\n{failure}"
    return next(done) - 1


def test_programs_of_every_run(runner: Runner) -> None:
    _check(runner, 0, 0.0, FIXED)


@pytest.mark.long  # or a commit would be judged by what is drawn
def test_programs_never_drawn_before(runner: Runner) -> None:
    first = random.SystemRandom().randrange(10**3, 10**9)
    print(f"first seed {first}")
    _check(runner, first, SECONDS.get(runner.backend, 0.5))


@pytest.mark.long
def test_ten_minutes_of_programs(runner: Runner) -> None:
    first = random.SystemRandom().randrange(10**9, 10**12)
    print(f"first seed {first}")
    assert _check(runner, first, LONG_SECONDS.get(runner.backend, 60.0)) > 0
