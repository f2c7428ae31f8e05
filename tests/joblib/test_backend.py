"""joblib's calls on Cellmill's workers: values, errors and ends as of joblib's own backends."""

from __future__ import annotations

import gc
import multiprocessing
import operator
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from joblib.parallel import BatchedCalls

import cellmill
import cellmill.joblib
from cellmill import Executor, UsageError, run_registry
from cellmill.api import questions_of
from cellmill.diagnostics import unasked
from cellmill.joblib.listener import Listener
from tests.joblib.work import (
    around,
    blas_threads,
    deep_sum,
    drawn,
    filled,
    pid_after,
    sum_and_writable,
    wait_and_count,
)
from tests.support import tasks
from tests.support.helpers import SECONDS, Gate, comes_down
from tests.support.told import told
from tests.support.waiting import until

LARGE = 1 << 18  # numbers: 2 MB


@pytest.fixture(scope="module")
def lent() -> Iterator[Executor]:
    with Executor(3) as executor:
        yield executor


@pytest.fixture
def ex(lent: Executor) -> Iterator[Executor]:
    """joblib's calls go to its workers."""
    with parallel_config(backend="cellmill", executor=lent):
        yield lent
    assert comes_down(lambda: lent.stats().running, 0)


def inner(n_jobs: int | None) -> tuple[list[int], str]:
    found = Parallel(n_jobs=n_jobs)(delayed(operator.add)(i, 1) for i in range(4))
    return found, type(joblib.parallel.get_active_backend()[0]).__name__


@pytest.mark.parametrize("batch_size", ["auto", 1, 7])
@pytest.mark.parametrize("return_as", ["list", "generator", "generator_unordered"])
def test_values_are_those_of_the_loop(ex: Executor, return_as: str, batch_size: Any) -> None:
    found = Parallel(return_as=return_as, batch_size=batch_size)(delayed(tasks.double)(i) for i in range(100))
    values = list(found)
    assert (sorted(values) if return_as == "generator_unordered" else values) == [2 * i for i in range(100)]


def test_functions_of_any_kind(ex: Executor) -> None:
    offset = 10
    assert Parallel()(delayed(lambda x: x + offset)(i) for i in range(5)) == [10, 11, 12, 13, 14]
    mixed = [delayed(operator.neg)(1), delayed(tasks.double)(2), delayed(str.upper)("a")]
    assert Parallel(batch_size=3)(mixed) == [-1, 4, "A"]
    assert Parallel()([]) == []
    held = cellmill.share({"a": 7})
    assert Parallel()(delayed(operator.getitem)(held, "a") for _ in range(3)) == [7, 7, 7]


def test_a_run_is_named_by_the_function(ex: Executor) -> None:
    Parallel()(delayed(tasks.double)(i) for i in range(10))
    run = cellmill.runs()[-1]
    assert run.name == "double"
    assert run.finished
    assert run.succeeded == run.submitted > 0
    assert next(reversed(list(ex.journey_rows())))["function"] == "double"


def test_an_error_names_its_call_and_the_next_call_works(ex: Executor) -> None:
    with Parallel() as parallel:
        with pytest.raises(TypeError) as caught:
            parallel(delayed(operator.neg)(x) for x in [1, 2, "three", 4])
        assert "in neg('three')" in caught.value.__notes__
        assert parallel(delayed(operator.neg)(x) for x in range(3)) == [0, -1, -2]
    with pytest.raises(cellmill.PayloadError, match="lock"):
        Parallel()(delayed(tasks.same)(threading.Lock()) for _ in range(3))


def test_an_error_names_its_call_and_how_many_went_with_it(ex: Executor) -> None:
    with pytest.raises(LookupError) as caught:
        Parallel(batch_size=3, pre_dispatch="all")(delayed(tasks.fail)("no") for _ in range(18))
    assert caught.value.__notes__ == ["in fail('no')", "in fail(<3 calls>)"]


@pytest.mark.parametrize("arguments", [("no",), ("no" * 5000,), (["no"],), ()])
def test_a_call_that_goes_by_itself(ex: Executor, arguments: tuple[Any, ...]) -> None:
    """It is shown with its arguments where these are numbers and text, which travel as they are."""
    calls = [delayed(around)(*arguments) for _ in range(6)]
    with parallel_config(backend="cellmill", executor=ex, inner_max_num_threads=1):
        assert Parallel(batch_size=1)(calls) == [(arguments, "ThreadingBackend", 1, "1")] * 6
    with pytest.raises(LookupError) as caught:
        Parallel(batch_size=1)(delayed(tasks.fail)(each) for each in arguments or ("",))
    shown = repr(arguments[0] if arguments else "")
    assert caught.value.__notes__[0] == f"in fail({shown})" or len(shown) > 40
    group = next(each for each in questions_of(ex).failures(100) if each.function == "fail")
    found = questions_of(ex).failed_calls(group.id)
    assert found is not None
    source = found[1][-1].source()  # what it is copied as: nothing of ours is in it
    assert source is None or "cellmill" not in source[0]
    if len(shown) < 40 and arguments != (["no"],):
        assert source == (f"({shown},)", "")


