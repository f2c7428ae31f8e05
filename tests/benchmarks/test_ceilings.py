"""The ceilings do the work they claim, and leave no process behind."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PROGRAM = """\
import json
from benchmarks import bare_copy, bare_ring, ceiling
from cellmill.bench import machine
rate, count = {call}
print(json.dumps([rate, count, machine.family()[1:]]))
"""


def _measured(call: str) -> tuple[float, int]:
    """Rate and count in a fresh process, whose children must all be gone."""
    program = PROGRAM.format(call=call)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    rate, count, children = json.loads(done.stdout)
    assert children == []
    assert rate > 0
    return rate, count


@pytest.mark.parametrize("workers", [1, 2])
def test_bare_ring_answers_every_call(workers: int) -> None:
    _, count = _measured(f"bare_ring.rate({workers}, 0.01, 20_000)")
    assert 5000 <= count <= 20_000


def test_bare_ring_with_more_than_the_rings_hold() -> None:
    _, count = _measured("bare_ring.rate(1, 60.0, 30_000)")
    assert count == 30_000


@pytest.mark.parametrize("workers", [1, 2])
def test_bare_copies_are_checked(workers: int) -> None:
    pytest.importorskip("numpy")
    _, count = _measured(f"bare_copy.rate({workers}, 80_000, 0.01, 200)")
    assert 16 * workers <= count <= 200


def test_the_scheduler_alone_answers_every_task() -> None:
    _, count = _measured("ceiling.rate(2, 0.01, 5000)")
    assert count == 5000
