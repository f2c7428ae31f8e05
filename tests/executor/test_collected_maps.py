"""A map that is given up and collected ends its run in whatever thread that happens, also one that samples memory."""

from __future__ import annotations

import itertools
import signal
import threading
from collections.abc import Callable

import pytest

from cellmill import Executor, run_registry
from cellmill.backends.scheduled import mapping
from cellmill.task import DEFAULT_OPTIONS
from tests.support import tasks
from tests.support.helpers import SECONDS
from tests.support.waiting import until


def test_a_run_ends_under_the_lock_of_samples_while_another_ends(fresh: Executor) -> None:
    maps = [fresh.map(tasks.double, range(4)) for _ in range(2)]
    runs = list(run_registry._active.values())[-2:]
    over = threading.Event()

    def collect() -> None:  # in the thread that samples
        with fresh._backend.use._lock:  # type: ignore[attr-defined]
            ends.start()
            ends.join(0.2)  # it waits for the samples, or is over
            runs[0].finish()
        over.set()

    ends = threading.Thread(target=runs[1].finish, daemon=True)
    threading.Thread(target=collect, daemon=True).start()
    assert over.wait(SECONDS)
    ends.join(SECONDS)
    assert not ends.is_alive()
    assert [list(results) for results in maps] == [[0, 2, 4, 6]] * 2


def test_one_whose_call_was_stopped_is_over(fresh: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(results: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cellmill.backends.scheduled.backend.reading", stopped)
    with pytest.raises(KeyboardInterrupt):
        fresh.map(tasks.double, itertools.count())
    until(lambda: not [each for each in mapping._open if each.stream.host is fresh._backend])


@pytest.mark.parametrize(
    "call",
    [
        lambda ex: ex.map(tasks.double, itertools.count()),
        lambda ex: ex.submit_alone(tasks.double, (1,), DEFAULT_OPTIONS, "alone"),
    ],
    ids=["map", "alone"],
)
def test_a_run_that_was_stopped_as_it_began_is_over(
    fresh: Executor, call: Callable[[Executor], object]
) -> None:
    undo = run_registry.on_run_started(lambda run: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            call(fresh)
    finally:
        undo()
    assert not run_registry.runs_of(fresh._backend)