@pytest.mark.parametrize("return_as", ["list", "generator"])
@pytest.mark.parametrize("calls", [0, 1, 9])
def test_an_error_of_the_iterable_is_raised(ex: Executor, return_as: str, calls: int) -> None:
    """Also where all calls that were taken from it are over when joblib looks."""

    def items() -> Iterator[Any]:
        for number in range(calls):
            yield delayed(abs)(-number)
        raise OSError("no more")

    for how in ({"pre_dispatch": "all"}, {"pre_dispatch": "all", "batch_size": 100}, {"pre_dispatch": 2}):
        with pytest.raises(OSError, match="no more"):
            list(Parallel(n_jobs=2, return_as=return_as, **how)(items()))


def test_calls_that_were_not_needed_are_stopped(ex: Executor, gate: Gate) -> None:
    calls = (delayed(tasks.fail)() if i == 2 else delayed(wait_and_count)(gate.folder, i) for i in range(50))
    with pytest.raises(LookupError):
        Parallel(batch_size=1)(calls)
    assert comes_down(lambda: ex.stats().running, 0)
    with pytest.raises(multiprocessing.TimeoutError):
        Parallel(timeout=0.05)(delayed(wait_and_count)(gate.folder, i) for i in range(3))
    assert comes_down(lambda: ex.stats().running, 0)


def test_a_generator_that_is_left_stops_its_calls(ex: Executor, gate: Gate) -> None:
    found = Parallel(return_as="generator", batch_size=1)(
        delayed(tasks.double)(i) if i == 0 else delayed(wait_and_count)(gate.folder, i) for i in range(9)
    )
    assert next(found) == 0
    with pytest.warns(UserWarning, match="cancelled"):
        found.close()
    assert comes_down(lambda: ex.stats().running, 0)


def test_no_more_at_once_than_n_jobs(ex: Executor, gate: Gate) -> None:
    got: list[int] = []

    def call() -> None:
        with parallel_config(backend="cellmill", executor=ex):
            got.extend(
                Parallel(n_jobs=2, batch_size=1)(delayed(wait_and_count)(gate.folder, i) for i in range(5))
            )

    thread = threading.Thread(target=call)
    thread.start()
    gate.wait_started(2)
    assert ex.stats().running + ex.stats().queued == 2
    gate.release(5)
    thread.join(SECONDS)
    assert got == [0, 1, 2, 3, 4]


def test_a_batch_that_waits_has_the_arguments_of_its_call(lent: Executor, gate: Gate) -> None:
    backend = cellmill.joblib.CellmillBackend(0, executor=lent)
    backend.configure(n_jobs=2)
    nested = backend.get_nested_backend()
    for number in range(2):
        backend.submit(BatchedCalls([(wait_and_count, (gate.folder, number), {})], nested))
    gate.wait_started(2)
    values, array, over = [1], np.ones(LARGE), threading.Semaphore(0)
    ended: list[Any] = []

    def end(future: Any) -> None:
        ended.append(future)
        over.release()

    for function, argument in ((sum, values), (np.sum, array)):
        batch = BatchedCalls([(function, (argument,), {})], nested)
        backend.submit(batch, end)
        values.append(10)
        array += 1
    gate.release(2)
    assert over.acquire(timeout=SECONDS)
    assert over.acquire(timeout=SECONDS)
    found = sorted(backend.retrieve_result_callback(future)[0] for future in ended)
    assert found == [1, 2 * LARGE]
    backend.stop_call()


def test_n_jobs_counts_as_joblib_counts(ex: Executor) -> None:
    with parallel_config(backend="cellmill", executor=ex):
        counts = {n: joblib.effective_n_jobs(n) for n in (-1, -2, -9, 1, 2, 99)}
    assert counts == {-1: 3, -2: 2, -9: 1, 1: 1, 2: 2, 99: 3}
    with pytest.raises(ValueError, match="n_jobs == 0"):
        Parallel(n_jobs=0)(delayed(tasks.double)(i) for i in range(2))


def test_more_than_the_default_executor_has() -> None:
    with parallel_config(backend="cellmill", n_jobs=cellmill.default_executor().max_workers + 1):
        pids = set(Parallel(batch_size=1)(delayed(pid_after)(0.05) for _ in range(24)))
    assert len(pids) > cellmill.default_executor().max_workers


