"""Loops drawn at random leave as `%%pfor` what they leave as plain loops, or are refused with nothing done.

What they do not do: print, draw random numbers, run without end. Executed by a real pool, in one shell for all loops.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator

import pytest

from tests.equality import loop_draw
from tests.equality.hunt import failures
from tests.equality.runner import Runner

FIXED = 150  # loops of every run
SECONDS = 2.0  # of loops that no run has had before
LONG_SECONDS = 300.0
LEAST_RUN = 0.55  # of the loops: the rest may be refused


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner(of="loops")
    yield made
    made.close()


def _check(runner: Runner, first: int, seconds: float, least: int = 0) -> None:
    """Loops of seeds from ``first`` on for so long, and so many at least."""
    begun, done = time.monotonic(), itertools.count()
    refused = len(runner.refused)
    found = failures(
        runner,
        itertools.count(first),
        lambda: next(done) >= least and time.monotonic() - begun >= seconds,
    )
    for failure in found:
        assert failure is None, f"a loop leaves something else:\n{failure}"
    loops = next(done) - 1
    refused = len(runner.refused) - refused
    print(f"{loops} loops, {refused} refused")
    assert loops < 100 or loops - refused >= LEAST_RUN * loops, f"{refused} of {loops} loops were refused"


def test_loops_of_every_run(runner: Runner) -> None:
    _check(runner, 0, 0.0, FIXED)


@pytest.mark.long  # or a commit would be judged by what is drawn
def test_loops_never_drawn_before(runner: Runner) -> None:
    first = random.SystemRandom().randrange(10**4, 10**9)
    print(f"first seed {first}")
    _check(runner, first, SECONDS)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_minutes_of_loops(runner: Runner) -> None:
    first = random.SystemRandom().randrange(10**9, 10**12)
    print(f"first seed {first}")
    _check(runner, first, LONG_SECONDS)


def test_a_loop_is_drawn_alike_again() -> None:
    assert loop_draw.drawn(7) == loop_draw.drawn(7)
