"""Stop while workers are started or replaced leaves as many as were asked for, started by one thread at a time."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from types import FrameType

import pytest

from cellmill import Executor
from tests.support.helpers import SECONDS
from tests.support.stops import stopped

STEPS = range(1, 80, 6)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """An alarm is Stop, whatever the process was started with."""

    def stop(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in (signal.SIGALRM, signal.SIGINT)]
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in zip((signal.SIGALRM, signal.SIGINT), before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("backend", ["local", "threads"])
def test_a_restart_leaves_workers(backend: str, interrupts: None) -> None:
    """Some of them had been told to end, and none was started in their place: what followed hung."""
    with Executor(1, backend=backend) as ex:
        for step in STEPS:
            stopped(ex.restart, step)
            assert ex.submit(abs, -step).result(SECONDS) == step
        for step in STEPS:
            stopped(lambda step=step: ex.set_workers(1 + step % 2), step)  # type: ignore[misc]
            assert ex.submit(abs, -step).result(SECONDS) == step
            assert ex.max_workers == ex._backend.pool._workers.wanted  # type: ignore[attr-defined]


def test_one_thread_starts_workers(fresh: Executor, interrupts: None) -> None:
    """Stop in the wait for that thread had another one begin beside it, and each gave its worker's descriptors away."""
    fresh.run_on_workers(int)
    with fresh._backend.pool._lock:  # type: ignore[attr-defined]  # no worker is started meanwhile
        fresh.set_workers(3)
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            fresh.run_on_workers(int)
        fresh.set_workers(4)
        starters = [each for each in threading.enumerate() if each.name == "cellmill-starter"]
        assert len(starters) == 1
    assert len(fresh.run_on_workers(int)) == 4