def test_large_arrays_are_sent_once_and_never_stale(ex: Executor) -> None:
    array = np.ones(LARGE)
    with Parallel(batch_size=1) as parallel:
        sent = cellmill.runs()
        assert parallel(delayed(sum_and_writable)(array) for _ in range(12)) == [(LARGE, False)] * 12
        moved = [run.moved for run in cellmill.runs() if run not in sent]
        assert all(each.sent < array.nbytes for each in moved if each is not None)
        array += 1
        assert parallel(delayed(sum_and_writable)(array) for _ in range(4)) == [(2 * LARGE, False)] * 4
    nested = {"deep": [array, (array, 1)]}
    assert Parallel()(delayed(deep_sum)(nested) for _ in range(4)) == [4 * LARGE] * 4


def test_large_arrays_and_shared_ones_where_tasks_are_threads() -> None:
    with (
        Executor(2, backend="threads") as threads,
        parallel_config(backend="cellmill", executor=threads),
        cellmill.share(np.ones(3)) as shared,
    ):
        array = np.ones(LARGE)
        found = Parallel(n_jobs=2)(delayed(deep_sum)({"deep": [array, (shared, 1)]}) for _ in range(3))
    assert found == [LARGE + 3] * 3


def test_small_arrays_and_copies_can_be_written_to(ex: Executor) -> None:
    small, large = np.ones(1000), np.ones(LARGE)
    assert Parallel()(delayed(sum_and_writable)(small) for _ in range(3)) == [(1000, True)] * 3
    for options in ({"max_nbytes": None}, {"mmap_mode": "c"}):
        found = Parallel(**options)(delayed(sum_and_writable)(large) for _ in range(3))
        assert found == [(LARGE, True)] * 3
    with pytest.raises(UsageError, match="does not reach the caller"):
        Parallel(mmap_mode="r+")(delayed(sum_and_writable)(large) for _ in range(3))


def test_options_that_would_have_no_effect_are_refused(ex: Executor) -> None:
    with (
        pytest.raises(UsageError, match=r"Executor\(initializer=\.\.\.\)"),
        parallel_config(backend="cellmill", initializer=print),
    ):
        pass
    with pytest.raises(UsageError, match="colour"):
        Parallel(colour=1)(delayed(tasks.double)(i) for i in range(2))


def test_threads_of_numeric_libraries(ex: Executor) -> None:
    with parallel_config(backend="cellmill", executor=ex, inner_max_num_threads=3):
        assert set(Parallel()(delayed(blas_threads)() for _ in range(4))) == {"3"}
    assert "3" not in Parallel()(delayed(blas_threads)() for _ in range(4))


def test_calls_inside_calls(ex: Executor) -> None:
    plain = [operator.add(i, 1) for i in range(4)]
    assert Parallel()(delayed(inner)(None) for _ in range(3)) == [(plain, "ThreadingBackend")] * 3
    assert ex.submit(in_a_task).result(SECONDS) == plain


def in_a_task() -> list[int]:
    with parallel_config(backend="cellmill"):
        return list(Parallel(n_jobs=-1)(delayed(operator.add)(i, 1) for i in range(4)))


def test_a_worker_that_dies_fails_its_call_only(ex: Executor) -> None:
    with pytest.raises(cellmill.WorkerLostError):
        Parallel(batch_size=1)(delayed(os._exit)(3) for _ in range(2))
    assert Parallel()(delayed(tasks.double)(i) for i in range(3)) == [0, 2, 4]


@pytest.mark.long  # examples/05_ecosystem.ipynb, which is run each day, compares a cross-validation with the plain one
def test_scikit_learn_gives_the_same() -> None:
    """Its import takes seconds: workers have it from the process that they are forked from."""
    from sklearn.datasets import make_classification
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import GridSearchCV, cross_val_score

    x, y = make_classification(100, 8, random_state=1)
    forest = RandomForestClassifier(5, random_state=1)
    grid = GridSearchCV(forest, {"max_depth": [2, 4]}, cv=2)
    with (
        Executor(2, preload=["sklearn.ensemble", "sklearn.model_selection"]) as ex,
        parallel_config(backend="cellmill", executor=ex),
    ):
        scores = cross_val_score(forest, x, y, cv=2, n_jobs=-1)
        best = grid.fit(x, y)
    with parallel_config(backend="sequential"):
        assert cross_val_score(forest, x, y, cv=2).tolist() == scores.tolist()
        assert grid.fit(x, y).best_score_ == best.best_score_


