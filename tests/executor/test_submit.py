"""`submit`, the end of an executor, initializers and bad input."""

from __future__ import annotations

import concurrent.futures
import os
import threading
from pathlib import Path

import pytest

import cellmill
from cellmill import Executor
from tests.support import tasks
from tests.support.helpers import Gate, ends, prepend_to_path
from tests.support.waiting import until


def test_is_an_executor(ex: Executor) -> None:
    assert isinstance(ex, concurrent.futures.Executor)
    future = ex.submit(tasks.double, 21)
    assert isinstance(future, concurrent.futures.Future)
    assert future.result() == 42
    assert future.done()
    assert future.exception() is None


def test_positions_and_keywords(ex: Executor) -> None:
    assert ex.submit(tasks.give).result() == ((), {})
    assert ex.submit(tasks.give, 1, "b", None, fn=3, self=4, x=[5]).result() == (
        (1, "b", None),
        {"fn": 3, "self": 4, "x": [5]},
    )


@pytest.mark.parametrize(
    "argument", [[1, 2], {"a": 1}, (), [[], {}], (1,), "text", None, ([1], {}), [1, [2], {}]]
)
def test_single_arguments_of_any_shape(ex: Executor, argument: object) -> None:
    assert ex.submit(tasks.same, argument).result() == argument


def test_runs_elsewhere(pool: Executor) -> None:
    assert pool.submit(tasks.pid).result() != os.getpid()


def test_runs_here(inline: Executor) -> None:
    assert inline.submit(tasks.pid).result() == os.getpid()


def test_own_exceptions(ex: Executor) -> None:
    future = ex.submit(tasks.fail, "no such thing")
    with pytest.raises(LookupError, match="no such thing"):
        future.result()
    assert isinstance(future.exception(), LookupError)


def test_exit_is_an_exception_of_the_task(pool: Executor) -> None:
    import sys

    assert isinstance(pool.submit(sys.exit, 3).exception(), SystemExit)
    assert pool.submit(tasks.double, 1).result() == 2


def test_result_times_out(pool: Executor, gate: Gate) -> None:
    future = pool.submit(tasks.hold, gate.folder, 5)
    with pytest.raises(TimeoutError):
        future.result(timeout=0.01)
    with pytest.raises(TimeoutError):
        future.exception(timeout=0)
    gate.release()
    assert future.result(timeout=30) == 5


def test_waits_for_more_tasks_than_workers(pool: Executor) -> None:
    futures = [pool.submit(tasks.double, i) for i in range(5000)]
    assert [future.result() for future in futures] == [2 * i for i in range(5000)]


def test_many_threads_submit(pool: Executor) -> None:
    sums: list[int] = []

    def use() -> None:
        sums.append(sum(f.result() for f in [pool.submit(tasks.double, i) for i in range(300)]))

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sums == [sum(2 * i for i in range(300))] * 6


def test_context_manager_finishes_the_work() -> None:
    with Executor(2) as executor:
        pids = executor.run_on_workers(os.getpid)
        futures = [executor.submit(tasks.double, i) for i in range(200)]
    assert all(future.done() for future in futures)
    assert executor.closed
    assert all(ends(p) for p in pids)


@pytest.mark.parametrize("backend", ["local", "inline"])
def test_no_submit_after_shutdown(backend: str) -> None:
    executor = Executor(1, backend)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(tasks.double, 1)
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.map(tasks.double, [1])
    executor.shutdown()


def test_shutdown_without_waiting(gate: Gate) -> None:
    executor = Executor(1)
    first = executor.submit(tasks.hold, gate.folder, 1)
    second = executor.submit(tasks.double, 2)
    gate.wait_started()
    executor.shutdown(wait=False)
    assert not first.done()
    gate.release()
    assert (first.result(30), second.result(30)) == (1, 4)


def test_shutdown_cancels_what_has_not_begun(gate: Gate) -> None:
    executor = Executor(1)
    running = executor.submit(tasks.hold, gate.folder, 1)
    gate.wait_started()
    queued = [executor.submit(tasks.double, i) for i in range(50)]
    executor.shutdown(wait=False, cancel_futures=True)
    gate.release()
    assert running.result(30) == 1
    assert all(future.cancelled() for future in queued)


def test_dropped_executor_finishes_its_work(gate: Gate) -> None:
    executor = Executor(1)
    future = executor.submit(tasks.hold, gate.folder, 9)
    gate.wait_started()
    worker = executor.workers()[0].pid
    del executor
    gate.release()
    assert future.result(30) == 9
    assert ends(worker)


