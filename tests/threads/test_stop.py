"""Stop, time limits, and threads that do not hear."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from concurrent.futures import CancelledError

import pytest

from cellmill import Executor, TaskTimeoutError
from tests.threads.helpers import SOON, until


def _spin(began: threading.Event) -> None:
    began.set()
    while True:
        pass


def test_a_running_task_is_interrupted_and_no_other(pool: Executor) -> None:
    for _ in range(5):
        began = threading.Event()
        task = pool.submit(_spin, began)
        assert began.wait(SOON)
        assert task.cancel(force=True)
        with pytest.raises(CancelledError):
            task.result(SOON)
        assert list(pool.map(abs, range(-50, 0))) == list(range(50, 0, -1))
    assert {worker.restarts for worker in pool.workers()} == {0}  # each heard


def test_what_is_told_ends_no_thread_where_warnings_are_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """The first task that does not hear is told of; the second one is ended all the same."""
    through = threading.Event()
    with warnings.catch_warnings(), Executor(2, backend="threads") as pool:
        warnings.simplefilter("error")
        late = [pool.options(timeout=0.05).submit(through.wait) for _ in range(2)]
        try:
            for task in late:
                with pytest.raises(TaskTimeoutError):
                    task.result(SOON)
        finally:
            through.set()
    assert capsys.readouterr().err.startswith("cellmill: a task did not hear that it is to end.")


def test_a_late_interrupt_hits_no_task() -> None:
    """Tasks are stopped at the moment at which they end; those after them in the same thread feel nothing."""
    hit: list[BaseException] = []

    def after() -> None:
        try:
            for _ in range(200):
                pass
        except BaseException as error:
            hit.append(error)
            raise

    with Executor(1, backend="threads") as pool:
        for n in range(100):
            task = pool.submit(sum, range(200 * n))
            others = [pool.submit(after) for _ in range(3)]
            until(lambda task=task: task.done() or task.running())
            task.cancel(force=True)
            for other in others:
                assert other.result(SOON) is None
    assert not hit


def test_a_finally_has_its_time(pool: Executor) -> None:
    began, cleaned = threading.Event(), threading.Event()

    def task() -> None:
        try:
            _spin(began)
        finally:
            time.sleep(0.05)
            cleaned.set()

    future = pool.submit(task)
    assert began.wait(SOON)
    future.cancel(force=True)
    with pytest.raises(CancelledError):
        future.result(SOON)
    assert cleaned.is_set()


def test_what_does_not_hear_is_given_up_once_told() -> None:
    gate = threading.Event()
    release = threading.Event()

    def deaf() -> str:
        gate.set()
        while not release.is_set():
            with contextlib.suppress(KeyboardInterrupt):
                release.wait(SOON)  # in C, which a thread cannot be called out of
        return "late"

    with warnings.catch_warnings(record=True) as caught, Executor(1, backend="threads") as pool:
        warnings.simplefilter("always")
        for how in ("cancel", "timeout"):
            gate.clear()
            future = pool.options(timeout=0.1 if how == "timeout" else None).submit(deaf)
            assert gate.wait(SOON)
            if how == "cancel":
                assert future.cancel(force=True)
            with pytest.raises(CancelledError if how == "cancel" else TaskTimeoutError):
                future.result(SOON)
            assert pool.submit(abs, -1).result(SOON) == 1
        assert pool.workers()[0].restarts == 2
        release.set()
        until(lambda: not [t for t in threading.enumerate() if t.name == "cellmill-worker-0"][1:])
    assert len([w for w in caught if "cannot be killed" in str(w.message)]) == 1


def test_a_time_limit_names_the_call(pool: Executor) -> None:
    with pytest.raises(
        TaskTimeoutError,
        match=r"_spin\(.*\), task #\d+, ran past its time limit of 0\.05 s and was told to stop",
    ):
        pool.options(timeout=0.05).submit(_spin, threading.Event()).result(SOON)


def test_stopping_a_map_keeps_what_is_done(pool: Executor) -> None:
    began = threading.Event()

    def element(n: int) -> int:
        if n == 7:
            _spin(began)
        return n

    futures = [pool.submit(element, n) for n in range(12)]
    assert began.wait(SOON)
    until(lambda: pool.stats().done == 11)
    assert pool._backend.stop_cell() == 1  # type: ignore[attr-defined]
    outcomes = [future.exception(SOON) if n != 7 else None for n, future in enumerate(futures)]
    assert outcomes == [None] * 12
    with pytest.raises(CancelledError):
        futures[7].result(SOON)