@pytest.mark.usefixtures("notices_anew")
def test_a_generator_that_all_calls_are_given_is_told(ex: Executor) -> None:
    def calls(given: list[Any]) -> list[str]:
        return told(lambda: Parallel(2, batch_size=1)(delayed(drawn)(rng) for rng in given), "draw")

    assert calls(np.random.default_rng(1).spawn(4)) == []
    (text,) = calls([np.random.default_rng(2)] * 4)
    assert text.startswith("drawn is given a generator of random numbers (Generator)")


@pytest.mark.usefixtures("notices_anew")
@pytest.mark.parametrize("size", [4, LARGE])
def test_an_array_in_a_file_that_is_not_written_to_is_told(ex: Executor, tmp_path: Any, size: int) -> None:
    values = np.memmap(tmp_path / "values", float, "w+", shape=size)
    with pytest.warns(RuntimeWarning, match="filled is given a numpy.memmap that can be written to"):
        Parallel(2, max_nbytes=None)(delayed(filled)(values, place) for place in range(4))
    assert values[:4].tolist() == [0] * 4
    values = np.memmap(tmp_path / "values", float, "r", shape=size)
    assert told(lambda: Parallel(2)(delayed(np.sum)(values) for _ in range(2)), "memmap") == []


def test_a_run_that_was_stopped_as_it_began_is_over(ex: Executor) -> None:
    undo = run_registry.on_run_started(lambda run: signal.raise_signal(signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            Parallel(n_jobs=2)(delayed(tasks.double)(i) for i in range(4))
    finally:
        undo()
    assert comes_down(lambda: len(run_registry.runs_of(ex._backend)), 0)
    assert Parallel(n_jobs=2)(delayed(tasks.double)(i) for i in range(4)) == [0, 2, 4, 6]


def _joblibs_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "cellmill-joblib"]


def test_the_thread_that_tells_joblib_ends_with_the_call() -> None:
    with parallel_config(backend="cellmill", n_jobs=2):
        assert Parallel(batch_size=1)(delayed(abs)(-i) for i in range(100)) == list(range(100))
        with pytest.raises(ZeroDivisionError):
            Parallel(batch_size=1)(delayed(divmod)(i, i % 7) for i in range(1, 100))
        with Parallel(batch_size=1) as parallel:
            for _ in range(3):
                assert parallel(delayed(abs)(-i) for i in range(10)) == list(range(10))
        left = Parallel(return_as="generator")(delayed(abs)(-i) for i in range(100))
        assert next(left) == 0
        del left
        gc.collect()
    until(lambda: not _joblibs_threads())


def test_failures_beside_the_one_that_joblib_raises_are_not_told_of() -> None:
    unasked.tell()  # what tests before have left
    with parallel_config(backend="cellmill", n_jobs=2), pytest.raises(ZeroDivisionError):
        Parallel(batch_size=1, pre_dispatch="all")(delayed(divmod)(i, 0) for i in range(100))
    gc.collect()
    assert unasked.tell() == ""


def test_what_joblib_raises_where_it_is_told_hinders_no_other(caplog: pytest.LogCaptureFixture) -> None:
    told: list[int] = []

    def tell(future: Any) -> None:
        told.append(future.result())
        if len(told) == 2:
            raise SystemExit("of the one who is told")

    with Executor(2) as executor:
        listener = Listener(executor._backend.listen)
        for i in range(5):
            listener.add(executor.submit(abs, -i), tell)
        until(lambda: len(told) == 5)
        listener.close()
    assert sorted(told) == list(range(5))
    assert "exception calling callback" in caplog.text


def test_results_of_few_calls_are_there_before_joblib_looks(
    ex: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sleeps where they are not."""
    here, sleep, slept = threading.get_ident(), time.sleep, list[float]()

    def sleeps(seconds: float) -> None:
        if threading.get_ident() == here:
            slept.append(seconds)
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", sleeps)
    for _ in range(3):
        assert Parallel(2)(delayed(abs)(-i) for i in range(300)) == list(range(300))
    assert slept == []


def test_what_is_yielded_is_not_held_back_until_all_is_over(ex: Executor, gate: Gate) -> None:
    found = Parallel(2, batch_size=1, return_as="generator", pre_dispatch="all")(
        delayed(function)(*args) for function, args in [(abs, (-1,)), (tasks.hold, (gate.folder, 2))]
    )
    assert next(found) == 1
    gate.release()
    assert next(found) == 2


def test_a_failure_that_came_before_it_was_listened_for_is_not_told_of() -> None:
    unasked.tell()
    heard: list[Any] = []
    with Executor(1) as executor:
        failed = executor.submit(divmod, 1, 0)
        until(failed.done)
        listener = Listener(executor._backend.listen)
        listener.add(failed, heard.append)
        until(lambda: heard)
        listener.close()
        heard.clear()
        del failed
        gc.collect()
        assert unasked.tell() == ""