class _Setting:
    value = "not set"


def _set(value: str) -> None:
    _Setting.value = value


def _setting() -> str:
    return _Setting.value


def test_initializer() -> None:
    with Executor(2, initializer=_set, initargs=("made ready",)) as executor:
        assert executor.run_on_workers(_setting) == ["made ready"] * 2
        assert [executor.submit(_setting).result() for _ in range(4)] == ["made ready"] * 4


def test_initializer_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(word: str) -> None:
        os.environ["CELLMILL_TEST_WORD"] = word

    with Executor(1, initializer=prepare, initargs=("closure",)) as executor:
        assert executor.submit(os.getenv, "CELLMILL_TEST_WORD").result() == "closure"
        monkeypatch.setenv("CELLMILL_TEST_OTHER", "changed in the kernel")
        assert executor.submit(os.getenv, "CELLMILL_TEST_OTHER").result() == "changed in the kernel"
        assert executor.submit(os.getenv, "CELLMILL_TEST_WORD").result() == "closure"


def causes_of(error: BaseException | None) -> str:
    """What the causes of a broken executor's error say that are errors of its initializer."""
    assert isinstance(error, concurrent.futures.BrokenExecutor)
    chain: list[BaseException] = []
    while error is not None:
        chain.append(error)
        error = error.__cause__
    return " / ".join(str(each) for each in chain if isinstance(each, LookupError))


def test_initializer_that_fails_breaks_the_executor() -> None:
    executor = Executor(2, initializer=tasks.fail, initargs=("no licence",))
    try:
        future = executor.submit(tasks.double, 1)
    except cellmill.WorkerLostError as error:
        found: BaseException | None = error
    else:
        found = future.exception(30)
    assert "no licence" in causes_of(found)
    until(lambda: len(executor._backend.worker_ends()) > 0)
    with pytest.raises(concurrent.futures.BrokenExecutor) as later:
        executor.submit(tasks.double, 1)
    assert "no licence" in causes_of(later.value)  # that the workers ended with it is no other reason
    with pytest.raises(concurrent.futures.BrokenExecutor):
        list(executor.map(tasks.double, [1]))
    executor.shutdown()


def test_initializer_that_fails_inline() -> None:
    with pytest.raises(LookupError):
        Executor(backend="inline", initializer=tasks.fail)


@pytest.mark.parametrize("workers", [0, -1])
def test_too_few_workers(workers: int) -> None:
    with pytest.raises(cellmill.UsageError, match="max_workers must be greater than 0"):
        Executor(workers)


@pytest.mark.parametrize("workers", [1.5, "2", True, [2]])
def test_workers_must_be_a_number(workers: object) -> None:
    with pytest.raises(cellmill.UsageError, match="max_workers"):
        Executor(workers)  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", ["local", "inline"])
def test_initializer_must_be_callable(backend: str) -> None:
    with pytest.raises(TypeError, match="initializer must be a callable"):
        Executor(1, backend, initializer=3)  # type: ignore[arg-type]


def test_unknown_backend() -> None:
    with pytest.raises(cellmill.BackendError, match=r"'locall'.*local, threads, dask.*Did you mean 'local'"):
        Executor(1, "locall")
    with pytest.raises(cellmill.BackendError, match="'nothing-like-it'"):
        Executor(1, "nothing-like-it")
    with pytest.raises(cellmill.UsageError):
        Executor(1, 7)


@pytest.mark.parametrize("backend", ["local", "inline"])
def test_unknown_backend_option(backend: str) -> None:
    with pytest.raises(TypeError, match="colour"):
        Executor(1, backend, colour="red")


def test_preload() -> None:
    with Executor(1, preload=["colorsys"]) as executor:
        assert executor.preloaded == ["colorsys"]
        loaded = executor.submit(eval, "'colorsys' in __import__('sys').modules").result()
        assert loaded is True


def test_preload_of_a_missing_module() -> None:
    with pytest.raises(cellmill.UsageError, match="no_such_module_here"):
        Executor(1, preload=["no_such_module_here"])


def test_not_a_function(ex: Executor) -> None:
    future = ex.submit(5)  # type: ignore[arg-type]
    assert isinstance(future.exception(), TypeError)


def test_modules_imported_by_path(pool: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cellmill_test_module.py").write_text("def answer():\n    return 42\n")
    prepend_to_path(monkeypatch, tmp_path)
    import cellmill_test_module  # type: ignore[import-not-found]

    assert pool.submit(cellmill_test_module.answer).result() == 42
