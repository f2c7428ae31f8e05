"""The profile, on all backends with workers: what tasks spend their time in, also of those that ran before it began."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from tests.contract.abilities import later
from tests.support.helpers import SECONDS
from tests.support.waiting import until


def inner(count: int) -> int:
    return sum(n * n for n in range(count))


def work(gate: str) -> int:
    found = 0
    while not Path(gate).exists():
        # Long: where threads take turns, a look at them comes when one lets go of the interpreter, as exists() does.
        found += inner(1_500_000)
    return found


def pause(gate: str) -> None:
    while not Path(gate).exists():
        time.sleep(0.002)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Path]:
    """A file that ends the tasks; it is there at the end in any case."""
    yield tmp_path / "gate"
    (tmp_path / "gate").touch()


@later
def test_a_profile_has_the_functions_that_tasks_call(ex: Executor, gate: Path) -> None:
    tasks = [ex.submit(work, str(gate)), ex.submit(pause, str(gate))]
    until(lambda: ex.stats().running == 2)
    with cellmill.profile(ex) as profile:
        until(lambda: {"work", "pause", "inner"} <= {bar.name for bar in profile.bars()})
        until(lambda: profile.seconds > 1)
    assert not profile.on
    bars = profile.bars()
    (of_work,) = [bar for bar in bars if bar.name == "work"]
    (of_inner,) = [bar for bar in bars if bar.name == "inner"]
    assert (bars[of_inner.parent].name, of_work.depth) == ("work", 0)
    assert 0.5 * of_work.total < of_inner.total <= of_work.total
    settled = profile.seconds
    gate.touch()
    assert [task.result(SECONDS) for task in tasks][1] is None
    assert profile.seconds == settled  # nothing is sampled any more
