"""Stop in a sweep: its points are those of the function as it is now, each is heard of, none is taken for failed."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Future as BaseFuture
from typing import Any

import pytest

import cellmill
from cellmill import Executor
from cellmill.futures import Future
from tests.support import tasks
from tests.support.helpers import SECONDS
from tests.support.stops import each_step


def on(executor: Executor, function: Any, **values: Any) -> Any:
    return cellmill.sweep(cellmill.parallel(executor=executor)(function), **values)


@pytest.mark.filterwarnings("ignore:.*has changed")
def test_results_of_before_a_change_are_shown_no_more(pool: Executor) -> None:
    factor = 0

    def scaled(x: int) -> int:
        return x * factor

    made = on(pool, scaled, x=[1])

    def changed(step: int) -> Callable[[], object]:
        nonlocal factor
        made.run()
        factor = step
        now = made._state()
        return lambda: made._forget_stale(now)

    for step in each_step(1, changed):
        assert made.rows() == [], step


def test_a_point_that_was_begun_is_heard_of(pool: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    made = on(pool, tasks.double, x=[1, 2])
    add = Future.add_done_callback

    def interrupted(self: Any, fn: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        add(self, fn)

    with monkeypatch.context() as patch:
        patch.setattr(Future, "add_done_callback", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.run()
    assert made.run(wait=False).wait(SECONDS).counts() == (0, 0, 0, 2, 0)


def test_it_is_no_outcome_of_a_point(pool: Executor) -> None:
    class Fetched(BaseFuture[int]):
        interrupted = False

        def exception(self, timeout: float | None = None) -> BaseException | None:
            if not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            return None

    made, future = on(pool, tasks.double, x=[1]), Fetched()
    future.set_result(2)
    made._futures[(0,)] = future
    with pytest.raises(KeyboardInterrupt):
        made.counts()
    assert made.counts() == (0, 0, 0, 1, 0)
