"""Workers killed at random moments, from outside: every task ends once, in success or named, and nothing leaks."""

from __future__ import annotations

import json

import pytest

from tests.faults.alone import alone

RUN = """
import dataclasses, gc, json
from benchmarks.kills import kill_at_random
gc.collect()
gc.freeze()  # the many collections of a census pass over what is loaded
print(json.dumps(dataclasses.asdict(kill_at_random({tasks}, {kills}, seed={seed}))))
"""


def check(tasks: int, kills: int, limit: float, seed: int = 0) -> None:
    found = json.loads(alone(RUN.format(tasks=tasks, kills=kills, seed=seed), limit))
    assert not found["wrong"]
    assert not found["leaks"]
    assert (found["tasks"], found["kills"]) == (tasks, kills)
    assert found["succeeded"] + found["lost"] + found["not_run"] == tasks


def test_five_thousand_tasks_and_ten_kills() -> None:
    check(5000, 10, 100)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_a_million_tasks_and_a_thousand_kills() -> None:
    check(1_000_000, 1000, 1100)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, 11))
def test_other_courses(seed: int) -> None:
    check(50_000, 100, 200, seed)
